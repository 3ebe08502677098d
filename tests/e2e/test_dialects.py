"""Agents of other systems on the socket: each is given its own bridge tools and answered in its own words."""

import json
import os

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent

TOOLS = ["echo", "sleep", "pid", "fail"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("dialects")
    many = [
        {
            "name": f"zone_{n:02}",
            "description": "Call a zone of the network",
            "inputSchema": {"type": "object"},
        }
        for n in range(70)
    ]
    (root / "zones.json").write_text(json.dumps(many))
    servers = {
        "desk": zoo("steady", *TOOLS),
        "cloud": zoo("steady", "--tools-from", root / "zones.json"),
    }
    with DaemonProcess(root, servers=servers) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


def names(reply):
    return [tool["function"]["name"] for tool in reply["tools"]]


def use(wire, number, tool, **arguments):
    return wire.ask({"op": "use", "id": number, "tool": tool, "arguments": arguments})


def test_hermes_v1_asks_one_query_and_calls_one_tool(daemon):
    with agent(daemon, dialect="hermes-v1", context_length=1000) as wire:
        assert wire.welcome["dialect"] == "hermes-v1"
        given = wire.ask({"op": "assemble", "id": 1})
        assert names(given) == ["tool_search", "tool_describe", "tool_call"]
        assert (given["tier"], given["listing"]) == (2, "")
        search = given["tools"][0]["function"]
        assert search["parameters"]["required"] == ["query"]
        assert search["parameters"]["properties"]["limit"]["maximum"] == 20
        found = use(wire, 2, "tool_search", query="echo text")["value"]
        assert found["query"] == "echo text"
        assert found["total_available"] == 74
        (first, *_) = found["matches"]
        assert first == {
            "name": "mcp_desk_echo",
            "source": "mcp",
            "source_name": "mcp-desk",
            "description": "Echo a text back.",
        }
        described = use(wire, 3, "tool_describe", name="mcp_desk_echo")["value"]
        assert described["name"] == "mcp_desk_echo"
        assert described["parameters"]["required"] == ["text"]
        missing = use(wire, 4, "tool_describe", name="mcp_desk_nothing")
        assert (missing["code"], "mcp_desk_nothing" in missing["message"]) == ("TOOL_NOT_FOUND", True)
        called = use(wire, 5, "tool_call", name="mcp_desk_echo", arguments={"text": "hi"})
        assert called["value"]["content"][0]["text"] == "hi"
        several = wire.ask({"op": "search", "id": 6, "queries": ["a", "b"]})
        assert several["code"] == "TOO_MANY"


def test_hermes_v1_falls_back_to_parts_of_names(daemon):
    with agent(daemon, dialect="hermes-v1") as wire:
        reply = wire.ask({"op": "search", "id": 1, "query": "ech", "limit": 3})
        assert [match["name"] for match in reply["matches"]] == ["mcp_desk_echo"]


def test_hermes_v1_stands_aside_while_schemas_are_light(daemon):
    with agent(daemon, dialect="hermes-v1") as wire:
        light = wire.ask({"op": "assemble", "id": 1, "context_length": 1_000_000})
        assert (light["tier"], len(light["tools"])) == (0, 74)
        heavy = wire.ask({"op": "assemble", "id": 2, "context_length": 10_000})
        assert (heavy["tier"], len(heavy["tools"])) == (2, 3)


def test_nemoclaw_hermes_has_its_own_limits(daemon):
    with agent(daemon, dialect="nemoclaw-hermes") as wire:
        search = wire.ask({"op": "assemble", "id": 1})["tools"][0]["function"]["parameters"]
        assert search["properties"]["limit"]["maximum"] == 20
        reply = wire.ask({"op": "search", "id": 2, "queries": ["zone"]})
        assert len(reply["results"][0]["matches"]) == 5
        reply = wire.ask({"op": "search", "id": 3, "queries": ["zone"], "limit": 50})
        assert len(reply["results"][0]["matches"]) == 20


def test_a_deep_agent_discovers_for_itself_alone(daemon):
    with agent(daemon, client="deepagents") as main, agent(daemon, client="deepagents") as sub:
        assert main.welcome["dialect"] == "deepagents"
        assert names(main.ask({"op": "assemble", "id": 1})) == ["search_tools"]
        said = use(main, 2, "search_tools", query="ECHO")["value"]
        assert said.splitlines()[:2] == [
            "found 1 / returning 1 (limit 20)",
            "- mcp__desk__echo: Echo a text back.",
        ]
        assert names(main.ask({"op": "assemble", "id": 3})) == ["search_tools", "mcp__desk__echo"]
        again = use(main, 4, "search_tools", query="echo")["value"]
        assert "all were already available" in again
        assert names(sub.ask({"op": "assemble", "id": 1})) == ["search_tools"]
        said = use(sub, 2, "search_tools", query="zone")["value"]
        assert "50 additional match(es) not shown" in said
        assert len(sub.ask({"op": "assemble", "id": 3})["tools"]) == 21
        assert len(main.ask({"op": "assemble", "id": 5})["tools"]) == 2
        nothing = use(main, 6, "search_tools", query="kubernetes")["value"]
        assert '"kubernetes"' in nothing
        hidden = use(main, 7, "mcp__desk__pid")
        assert int(hidden["value"]["content"][0]["text"]) > 0
        refused = use(main, 8, "search_tools", query="x" * 257)
        assert refused["code"] == "BAD_ARGUMENTS"


def test_a_deep_agent_stops_at_64_tools(daemon):
    with agent(daemon, dialect="deepagents") as wire:
        for number in range(70):
            said = use(wire, number, "search_tools", query=f"zone_{number:02}")["value"]
        assert "not exposed: state limit" in said
        assert len(wire.ask({"op": "assemble", "id": 99})["tools"]) == 65


def test_direct_shows_everything(daemon):
    for number, hello in enumerate(({"dialect": "direct"}, {"disclosure": "direct", "dialect": "hermes"})):
        with agent(daemon, **hello) as wire:
            assert wire.welcome["dialect"] == "direct"
            given = wire.ask({"op": "assemble", "id": number})
            assert (given["tier"], len(given["tools"])) == (0, 74)


def test_a_manifest_switches_disclosure_off_for_its_model_and_nothing_on(daemon):
    model = "nvidia/nemotron-3-ultra-500b"
    with agent(daemon, model=model, disclosure="progressive") as wire:
        assert wire.welcome["dialect"] == "direct"
    with agent(daemon, model="nvidia/nemotron-3-nano-30b") as wire:
        assert wire.welcome["dialect"] == "default"
        assert len(wire.ask({"op": "assemble", "id": 1})["tools"]) == 3
        assert len(wire.ask({"op": "assemble", "id": 2, "model": model})["tools"]) == 74
        assert len(wire.ask({"op": "assemble", "id": 3, "model": "other"})["tools"]) == 3


@pytest.mark.parametrize("dialect", ["default", "hermes", "nemoclaw-hermes"])
def test_one_call_gives_the_model_the_tools_own_result(daemon, dialect):
    with agent(daemon, dialect=dialect) as wire:
        echo = {"name": "mcp__desk__echo", "arguments": {"text": "hi"}}
        one = use(wire, 1, "tool_call", calls=[echo])
        assert one["value"] == {"content": [{"type": "text", "text": "hi"}]}
        assert "generation" in one
        failed = use(wire, 2, "tool_call", calls=[{"name": "mcp__desk__fail", "arguments": {}}])["value"]
        assert failed["error"]["code"] == "TOOL_ERROR"
        if dialect == "default":
            several = use(wire, 3, "tool_call", calls=[echo, echo])
            assert [slot["index"] for slot in several["value"]["results"]] == [0, 1]
            assert several["value"].keys() == {"results", "success_count", "error_count", "total_count"}


def test_a_bad_word_is_refused(daemon):
    with agent(daemon, disclosure="sideways") as wire:
        assert wire.welcome["code"] == "BAD_ARGUMENTS"
    with agent(daemon, dialect="klingon") as wire:
        assert wire.welcome["code"] == "BAD_ARGUMENTS"
        assert "hermes-v1" in wire.welcome["message"]


@pytest.mark.parametrize("variable", ["TOOLSEARCHD_TOOL_DISCLOSURE", "NEMOCLAW_TOOL_DISCLOSURE"])
def test_the_environment_does_what_the_option_does(tmp_path, variable):
    env = {variable: "direct"}
    with DaemonProcess(tmp_path, servers={"desk": zoo("steady", *TOOLS)}, env=env) as daemon:
        daemon.wait_servers("desk")
        with agent(daemon, dialect="hermes", disclosure="progressive") as wire:
            assert wire.welcome["dialect"] == "direct"
            assert len(wire.ask({"op": "assemble", "id": 1})["tools"]) == len(TOOLS)


@pytest.mark.parametrize("variable", ["TOOLSEARCHD_TOOL_DISCLOSURE", "NEMOCLAW_TOOL_DISCLOSURE"])
def test_a_bad_word_in_the_environment_stops_the_start(tmp_path, variable):
    daemon = DaemonProcess(tmp_path, env={variable: "sideways"})
    daemon.start(wait=False)
    assert daemon.process.wait(20) == 2
    assert variable in daemon.log.read_text()


def test_an_open_session_follows_the_config_to_another_ranker(tmp_path):
    with DaemonProcess(tmp_path, servers={"desk": zoo("steady", *TOOLS)}) as daemon:
        daemon.wait_servers("desk")
        with agent(daemon) as wire:

            def found(number, query):
                reply = wire.ask({"op": "search", "id": number, "queries": [query]})
                return reply["results"][0]["matches"]

            assert found(1, "what echoes text") == ["mcp__desk__echo"]
            daemon.write_config(daemon.config | {"tools": {"tool_search": {"ranker": "hermes"}}})
            numbers = iter(range(2, 10_000))
            wait_until(lambda: not found(next(numbers), "what echoes text"), what="the other ranker")
            wait_until(lambda: found(next(numbers), "echo") == ["mcp__desk__echo"], what="its index")


def test_manifests_of_ones_own_stand_beside_the_config(tmp_path):
    with DaemonProcess(tmp_path, servers={"desk": zoo("steady", *TOOLS)}) as daemon:
        daemon.wait_servers("desk")
        with agent(daemon, model="house/odd-7b") as wire:
            assert wire.welcome["dialect"] == "default"
        folder = daemon.config_file.parent / "manifests"
        folder.mkdir()
        own = {"id": "odd", "agent": "any", "match": {"modelIdPrefixes": ["odd-"]}}
        (folder / "a.json").write_text(json.dumps(own | {"effects": {"toolSearch": False}}))
        (folder / "b.json").write_text(json.dumps(own | {"effects": {"colour": "red"}}))
        os.mkfifo(folder / "c.json")  # nobody will ever write into it
        with agent(daemon, model="house/odd-7b") as wire:
            assert wire.welcome["dialect"] == "direct"
        findings = daemon.ctl("doctor")[1]["findings"]
        (finding,) = [one for one in findings if one["about"].endswith("b.json")]
        assert "colour" in finding["message"]
        assert any("is not a regular file" in one["message"] for one in findings)
