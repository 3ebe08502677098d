"""All bytes at once, or byte by byte, or in any pieces: the same messages."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.connection import AgentConnection, Refusal
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.records import Open

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def payloads(decoder):
    while (payload := decoder.next_payload()) is not None:
        yield payload


@given(st.lists(values, max_size=6), st.lists(st.integers(1, 40), max_size=40))
def test_pieces_do_not_matter(messages, cuts):
    stream = b"".join(encode_frame(message) for message in messages)
    decoder, found, at = FrameDecoder(1 << 20), [], 0
    for cut in [*cuts, len(stream)]:
        decoder.feed(stream[at : at + cut])
        at += cut
        found += payloads(decoder)
    decoder.feed(stream[at:])
    found += payloads(decoder)
    assert [msgspec.msgpack.decode(payload) for payload in found] == messages
    assert decoder.buffered == 0


def run(stream, pieces):
    wire, log = AgentConnection(Limits()), []
    for piece in pieces:
        for item in wire.receive(piece):
            log.append(item.frame if isinstance(item, Refusal) else item)
            if not isinstance(item, Refusal) and hasattr(item, "protocol"):
                wire.welcome(Open(fields={}))
    return log


@given(st.binary(max_size=200) | st.lists(values, max_size=5).map(lambda v: b"".join(map(encode_frame, v))))
def test_any_bytes_give_messages_or_refusals_and_nothing_else(garbage):
    stream = encode_frame({"op": "hello", "protocol": 1, "client": "x"}) + garbage
    whole = run(stream, [stream])
    assert run(stream, [stream[i : i + 1] for i in range(len(stream))]) == whole
    assert sum(isinstance(item, bytes) for item in whole) <= len(garbage)


@given(st.integers(0, 2**32 - 1))
def test_a_length_is_judged_before_anything_is_held(size):
    decoder = FrameDecoder(1000)
    decoder.feed(size.to_bytes(4, "big"))
    try:
        assert decoder.next_payload() is None
        assert 0 < size <= 1000
    except ToolsearchdError as error:
        assert error.code == "FRAME_TOO_LARGE"
        assert not 0 < size <= 1000
