"""Values that no encoder takes cost the entry that they stand in: whoever wrote them, nobody else notices."""

import json

import msgspec
import pytest

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import DoorWire, Wire, agent
from toolsearchd.protocol.framing import HEADER

ECHO = "mcp__steady__echo"
SAY = "mcp__says__echo"
BIG = 2**64
HALF = b"\xed\xa0\x80"  # half of a surrogate pair, as UTF-8 would have it


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {"steady": zoo("steady"), "says": zoo("misbehaving", "says")}
    with DaemonProcess(tmp_path_factory.mktemp("odd"), servers=servers) as daemon:
        daemon.wait_servers("steady", "says")
        yield daemon


@pytest.fixture(autouse=True)
def others_unaffected(daemon):
    """A second session calls before and after, in the same process, and no bug was met."""
    pid = daemon.process.pid
    with agent(daemon) as probe:
        call = {"op": "call", "calls": [{"name": ECHO, "arguments": {"text": "hi"}}]}
        assert probe.ask(call | {"id": 1})["success_count"] == 1
        yield
        assert probe.ask(call | {"id": 2})["success_count"] == 1
    assert daemon.process.poll() is None
    assert daemon.process.pid == pid
    assert "Traceback" not in daemon.log.read_text()


def send_text(wire, head, value, *, key=b"arguments"):
    """A request whose last field is a text of these bytes, whatever they are."""
    packed = msgspec.msgpack.encode(head)
    payload = bytes((packed[0] + 1,)) + packed[1:] + bytes((0xA0 | len(key),)) + key + value
    wire.send_bytes(HEADER.pack(len(payload)) + payload)


def slot(reply):
    assert reply["op"] == "result", reply
    (only,) = reply["results"]
    return only


BY_AN_AGENT = {
    "a number": '{"text": "x", "n": 18446744073709551616}',
    "a negative number": '{"text": "x", "n": [{"m": -9223372036854775809}]}',
    "a number of a thousand digits": '{"text": "x", "n": ' + "7" * 1000 + "}",
    "half a pair": '{"text": "\\ud800"}',
    "half a pair in a key": '{"text": "x", "\\udfff": 1}',
    "a number as a key": {"text": "x", 5: 1},
    "nothing as a key": {"text": "x", "deep": [{None: 1}]},
    "a list as a key": {"text": "x", "deep": {(1, 2): 3}},
    "binary as a key": {b"text": "x"},
    "binary": {"text": b"x"},
    "an extension": {"text": "x", "n": msgspec.msgpack.Ext(5, b"x")},
    "no number": {"text": "x", "n": float("nan")},
    "infinity": {"text": "x", "n": float("inf")},
}


@pytest.mark.parametrize("arguments", BY_AN_AGENT.values(), ids=BY_AN_AGENT.keys())
def test_an_agents_arguments(daemon, arguments):
    fine = {"name": ECHO, "arguments": {"text": "fine"}}
    with agent(daemon) as wire:
        for times in range(4):  # the third failure in the same words is told so
            reply = wire.ask(
                {"op": "call", "id": times, "calls": [{"name": ECHO, "arguments": arguments}, fine]}
            )
            odd, other = reply["results"]
            assert odd["error"]["code"] == "INVALID_ARGUMENTS"
            assert odd["error"]["path"]
            assert "response" in other
        told = wire.ask(
            {
                "op": "use",
                "id": 9,
                "tool": "tool_call",
                "arguments": {"calls": [fine | {"arguments": arguments}]},
            }
        )
        assert told["value"]["error"]["code"] == "INVALID_ARGUMENTS"
        if isinstance(arguments, dict):
            told = wire.ask({"op": "use", "id": 10, "tool": ECHO, "arguments": arguments})
            assert told["value"]["error"]["code"] == "INVALID_ARGUMENTS"


def test_an_agents_text_that_is_no_utf8(daemon):
    odd = b"\x81\xa4text" + bytes((0xA0 | len(HALF),)) + HALF
    with agent(daemon) as wire:
        send_text(wire, {"op": "call", "id": 1, "name": ECHO}, odd)
        error = slot(wire.recv())["error"]
        assert (error["code"], error["path"]) == ("INVALID_ARGUMENTS", "arguments.text")
        send_text(wire, {"op": "use", "id": 2, "tool": ECHO}, odd)
        assert wire.recv()["value"]["error"]["code"] == "INVALID_ARGUMENTS"
        assert wire.ask({"op": "ping", "id": 3})["op"] == "result"


def test_a_name_that_no_frame_holds(daemon):
    with agent(daemon) as wire:
        reply = wire.ask({"op": "call", "id": 1, "calls": '[{"name": "\\ud800", "arguments": {}}]'})
        assert slot(reply)["error"]["code"] == "TOOL_NOT_FOUND"


BY_A_SERVER = {
    "a code": (
        '"error": {"code": 18446744073709551616, "message": "m"}',
        "SERVER_ERROR",
        "18446744073709551616",
    ),
    "a code of a thousand digits": (
        f'"error": {{"code": {"9" * 1000}, "message": "m"}}',
        "SERVER_ERROR",
        "9" * 1000,
    ),
    "a code below": (
        '"error": {"code": -9223372036854775809, "message": "m"}',
        "SERVER_ERROR",
        "-9223372036854775809",
    ),
    "data": ('"error": {"code": 5, "message": "m", "data": [18446744073709551616]}', "SERVER_ERROR", 5),
}


@pytest.mark.parametrize(("answer", "code", "server_code"), BY_A_SERVER.values(), ids=BY_A_SERVER.keys())
def test_a_servers_error(daemon, answer, code, server_code):
    with agent(daemon) as wire:
        assert "response" in slot(wire.ask({"op": "call", "id": 0, "name": SAY, "arguments": {}}))
        error = slot(wire.ask({"op": "call", "id": 1, "name": SAY, "arguments": {"answer": answer}}))["error"]
        assert (error["code"], error["server_code"]) == (code, server_code)


ODD_RESULTS = [
    '"result": {"content": [], "structuredContent": {"n": 18446744073709551616}}',
    '"result": {"content": [], "isError": true, "structuredContent": {"n": 18446744073709551616}}',
    '"result": {"content": [{"type": "text", "text": "x", "n": -9223372036854775809}]}',
]


@pytest.mark.parametrize("answer", ODD_RESULTS)
def test_a_servers_result_arrives_whatever_a_number_is(daemon, answer):
    with agent(daemon) as wire:
        got = slot(wire.ask({"op": "call", "id": 1, "name": SAY, "arguments": {"answer": answer}}))
        response = got["response"] if "response" in got else got["error"]["response"]
        assert "9223372036854775809" in str(response) or "18446744073709551616" in str(response)


def notification(method, params):
    return f'{{"jsonrpc": "2.0", "method": "notifications/{method}", "params": {params}}}'


AROUND = [
    notification("progress", '{"progressToken": ID, "progress": ' + "9" * 400 + "}"),
    notification("progress", '{"progressToken": ID, "progress": 1, "total": ' + "9" * 400 + "}"),
    notification("progress", '{"progressToken": ID, "progress": 1, "message": "\\ud800"}'),
    notification("message", '{"level": "error", "data": 18446744073709551616}'),
    notification("message", '{"level": "error", "data": "\\ud800"}'),
    notification("message", '{"level": {}, "logger": 5}'),
    notification("resources/updated", '{"uri": 18446744073709551616}'),
    '{"jsonrpc": "2.0", "id": 18446744073709551616, "method": "elicitation/create", "params": {"a": 1}}',
]


@pytest.mark.parametrize("line", AROUND)
def test_what_a_server_tells_around_its_answer(daemon, line):
    call = {"name": SAY, "arguments": {"around": [line]}}
    with agent(daemon) as wire, DoorWire(daemon) as door:
        door.initialize()
        wire.ask({"op": "subscribe", "id": 1, "events": ["progress"]})
        assert "response" in slot(wire.ask({"op": "call", "id": 2, "calls": [call]}))
        result = door.ask("tools/call", name="tool_call", arguments=call, _meta={"progressToken": "p"})
        assert result["content"][0]["text"] == "ok"
        assert daemon.server("says")["restarts"] == 0


def test_through_the_door(daemon):
    with DoorWire(daemon) as door:
        door.initialize()
        for number in (BIG, -(2**63) - 1, 10**1000):
            result = door.call("tool_call", name=ECHO, arguments={"text": "x", "n": [number]})
            assert result["structuredContent"]["code"] == "INVALID_ARGUMENTS"
            result = door.call("steady__echo", text="x", n=number)
            assert result["structuredContent"]["code"] == "INVALID_ARGUMENTS"
        answer = '"error": {"code": 18446744073709551616, "message": "m"}'
        result = door.call("tool_call", name=SAY, arguments={"answer": answer})
        assert result["structuredContent"]["server_code"] == str(BIG)
        assert door.call("tool_call", name=ECHO, arguments={"text": "x"})["content"][0]["text"] == "x"


DEEP = 300  # past what the SDK writes, within what the socket reads


def test_arguments_that_nest_deeper_than_a_message_may(daemon):
    arguments = {"text": "x", "deep": json.loads("[" * DEEP + "]" * DEEP)}
    with agent(daemon) as wire:
        error = slot(wire.ask({"op": "call", "id": 1, "name": ECHO, "arguments": arguments}))["error"]
        assert error["code"] == "INVALID_ARGUMENTS"
        assert daemon.server("steady")["restarts"] == 0


def test_an_agents_own_tools(daemon):
    own = {"name": "own_tool", "description": "Mine.", "parameters": {"type": "object"}, "core": False}
    answers = [
        {"response": msgspec.msgpack.Ext(5, b"x")},
        {"response": {(1, 2): 3}},
        {"response": {"content": [{"type": "text", b"k": {5: msgspec.msgpack.Ext(5, b"x")}}]}},
        {"error": {"message": msgspec.msgpack.Ext(5, b"x"), 5: b"x"}},
    ]
    with agent(daemon, tools=[own]) as wire:
        for at, answer in enumerate(answers):
            wire.send({"op": "call", "id": 2 * at, "name": "own_tool", "arguments": {}})
            requested = wire.recv()
            assert requested["op"] == "call_requested", requested
            wire.send({"op": "call_result", "id": 2 * at + 1, "call": requested["call"], **answer})
            replies = {reply["id"]: reply for reply in (wire.recv(), wire.recv())}
            assert replies[2 * at + 1]["accepted"]
            got = slot(replies[2 * at])
            assert "response" in got or got["error"]["code"] in ("BAD_RESULT", "TOOL_ERROR")


def test_definitions_of_an_agents_own_tools(daemon):
    odd = [
        {"name": "one", "description": b"x", "parameters": {5: 1}, "core": False},
        {
            "name": "two",
            "description": "d",
            "parameters": {"type": msgspec.msgpack.Ext(5, b"x")},
            "core": False,
        },
        {"name": "three", "description": "d", "parameters": {"default": float("nan")}, "core": True},
        {"name": b"four"},
    ]
    for tools in ([one] for one in odd):
        with agent(daemon, tools=tools) as wire:
            assert wire.welcome["op"] in ("welcome", "error")
        with agent(daemon) as wire:
            reply = wire.ask({"op": "tools", "id": 1, "tools": tools})
            assert reply.get("code") in (None, "BAD_ARGUMENTS")
            assert wire.ask({"op": "assemble", "id": 2})["op"] == "result"


def test_the_live_feed_and_the_journal(daemon):
    with agent(daemon) as wire:
        calls = '[{"name": "\\ud800", "arguments": {"a": 18446744073709551616}}]'
        with Wire(daemon.runtime_dir / "control.sock") as person:
            person.ask({"op": "watch", "id": 1})
            wire.ask({"op": "call", "id": 1, "calls": calls})
            steps = [person.recv()["step"] for _ in range(2)]
            assert steps == ["received", "call"]
