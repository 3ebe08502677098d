"""What no frame can carry: its nearest form, and texts that are no UTF-8."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.odd_values import odd_values
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.connection import (
    AgentConnection,
    ControlConnection,
    Refusal,
    error_frame,
    event_frame,
)
from toolsearchd.protocol.events import CallRequested
from toolsearchd.protocol.framing import HEADER, encode_frame, is_serialisable
from toolsearchd.protocol.odd_texts import odd_texts_as_bytes
from toolsearchd.protocol.requests import CallRequest
from toolsearchd.records import Open
from toolsearchd.values import representable

HELLO = encode_frame({"op": "hello", "protocol": 1, "client": "x"})


@given(odd_values())
@example({(1, "\ud800"): 2**70})
@example(msgspec.msgpack.Ext(5, b"x"))
def test_any_value_has_a_form_that_can_be_carried_in_both_encodings(value):
    shown = representable(value)
    assert is_serialisable(shown)
    msgspec.json.encode(shown)


@given(odd_values())
def test_every_reply_error_and_event_becomes_one_frame(value):
    wire = ControlConnection(Limits())
    frames = [
        wire.result(1, Open(fields={"value": value})),
        error_frame(1, ToolsearchdError("SERVER_ERROR", "odd", server_code=value)),
        event_frame(CallRequested(call="c1", name="t", arguments=value)),
    ]
    for frame in frames:
        (size,) = HEADER.unpack_from(frame)
        assert len(frame) == HEADER.size + size
        assert isinstance(msgspec.msgpack.decode(frame[HEADER.size :]), dict)


def text(raw):
    """MessagePack's text of these bytes, whatever they are."""
    if len(raw) < 32:
        return bytes((0xA0 | len(raw),)) + raw
    if len(raw) < 256:
        return b"\xd9" + bytes((len(raw),)) + raw
    if len(raw) < 65536:
        return b"\xda" + len(raw).to_bytes(2, "big") + raw
    return b"\xdb" + len(raw).to_bytes(4, "big") + raw


@pytest.mark.parametrize("length", [0, 5, 28, 29, 200, 300, 70_000])
def test_texts_that_are_no_utf8_are_read_as_bytes(length):
    odd = b"\xed\xa0\x80" + b"x" * length
    payload = b"\x84" + text(b"op") + text(b"call") + text(b"id") + b"\x01" + text(b"name") + text(b"t")
    payload += (
        text(b"arguments") + b"\x82" + text(b"a") + text(odd) + text(odd) + b"\x93\x01\xc3" + text(b"ok")
    )
    wire = AgentConnection(Limits())
    (_hello,) = wire.receive(HELLO)
    wire.welcome(Open(fields={}))
    (request,) = wire.receive(HEADER.pack(len(payload)) + payload)
    assert isinstance(request, CallRequest)
    assert request.arguments == {"a": odd, odd: [1, True, "ok"]}


@given(st.binary(max_size=40))
def test_no_payload_is_too_odd_to_be_looked_through(payload):
    readable = odd_texts_as_bytes(payload)
    assert readable is None or len(readable) > len(payload)


@given(odd_values())
def test_what_can_be_carried_holds_no_odd_text(value):
    if is_serialisable(value):
        assert odd_texts_as_bytes(msgspec.msgpack.encode(value)) is None


def test_a_frame_that_is_odd_and_long_is_refused_whole():
    payload = b"\xdd" + (8_000_000).to_bytes(4, "big") + b"\x01" * 7_999_990 + text(b"\xff")
    assert odd_texts_as_bytes(payload) is None
    wire = AgentConnection(Limits())
    list(wire.receive(HELLO))
    wire.welcome(Open(fields={}))
    (refusal,) = wire.receive(HEADER.pack(len(payload)) + payload)
    assert isinstance(refusal, Refusal)
    assert refusal.close
