"""Any value in any place that a model, an agent, a client or a server fills: one reply for each request, with
codes from the table, and nobody else notices.

The daemon and its server are real. Found by these and kept: the examples beside each property.
"""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.daemon import DaemonProcess
from tests.fuzzing import fuzzed
from tests.odd_values import HUGE, json_values, maps, nested, odd_values
from tests.servers.zoo import zoo
from tests.wire import agent
from toolsearchd.errors import CODES

ECHO, SAY, OWN = "mcp__steady__echo", "mcp__says__echo", "own_tool"
OWN_TOOL = {"name": OWN, "description": "Mine.", "parameters": {"type": "object"}, "core": False}


class Running:
    """A daemon, an agent whose requests are odd, and one whose are not."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.log = daemon.log.open("rb")
        self.number = 0
        self.odd = agent(daemon, tools=[OWN_TOOL])
        self.odd.ask({"op": "subscribe", "id": 0, "events": ["progress", "activity"]})
        self.probe = agent(daemon)

    def close(self):
        self.odd.close()
        self.probe.close()
        self.log.close()

    def ask(self, message):
        """The one reply; nothing more may come for it."""
        self.number += 1
        reply = self.odd.ask({**message, "id": self.number})
        assert reply is not None, "the daemon hung up"
        return reply

    def check(self):
        self.number += 1
        assert self.odd.ask({"op": "ping", "id": self.number})["op"] == "result"
        call = {"op": "call", "id": self.number, "name": ECHO, "arguments": {"text": "hi"}}
        assert self.probe.ask(call)["success_count"] == 1
        assert self.daemon.process.poll() is None
        said = self.log.read()
        assert b"which is a bug" not in said, said.decode()
        assert b"Traceback" not in said, said.decode()

    def slots(self, message, count=1):
        """Of a `call` that is not refused as a whole."""
        reply = self.ask(message)
        if reply["op"] == "error":
            assert reply["code"] in ("BAD_ARGUMENTS", "TOO_MANY"), reply
            return []
        assert [slot["index"] for slot in reply["results"]] == list(range(reply["total_count"]))
        errors = [slot["error"] for slot in reply["results"] if "error" in slot]
        assert len(errors) == reply["error_count"] == reply["total_count"] - reply["success_count"]
        for error in errors:
            assert error["code"] in CODES
            assert error["code"] != "INTERNAL", error
            assert isinstance(error["message"], str)
        return reply["results"]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    servers = {"steady": zoo("steady", "echo"), "says": zoo("misbehaving", "says")}
    # A server that only errs is not what is looked at here; what it never answers is.
    config = {"limits": {"call_timeout_s": 5, "breaker_failures": 1_000_000, "progress_per_s": 1000}}
    with DaemonProcess(tmp_path_factory.mktemp("odd"), servers=servers, config=config) as daemon:
        daemon.wait_servers("steady", "says")
        running = Running(daemon)
        yield running
        running.close()


def as_text(value):
    """JSON as Python writes it: NaN, halves of pairs and all; None where there is none."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None


def sendable(value):
    """What an agent can put into a frame."""
    try:
        msgspec.msgpack.decode(msgspec.msgpack.encode(value))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False
    return True


@fuzzed(150)
@given(odd_values() | maps(odd_values()), st.sampled_from([ECHO, SAY, "mcp__no__tool"]))
@example({5: 1}, ECHO)
@example({"text": "x", "n": {None: 1}}, ECHO)
@example({"text": nested(300)}, ECHO)
def test_arguments(running, value, tool):
    if sendable(value):
        fine = {"name": ECHO, "arguments": {"text": "fine"}}
        slots = running.slots({"op": "call", "calls": [{"name": tool, "arguments": value}, fine]})
        assert not slots or "response" in slots[-1]
        running.ask({"op": "use", "tool": tool, "arguments": value})
        running.ask({"op": "use", "tool": "tool_call", "arguments": {"calls": value}})
    running.check()


@fuzzed(150)
@given(maps(json_values(), st.sampled_from(["text", "n", "\ud800"])), st.sampled_from([ECHO, SAY, "\ud800"]))
@example({"text": "x", "n": 2**64}, ECHO)
@example({"text": "\ud800"}, ECHO)
@example({}, "\ud800")
def test_arguments_as_text(running, value, tool):
    text = as_text(value)
    if text is not None and (name := as_text(tool)) is not None:
        running.slots({"op": "call", "name": ECHO, "arguments": text})
        running.slots({"op": "call", "calls": f'[{{"name": {name}, "arguments": {text}}}]'})
    running.check()


@fuzzed(80)
@given(odd_values())
@example([])
@example({"query": 2**64 - 1})
def test_requests_whose_fields_are_a_models(running, value):
    if sendable(value):
        for op, field in (
            ("search", "queries"),
            ("search", "limit"),
            ("describe", "names"),
            ("call", "calls"),
        ):
            reply = running.ask({"op": op, field: value} | ({"queries": ["x"]} if field == "limit" else {}))
            assert reply["op"] == "result" or reply["code"] in ("BAD_ARGUMENTS", "TOO_MANY")
    running.check()


@fuzzed(150)
@given(
    json_values()
    | st.fixed_dictionaries(
        {},
        optional={
            "code": st.integers() | st.sampled_from(HUGE) | json_values(),
            "message": st.text(max_size=5) | json_values(),
            "data": json_values(),
        },
    )
)
@example({"code": 2**64, "message": "m"})
@example({"code": 10**400, "message": "\ud800", "data": [2**70, "\ud800"]})
@example({"code": nested(130), "message": ""})
def test_a_servers_error(running, error):
    answer(running, f'"error": {as_text(error)}')


@fuzzed(150)
@given(
    json_values()
    | st.fixed_dictionaries(
        {},
        optional={
            "content": st.lists(
                maps(json_values(), st.sampled_from(["type", "text", "data", "resource"])), max_size=2
            )
            | st.lists(st.builds(lambda text: {"type": "text", "text": text}, json_values()), max_size=2),
            "structuredContent": json_values(),
            "isError": st.booleans() | json_values(),
            "_meta": json_values(),
        },
    )
)
@example({"content": [], "structuredContent": {"n": 2**64}})
@example({"content": [], "isError": True, "structuredContent": {"\ud800": float("nan")}})
@example({"content": [{"type": [], "text": {}}], "isError": 2**70})
def test_a_servers_result(running, result):
    answer(running, f'"result": {as_text(result)}')


def answer(running, text):
    if sendable(text):
        running.slots({"op": "call", "name": SAY, "arguments": {"answer": text}})
        running.ask({"op": "use", "tool": SAY, "arguments": {"answer": text}})
    running.check()


@fuzzed(100)
@given(
    st.sampled_from(["progress", "message", "tools/list_changed", "resources/updated", "cancelled", "x"]),
    st.fixed_dictionaries(
        {},
        optional={
            "progressToken": st.just("ID") | json_values(),
            "progress": json_values(),
            "total": json_values(),
            "message": json_values(),
            "level": st.sampled_from(["error", "debug"]) | json_values(),
            "data": json_values(),
            "uri": json_values(),
            "requestId": json_values(),
        },
    ),
)
@example("progress", {"progressToken": "ID", "progress": 10**400})
@example("progress", {"progressToken": "ID", "progress": 1, "total": 10**400, "message": "\ud800"})
@example("message", {"level": "error", "data": 2**64})
def test_what_a_server_tells_meanwhile(running, method, params):
    text = as_text({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params})
    if text is not None and sendable(text):
        around = [text.replace('"ID"', "ID"), text]
        (slot,) = running.slots({"op": "call", "name": SAY, "arguments": {"around": around}})
        assert "response" in slot
    running.check()


@fuzzed(100)
@given(odd_values() | maps(odd_values()), odd_values() | st.none())
@example({"content": [{"type": "text", 5: b"x"}]}, None)
@example(msgspec.msgpack.Ext(5, b"x"), None)
@example(None, {"message": msgspec.msgpack.Ext(1, b"")})
def test_an_agents_answer_for_its_own_tool(running, response, error):
    if sendable((response, error)):
        running.number += 2
        call, answered = running.number - 1, running.number
        running.odd.send({"op": "call", "id": call, "name": OWN, "arguments": {}})
        replies = {}
        while len(replies) < 2:
            message = running.odd.recv()
            if message["op"] == "call_requested":
                fields = {"call": message["call"], "response": response, "error": error}
                running.odd.send({"op": "call_result", "id": answered} | fields)
            elif "id" in message:
                replies[message["id"]] = message
        assert replies[answered]["accepted"]
        (slot,) = replies[call]["results"]
        assert "response" in slot or slot["error"]["code"] in ("BAD_RESULT", "TOOL_ERROR")
    running.check()


@fuzzed(60)
@given(
    st.lists(
        maps(
            odd_values(), st.sampled_from(["name", "description", "parameters", "core", "type", "function"])
        ),
        max_size=2,
    )
)
@example(
    [{"name": "a", "description": b"x", "parameters": {"type": msgspec.msgpack.Ext(5, b"x")}, "core": False}]
)
@example([{"name": "a", "description": "d", "parameters": {"properties": {"p": {5: 1}}}, "core": False}])
def test_an_agents_own_tools(running, tools):
    if sendable(tools):
        reply = running.ask({"op": "tools", "tools": tools})
        assert reply["op"] == "result" or reply["code"] == "BAD_ARGUMENTS", reply
        for request in (
            {"op": "assemble"},
            {"op": "search", "queries": ["tool"]},
            {"op": "describe", "names": ["a"]},
        ):
            reply = running.ask(request)
            assert reply["op"] == "result", reply
        hello = agent(running.daemon, tools=tools)
        assert hello.welcome["op"] == "welcome" or hello.welcome["code"] in CODES
        hello.close()
        running.ask({"op": "tools", "tools": [OWN_TOOL]})
    running.check()
