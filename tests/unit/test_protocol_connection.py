"""The agent connection's state machine: what a peer may say, when, and what it gets for anything else."""

import msgspec
import pytest

from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.connection import AgentConnection, ControlConnection, Refusal
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.protocol.json_schema import json_schema
from toolsearchd.protocol.requests import Hello, SearchRequest, StatusRequest, StopRequest
from toolsearchd.records import Open

HELLO = encode_frame({"op": "hello", "protocol": 1, "client": "test"})


def said(refusal):
    assert isinstance(refusal, Refusal)
    frames = FrameDecoder(1 << 20)
    frames.feed(refusal.frame)
    return msgspec.msgpack.decode(frames.next_payload())


def greeted(**limits):
    wire = AgentConnection(Limits(**limits))
    (hello,) = wire.receive(HELLO)
    assert isinstance(hello, Hello)
    wire.welcome(Open(fields={}))
    return wire


def test_hello_then_requests():
    wire = greeted()
    (search,) = wire.receive(encode_frame({"op": "search", "id": 1, "queries": ["a"], "later": True}))
    assert search == SearchRequest(id=1, queries=["a"])


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (encode_frame({"op": "ping", "id": 1}), "WRONG_STATE"),
        (encode_frame({"op": "nonsense", "id": 1}), "BAD_MESSAGE"),
        (encode_frame({"op": "hello", "protocol": 1}), "BAD_MESSAGE"),
        (encode_frame({"op": "hello", "protocol": 2, "client": "x"}), "UNSUPPORTED_PROTOCOL"),
        (encode_frame({"op": "status", "id": 1}), "BAD_MESSAGE"),
        (b"\x00\x00\x00\x03\xc1\xc1\xc1", "BAD_MESSAGE"),
        (b"\x00\x00\x00\x05\xdd\xff\xff\xff\xff", "BAD_MESSAGE"),
        (b"\x00\x00\x00\x00", "FRAME_TOO_LARGE"),
        (b"\xff\xff\xff\xff", "FRAME_TOO_LARGE"),
        (b"\x00\x01\x00\x01", "FRAME_TOO_LARGE"),
    ],
)
def test_a_violation_before_hello_is_answered_once_and_final(payload, code):
    wire = AgentConnection(Limits())
    (refusal,) = wire.receive(payload)
    assert said(refusal)["code"] == code
    assert refusal.close
    assert list(wire.receive(HELLO)) == []


def test_deep_nesting_is_a_bad_message_and_not_a_crash():
    wire = greeted()
    depth = 100_000
    payload = b"\x83\xa2op\xa6search\xa2id\x01\xa7queries" + b"\x91" * depth + b"\x01"
    (refusal,) = wire.receive(len(payload).to_bytes(4, "big") + payload)
    assert said(refusal)["code"] == "BAD_MESSAGE"


def test_trailing_bytes_are_a_bad_message():
    payload = msgspec.msgpack.encode({"op": "ping", "id": 1}) + b"\x01"
    (refusal,) = greeted().receive(len(payload).to_bytes(4, "big") + payload)
    assert said(refusal)["code"] == "BAD_MESSAGE"


def test_second_hello_is_the_wrong_state():
    (refusal,) = greeted().receive(HELLO)
    assert said(refusal)["code"] == "WRONG_STATE"
    assert refusal.close


def test_larger_frames_only_after_hello():
    limits = {"frame_bytes_before_hello": 200, "frame_bytes": 2000}
    big = encode_frame({"op": "search", "id": 1, "queries": ["x" * 1000]})
    (refusal,) = AgentConnection(Limits(**limits)).receive(big)
    assert said(refusal)["code"] == "FRAME_TOO_LARGE"
    (search,) = greeted(**limits).receive(big)
    assert isinstance(search, SearchRequest)


def test_duplicate_id_is_refused_and_the_original_stays_open():
    wire = greeted()
    ping = encode_frame({"op": "ping", "id": "a"})
    list(wire.receive(ping))
    (refusal,) = wire.receive(ping)
    assert said(refusal) | {"message": ""} == {
        "op": "error",
        "id": "a",
        "code": "DUPLICATE_ID",
        "message": "",
    }
    assert not refusal.close
    assert wire.open_ids == {"a"}
    wire.result("a", Open(fields={}))
    assert wire.open_ids == frozenset()


def test_a_full_window_is_busy_but_a_stop_gets_through():
    wire = greeted(open_requests=2)
    for number in range(2):
        list(wire.receive(encode_frame({"op": "ping", "id": number})))
    (refusal,) = wire.receive(encode_frame({"op": "ping", "id": 2}))
    assert said(refusal)["code"] == "BUSY"
    (stop,) = wire.receive(encode_frame({"op": "stop", "id": 3}))
    assert isinstance(stop, StopRequest)


@pytest.mark.parametrize("make", [greeted, lambda **limits: ControlConnection(Limits(**limits))])
def test_open_requests_are_charged_by_their_bytes(make):
    wire = make(outstanding_bytes=10_000)
    control = isinstance(wire, ControlConnection)
    ask = {"op": "status"} if control else {"op": "use", "tool": "x"}

    def sent(number, size):
        (item,) = wire.receive(encode_frame(ask | {"id": number, "arguments": {"text": "x" * size}}))
        return said(item)["code"] if isinstance(item, Refusal) else "taken"

    assert [sent(number, 4_000) for number in range(4)] == ["taken", "taken", "BUSY", "BUSY"]
    assert sent(4, 1_000) == "taken"
    (stop,) = wire.receive(encode_frame({"op": "stop", "id": 5}))
    assert not isinstance(stop, Refusal)
    for number in (0, 1, 4, 5):
        wire.finish(number)
        wire.finish(number)
    assert sent(6, 20_000) == "taken"  # one alone is, whatever its size: a frame is the most
    assert sent(7, 1) == "BUSY"
    wire.finish(6)
    assert [sent(number, 4_000) for number in range(8, 11)] == ["taken", "taken", "BUSY"]


def test_control_has_tags_of_its_own():
    wire = ControlConnection(Limits())
    (status,) = wire.receive(encode_frame({"op": "status", "id": 1}))
    assert isinstance(status, StatusRequest)
    (refusal,) = wire.receive(HELLO)
    assert said(refusal)["code"] == "BAD_MESSAGE"


def test_schema_names_every_message():
    text = msgspec.json.encode(json_schema()).decode()
    for op in ("hello", "search", "describe", "call", "stop", "status", "restart"):
        assert f'"{op}"' in text


def test_an_error_needs_a_known_code():
    with pytest.raises(AssertionError):
        ToolsearchdError("NO_SUCH_CODE", "x")
