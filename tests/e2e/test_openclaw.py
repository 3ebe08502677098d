"""OpenClaw's agents on the socket: its bridge tools assembled, searched, described, called."""

import json

import pytest
import trio

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import DoorWire, agent
from toolsearchd.async_client import AsyncClient
from toolsearchd.client import Client

PROFILES = {
    "limited": {
        "match": {"client": "limited-*"},
        "dialect": "openclaw-g2",
        "options": {"tools": {"toolSearch": {"mode": "tools", "searchDefaultLimit": 2, "maxSearchLimit": 3}}},
    },
    "off": {
        "match": {"client": "off-*"},
        "dialect": "openclaw-g2",
        "options": {"tools": {"toolSearch": False}},
    },
    "coded": {
        "match": {"client": "coded-*"},
        "dialect": "openclaw-g2",
        "options": {"tools": {"toolSearch": {"mode": "code"}}},
    },
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {name: zoo("steady", env={"WHO": name}) for name in ("alpha", "beta")}
    with DaemonProcess(
        tmp_path_factory.mktemp("openclaw"), servers=servers, config={"profiles": PROFILES}
    ) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


def use(wire, tool, **arguments):
    use.number = getattr(use, "number", 0) + 1
    return wire.ask({"op": "use", "id": use.number, "tool": tool, "arguments": arguments})


def tool_names(reply):
    return [tool["function"]["name"] for tool in reply["tools"]]


@pytest.mark.parametrize(
    ("dialect", "call"),
    [("openclaw", "tool_call"), ("openclaw-g2", "tool_call"), ("openclaw-g3", "dispatch_action")],
)
def test_from_assembly_to_call(daemon, dialect, call):
    with agent(daemon, dialect=dialect) as wire:
        assert wire.welcome["dialect"] == dialect
        assembled = wire.ask({"op": "assemble", "id": "a"})
        assert tool_names(assembled) == ["tool_search", "tool_describe", call]
        assert "alpha" not in json.dumps(assembled["tools"]), "no server's words in a prompt"

        found = use(wire, "tool_search", query="echo text", limit=2)["value"]
        assert {candidate["id"] for candidate in found} == {"mcp:alpha:echo", "mcp:beta:echo"}
        described = use(wire, "tool_describe", id="mcp:beta:echo")["value"]
        assert described["parameters"]["properties"]["text"]["type"] == "string"

        called = use(wire, call, id="mcp:beta:echo", args={"text": "hello"})
        assert called["value"]["tool"] == {"id": "mcp:beta:echo", "name": "echo", "source": "mcp"}
        assert called["value"]["result"]["content"] == [{"type": "text", "text": "hello"}]
        assert json.loads(called["text"]) == called["value"]


def test_a_batch_has_a_group_per_query(daemon):
    with agent(daemon, dialect="openclaw-g3") as wire:
        reply = use(wire, "tool_search", queries=[{"query": "echo"}, {"query": "sleep", "limit": 1}])
        groups = reply["value"]["results"]
        assert [group["query"] for group in groups] == ["echo", "sleep"]
        assert len(groups[1]["candidates"]) == 1
        assert len(reply["text"]) <= 4000


def test_the_socket_s_own_search_speaks_the_dialect(daemon):
    with agent(daemon, dialect="openclaw") as wire:
        reply = wire.ask({"op": "search", "id": "s", "query": "mcp:alpha:echo"})
        assert reply["value"][0]["id"] == "mcp:alpha:echo"
        assert json.dumps(reply["value"][0]["id"]) in reply["text"]


def test_errors_say_what_would_do(daemon):
    with agent(daemon, dialect="openclaw-g3") as wire:
        nothing = use(wire, "tool_search")
        assert (nothing["op"], nothing["code"]) == ("error", "BAD_ARGUMENTS")
        assert nothing["message"] == "provide query or queries."
        several = use(wire, "tool_describe", name="echo")
        assert several["message"].startswith("Ambiguous tool name: echo; use an exact tool id.")
        unknown = use(wire, "dispatch_action", id="mcp:alpha:ecko", args={})
        assert unknown["code"] == "TOOL_NOT_FOUND"
        assert "dispatch_action" in unknown["message"]
        code = use(wire, "tool_search_code", code="return 1")
        assert code["code"] == "UNSUPPORTED"
        assert "tool_search_code" in code["message"]


def test_the_python_client_passes_a_model_s_calls_on(daemon):
    with Client(client="test", runtime_dir=daemon.runtime_dir, dialect="openclaw") as client:
        found = client.use("tool_search", {"query": "mcp:beta:echo", "limit": 1})["value"]
        assert [candidate["id"] for candidate in found] == ["mcp:beta:echo"]
        called = client.use("tool_call", {"id": found[0]["id"], "text": "hi"})
        assert called["value"]["result"]["content"][0]["text"] == "hi"
    async_called = trio.run(_use_async, daemon.runtime_dir)
    assert async_called["value"] == called["value"]


async def _use_async(runtime_dir):
    async with AsyncClient.connect(client="test", runtime_dir=runtime_dir, dialect="openclaw") as client:
        return await client.use("tool_call", {"id": "mcp:beta:echo", "text": "hi"})


def test_old_transcripts_replay(daemon):
    with agent(daemon, dialect="openclaw-g3") as wire:
        called = use(wire, "tool_call", id="mcp:alpha:echo", text="again")
        assert called["value"]["result"]["content"] == [{"type": "text", "text": "again"}]


def test_options_come_from_the_profile(daemon):
    with agent(daemon, client="limited-1") as wire:
        assert wire.welcome["dialect"] == "openclaw-g2"
        assert wire.welcome["options"]["maxSearchLimit"] == 3
        assert len(use(wire, "tool_search", query="echo sleep error")["value"]) == 2
        assert len(use(wire, "tool_search", query="echo sleep error", limit=50)["value"]) == 3
    with agent(daemon, client="off-1") as wire:
        assembled = wire.ask({"op": "assemble", "id": "a"})
        assert (assembled["tier"], "tool_search" in tool_names(assembled)) == (0, False)


def test_a_model_of_this_machine_gets_fewer_candidates(daemon):
    with agent(daemon, dialect="openclaw", provider="ollama", model="small") as wire:
        limits = wire.welcome["options"]
        assert (limits["searchDefaultLimit"], limits["maxSearchLimit"]) == (5, 10)
        assert (
            len(use(wire, "tool_search", query="echo sleep error erase connect steps process")["value"]) == 5
        )


WEATHER = {
    "name": "weather_report",
    "description": "Tell the weather of a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    "core": False,
}


def test_the_agent_s_own_tools_are_trusted(daemon):
    with agent(daemon, dialect="openclaw-g3", tools=[WEATHER]) as wire:
        listing = wire.ask({"op": "assemble", "id": "a"})["listing"]
        assert "- weather_report (plugin): Tell the weather of a place." in listing
        assert "echo" not in listing
        (found,) = use(wire, "tool_search", query="weather", limit=1)["value"]
        assert (found["id"], found["input"]) == ("openclaw:plugin:weather_report", "{ place: string }")

        refused = use(wire, "dispatch_action", id=found["id"], args={"plcae": "Oslo"})["value"]
        assert refused["status"] == "error"
        assert "Did you mean place instead of plcae?" in refused["result"]["message"]

        arguments = {"name": "weather_report", "args": {"place": "Oslo"}}
        wire.send({"op": "use", "id": "w", "tool": "dispatch_action", "arguments": arguments})
        asked = wire.recv()
        assert (asked["op"], asked["arguments"]) == ("call_requested", {"place": "Oslo"})
        wire.send({"op": "call_result", "id": "r", "call": asked["call"], "response": "rain"})
        replies = {reply["id"]: reply for reply in (wire.recv(), wire.recv())}
        assert replies["w"]["value"]["tool"]["source"] == "openclaw"
        assert "rain" in replies["w"]["text"]


def test_code_mode_is_not_offered(daemon):
    with agent(daemon, client="coded-1") as wire:
        assert wire.welcome["options"]["mode"] == "code"
        assembled = wire.ask({"op": "assemble", "id": "a"})
        assert tool_names(assembled) == ["tool_search", "tool_describe", "tool_call"]
    with agent(daemon, client="coded-1", dialect="openclaw-g3") as wire:
        assert (wire.welcome["op"], wire.welcome["code"]) == ("error", "BAD_CONFIG")
        assert "tools.toolSearch.mode" in wire.welcome["message"]


def test_the_same_through_the_door(daemon):
    with DoorWire(daemon, dialect="openclaw-g3") as door:
        started = door.initialize()
        assert "dispatch_action" in started["instructions"]
        tools = door.ask("tools/list")["tools"]
        assert [tool["name"] for tool in tools] == ["tool_search", "tool_describe", "dispatch_action"]
        assert tools[2]["annotations"]["destructiveHint"] is True

        found = door.call("tool_search", query="echo", limit=1)
        assert found["structuredContent"]["value"][0]["id"] == "mcp:alpha:echo"
        assert '"id": "mcp:alpha:echo"' in found["content"][0]["text"]
        called = door.call("dispatch_action", id="mcp:beta:echo", args={"text": "hello"})
        assert json.loads(called["content"][0]["text"])["result"]["content"][0]["text"] == "hello"
        assert not called["isError"]
        failed = door.call("dispatch_action", id="mcp:beta:fail", args={})
        assert failed["isError"]
        assert failed["structuredContent"]["status"] == "error"
        unknown = door.call("tool_describe", id="mcp:beta:nothing")
        assert unknown["isError"]
        assert "Unknown tool id" in unknown["content"][0]["text"]
        replayed = door.call("tool_call", id="mcp:beta:echo", text="old")
        assert json.loads(replayed["content"][0]["text"])["tool"]["id"] == "mcp:beta:echo"
