"""The relay's own small codecs, against the libraries that it does without."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.ctl.relay import _answered
from toolsearchd.ctl.relay_daemon import first_texts, packed
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.connection import error_frame
from toolsearchd.protocol.framing import HEADER

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(st.dictionaries(words, words | st.booleans() | st.integers(0, 127), max_size=15))
def test_packed_is_messagepack(fields):
    assert msgspec.msgpack.decode(packed(fields)) == fields


def test_a_path_that_is_no_text_still_makes_a_frame():
    assert msgspec.msgpack.decode(packed({"cwd": "/tmp/\udcff"})) == {"cwd": "/tmp/�"}


@given(words)
def test_a_refusal_is_read_in_its_own_words(message):
    frame = error_frame(None, ToolsearchdError("NOT_ALLOWED", message, more=[1, 2]))
    said = first_texts(frame[HEADER.size :])
    assert (said["op"], said["code"], said["message"]) == ("error", "NOT_ALLOWED", message)


@given(st.integers(-(10**17), 10**17) | words, st.booleans(), st.booleans())
def test_the_id_of_an_answer_is_found_however_it_is_written(request_id, compact, ascii_only):
    separators = (",", ":") if compact else None
    message = {"jsonrpc": "2.0", "id": request_id, "result": {"id": 99, "method": "x"}}
    line = json.dumps(message, separators=separators, ensure_ascii=ascii_only).encode()
    assert _answered(line) == json.dumps(request_id)


def test_what_is_no_answer_answers_nothing():
    for line in (b"", b"[]", b"{", b'{"method":"ping","id":1}', b'{"method":"x"}', b"[" * 100_000):
        assert _answered(line) is None
