"""Tools of an agent: core ones stay direct, the others hide, for its session alone, and are called back."""

import pytest
import trio
import trio.testing

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent
from toolsearchd.async_client import AsyncClient

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
READ = {"name": "read_file", "description": "Read a file.", "parameters": {"type": "object"}, "core": True}
UNNAMED = {"type": "web_search_20250305", "max_uses": 3}
WEATHER = {"name": "weather_report", "description": "Tell the weather.", "parameters": TEXT, "core": False}
STARS = {"name": "star_chart", "description": "Draw the night sky.", "core": False}
TOOLS = [READ, UNNAMED, WEATHER, STARS]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    config = {
        "limits": {"call_timeout_s": 2},
        "profiles": {"p": {"match": {"client": "narrow"}, "servers": []}},
    }
    with DaemonProcess(
        tmp_path_factory.mktemp("own"), servers={"desk": zoo("steady", "echo")}, config=config
    ) as daemon:
        daemon.wait_servers("desk")
        yield daemon


def send_call(wire, number, *names, **arguments):
    calls = [{"name": name, "arguments": arguments} for name in names]
    wire.send({"op": "call", "id": number, "calls": calls})


def requested(wire):
    """The next event, which must ask for a call."""
    event = wire.recv()
    assert event["op"] == "call_requested", event
    return event


def found(wire, number, query):
    return wire.ask({"op": "search", "id": number, "queries": [query]})["results"][0]["matches"]


def test_core_stays_and_the_rest_hides_for_this_session_alone(daemon):
    with agent(daemon, tools=TOOLS) as wire, agent(daemon) as other:
        given = wire.ask({"op": "assemble", "id": 1})
        assert given["tools"][:2] == [
            {"type": "function", "function": {k: READ[k] for k in ("name", "description", "parameters")}},
            UNNAMED,
        ]
        assert [tool["function"]["name"] for tool in given["tools"][2:]] == [
            *("tool_search", "tool_describe", "tool_call")
        ]
        assert given["deferred_count"] == 3
        assert "- weather_report: Tell the weather." in given["listing"]
        assert found(wire, 2, "weather") == ["weather_report"]
        described = wire.ask({"op": "describe", "id": 3, "names": ["weather_report", "read_file"]})
        assert described["tools"]["weather_report"]["parameters"] == TEXT
        assert "read_file" in described["errors"]
        assert found(other, 1, "weather") == []
        assert other.ask({"op": "assemble", "id": 2})["deferred_count"] == 1
        assert wire.welcome["generation"] == other.welcome["generation"]
        direct = wire.ask({"op": "call", "id": 4, "calls": [{"name": "read_file", "arguments": {}}]})
        assert "call it directly" in direct["results"][0]["error"]["message"]


@pytest.mark.parametrize("dialect", ["hermes", "hermes-v1", "openclaw", "deepagents"])
def test_every_dialect_finds_and_calls_them(daemon, dialect):
    with agent(daemon, dialect=dialect, tools=TOOLS) as wire:
        bridge = wire.ask({"op": "assemble", "id": 1, "context_length": 1000})["tools"][2]["function"]["name"]
        query = {"queries": ["weather"]} if dialect == "hermes" else {"query": "weather"}
        assert "weather_report" in str(wire.ask({"op": "use", "id": 2, "tool": bridge, "arguments": query}))
        wire.send({"op": "use", "id": 3, "tool": "weather_report", "arguments": {"text": "Oslo"}})
        asked = requested(wire)
        assert (asked["name"], asked["arguments"]) == ("weather_report", {"text": "Oslo"})
        wire.send({"op": "call_result", "id": 4, "call": asked["call"], "response": "rain"})
        replies = [wire.recv(), wire.recv()]
        (reply,) = [reply for reply in replies if reply["id"] == 3]
        assert "rain" in str(reply["value"])


def test_a_call_back_and_what_may_come_of_it(daemon):
    with agent(daemon, tools=TOOLS) as wire:
        for number, answer, expected in (
            (10, {"response": "rain"}, {"content": [{"type": "text", "text": "rain"}]}),
            (20, {"response": {"c": 4}}, {"c": 4}),
            (30, {"response": {"content": [], "x": 1}}, {"content": [], "x": 1}),
            (40, {"error": "no sky"}, "no sky"),
            (50, {"error": {"message": "no sky", "why": 1}}, "no sky"),
        ):
            send_call(wire, number, "weather_report", text="Oslo")
            asked = requested(wire)
            accepted = wire.ask({"op": "call_result", "id": number + 1, "call": asked["call"], **answer})
            assert accepted["accepted"] is True
            slot = wire.recv()["results"][0]
            if "error" in answer:
                assert (slot["error"]["code"], slot["error"]["message"]) == ("TOOL_ERROR", expected)
            else:
                response = slot["response"]
                assert expected in (response, response.get("structuredContent"))
            late = wire.ask({"op": "call_result", "id": number + 2, "call": asked["call"], "response": "x"})
            assert late["accepted"] is False


def test_arguments_are_checked_before_the_agent_is_asked(daemon):
    with agent(daemon, tools=TOOLS) as wire:
        reply = wire.ask({"op": "call", "id": 1, "calls": [{"name": "weather_report", "arguments": {}}]})
        assert reply["results"][0]["error"]["code"] == "INVALID_ARGUMENTS"


def test_an_agent_that_never_answers_leaves_it_open_what_happened(daemon):
    with agent(daemon, tools=TOOLS) as wire:
        send_call(wire, 1, "star_chart")
        asked = requested(wire)
        cancelled = wire.recv()
        assert (cancelled["op"], cancelled["call"]) == ("call_cancelled", asked["call"])
        assert wire.recv()["results"][0]["error"]["code"] == "INDETERMINATE"
        late = wire.ask({"op": "call_result", "id": 2, "call": asked["call"], "response": "x"})
        assert late["accepted"] is False


def test_a_stop_reaches_the_agent_and_what_waits_behind_never_starts(daemon):
    with agent(daemon, tools=TOOLS) as wire:
        send_call(wire, 1, "star_chart", "star_chart")
        asked = requested(wire)
        counts = wire.ask({"op": "stop", "id": 2})
        assert (counts["running"], counts["interrupted"]) == (1, 1)
        rest = [wire.recv(), wire.recv()]
        (reply,) = [message for message in rest if message["op"] == "result"]
        (event,) = [message for message in rest if message["op"] != "result"]
        assert (event["op"], event["call"]) == ("call_cancelled", asked["call"])
        codes = [slot["error"]["code"] for slot in reply["results"]]
        assert codes == ["INDETERMINATE", "INTERRUPTED"]


def test_an_agent_that_goes_away_ends_its_calls(daemon):
    wire = agent(daemon, client="leaver", tools=TOOLS)
    send_call(wire, 1, "star_chart")
    requested(wire)
    wire.close()

    def gone():
        return not [s for s in daemon.ctl("sessions")[1]["sessions"] if s["client"] == "leaver"]

    wait_until(gone, what="the end of the session")
    with agent(daemon) as other:
        assert found(other, 1, "night sky") == []


def test_answers_get_through_a_full_window(daemon):
    with agent(daemon, tools=TOOLS) as wire:
        for number in range(16):
            send_call(wire, number, "weather_report", text=str(number))
        asked = [requested(wire) for _ in range(16)]
        for number, one in enumerate(asked):
            wire.send(
                {
                    "op": "call_result",
                    "id": f"r{number}",
                    "call": one["call"],
                    "response": one["arguments"]["text"],
                }
            )
        replies = [wire.recv() for _ in range(32)]
        texts = {
            reply["id"]: reply["results"][0]["response"]["content"][0]["text"]
            for reply in replies
            if "results" in reply
        }
        assert texts == {number: str(number) for number in range(16)}


def test_the_tools_may_change(daemon):
    with agent(daemon, tools=TOOLS) as wire:
        wire.ask({"op": "describe", "id": 1, "names": ["weather_report"]})
        changed = WEATHER | {"description": "Tell the weather of tomorrow."}
        reply = wire.ask({"op": "tools", "id": 2, "tools": [READ, changed, {**STARS, "name": "moon_chart"}]})
        assert (reply["added"], reply["removed"]) == (1, 1)
        assert found(wire, 3, "moon_chart") == ["moon_chart"]
        assert found(wire, 4, "star_chart") == []
        stale = wire.ask(
            {"op": "call", "id": 5, "calls": [{"name": "weather_report", "arguments": {"text": "x"}}]}
        )
        assert stale["results"][0]["error"]["code"] == "TOOL_CHANGED"
        reply = wire.ask({"op": "tools", "id": 6, "tools": []})
        assert (reply["added"], reply["removed"]) == (0, 3)
        assert wire.ask({"op": "assemble", "id": 7, "refresh": True})["deferred_count"] == 1


def test_they_outlive_a_change_of_the_catalog(tmp_path):
    with DaemonProcess(tmp_path, servers={"desk": zoo("steady", "echo")}) as daemon:
        daemon.wait_servers("desk")
        with agent(daemon, tools=TOOLS) as wire:
            daemon.write_servers({"desk": zoo("steady", "echo"), "more": zoo("steady", "pid")})
            daemon.wait_servers("more")
            numbers = iter(range(1, 10_000))
            wait_until(
                lambda: found(wire, next(numbers), "process id") == ["mcp__more__pid"], what="the new server"
            )
            assert found(wire, next(numbers), "weather") == ["weather_report"]
            assert wire.ask({"op": "assemble", "id": next(numbers)})["deferred_count"] == 4


def test_a_narrow_profile_leaves_an_agent_its_own_tools(daemon):
    with agent(daemon, client="narrow", tools=TOOLS) as wire:
        assert wire.ask({"op": "assemble", "id": 1})["deferred_count"] == 2
        assert found(wire, 2, "weather") == ["weather_report"]


def test_names_that_meet(daemon):
    twice = [WEATHER, WEATHER | {"description": "Another."}]
    with agent(
        daemon, tools=[*twice, WEATHER | {"name": "mcp__desk__echo"}, {"name": "tool_search"}]
    ) as wire:
        assert len(wire.welcome["warnings"]) == 2
        given = wire.ask({"op": "assemble", "id": 1})
        names = [tool["function"]["name"] for tool in given["tools"]]
        assert names == ["mcp__desk__echo", "tool_search", "tool_describe", "tool_call"]
    with agent(daemon, dialect="deepagents", tools=twice) as wire:
        assert wire.welcome["code"] == "BAD_ARGUMENTS"
    for name in ("grep", "mcp__desk__echo"):
        with agent(daemon, dialect="deepagents", tools=[WEATHER | {"name": name}]) as wire:
            assert (wire.welcome["code"], name in wire.welcome["message"]) == ("BAD_ARGUMENTS", True)


@pytest.mark.parametrize("name", ["a\n- forged", "a\x1b[2J", "a\u202eb", " ", "x" * 5000])
def test_a_name_that_a_listing_can_not_show_stays_direct(daemon, name):
    with agent(daemon, tools=[WEATHER, {**STARS, "name": name}]) as wire:
        assert "stays direct: a listing shows names as they are" in str(wire.welcome["warnings"])
        given = wire.ask({"op": "assemble", "id": 1})
        assert given["tools"][0]["function"]["name"] == name
        assert "plugin tools (1):" in given["listing"]


def test_core_tools_that_a_config_defers(tmp_path):
    config = {"tools": {"tool_search": {"defer": ["read_file"]}}}
    with DaemonProcess(tmp_path, servers={"desk": zoo("steady", "echo")}, config=config) as daemon:
        daemon.wait_servers("desk")
        with agent(daemon, tools=TOOLS) as wire:
            given = wire.ask({"op": "assemble", "id": 1})
            assert given["tools"][0] == UNNAMED
            assert given["deferred_count"] == 4
            send_call(wire, 2, "read_file")
            assert requested(wire)["name"] == "read_file"


@pytest.mark.parametrize("dialect", ["default", "hermes", "hermes-v1", "nemoclaw-hermes"])
def test_no_core_tool_hides_unasked(daemon, dialect):
    names = ("computer_use", "session_search", "image_generate", "todo_list", "process_manage")
    core = [{"name": name, "description": "Keep a list.", "core": True} for name in names]
    with agent(daemon, dialect=dialect, tools=core) as wire:
        given = wire.ask({"op": "assemble", "id": 1, "context_length": 300})
        assert given["deferred_count"] == 1
        assert [tool["function"]["name"] for tool in given["tools"][: len(core)]] == list(names)


@pytest.mark.parametrize("dialect", ["default", "hermes"])
def test_their_toolset_is_the_source_that_a_search_names_and_a_listing_groups_by(daemon, dialect):
    named = [WEATHER | {"toolset": "outdoors"}, STARS | {"toolset": "desk"}]
    plain = {"name": "tide_table", "description": "Tell the tides.", "core": False, "toolset": " "}
    with agent(daemon, dialect=dialect, tools=[READ | {"toolset": "files"}, *named]) as wire:
        wire.ask({"op": "tools", "id": 1, "tools": [READ | {"toolset": "files"}, *named, plain]})
        given = wire.ask({"op": "assemble", "id": 2})
        assert "toolset" not in given["tools"][0]["function"]
        for source in ("outdoors", "desk-2", "plugin"):  # a server is called `desk`
            assert f"{source} tools (1):" in given["listing"]
        searched = wire.ask({"op": "search", "id": 3, "queries": ["weather", "tides"]})["tools"]
        assert searched["weather_report"]["source_name"] == "outdoors"
        assert searched["weather_report"]["source"] == "plugin"
        assert searched["tide_table"]["source_name"] == "plugin"


@pytest.mark.parametrize("dialect", ["default", "hermes"])
def test_a_core_tool_through_the_bridge_is_the_wrong_door_however_it_is_spelt(daemon, dialect):
    with agent(daemon, dialect=dialect, tools=TOOLS) as wire:
        for number, name in enumerate(("read_file", "Read-File", " read file ")):
            reply = wire.ask({"op": "call", "id": number, "calls": [{"name": name, "arguments": {}}]})
            error = reply["results"][0]["error"]
            assert (error["code"], error["reason"]) == ("TOOL_NOT_FOUND", "direct_tool_wrong_door")


def test_hermes_says_what_is_not_of_this_session_and_what_is_meant(daemon):
    def error(wire, number, name):
        reply = wire.ask({"op": "call", "id": number, "calls": [{"name": name, "arguments": {}}]})
        return reply["results"][0]["error"]

    with agent(daemon, dialect="hermes") as wire:
        unknown = error(wire, 1, "echo")
        assert (unknown["reason"], unknown["suggestions"]) == ("unknown_name", ["mcp__desk__echo"])
    with agent(daemon, client="narrow", dialect="hermes") as wire:
        assert error(wire, 1, "mcp__desk__echo")["reason"] == "not_in_session"
        assert error(wire, 2, "echo")["reason"] == "unknown_name"


async def test_the_client_runs_them(daemon):
    cancelled = trio.Event()

    async def run_tool(name, arguments):
        if name == "weather_report":
            return f"rain in {arguments['text']}"
        if name == "never":
            try:
                await trio.sleep_forever()
            finally:
                cancelled.set()
        return {"no": "JSON", "form": object()}

    never = {"name": "never", "core": False}
    async with AsyncClient.connect(
        client="test", runtime_dir=daemon.runtime_dir, tools=TOOLS, run_tool=run_tool
    ) as client:
        await client.set_tools([*TOOLS, never])
        called = await client.use("weather_report", {"text": "Oslo"})
        assert called["value"]["content"][0]["text"] == "rain in Oslo"
        failed = await client.call([{"name": "star_chart", "arguments": {}}])
        assert failed["results"][0]["error"]["code"] == "TOOL_ERROR"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call, [{"name": "never", "arguments": {}}])
            await trio.testing.wait_all_tasks_blocked(0.2)
            assert (await client.stop())["running"] == 1
        with trio.fail_after(10):
            await cancelled.wait()
