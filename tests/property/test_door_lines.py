"""The door's line decoder: what comes out does not depend on how the bytes arrive."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from toolsearchd.doors.lines import LineDecoder

MAX_BYTES = 12
pieces = st.lists(st.binary(max_size=2 * MAX_BYTES).map(lambda b: b.replace(b"\n", b".")), max_size=6)
cuts = st.lists(st.integers(0, 200), max_size=8)


def expected(data):
    """By the plain reading: split, cap, drop the blank; the unfinished rest counts when it is too long."""
    *lines, rest = data.split(b"\n")
    found = [
        None if len(line) > MAX_BYTES else line for line in lines if line.strip() or len(line) > MAX_BYTES
    ]
    return found + [None] * (len(rest) > MAX_BYTES)


@given(pieces, cuts)
@example([b"x" * 30, b"ok", b""], [5, 13, 14])
@example([b"            ", b"            x"], [3])
def test_lines_do_not_depend_on_the_cuts(lines, at):
    data = b"\n".join(lines)
    edges = sorted({0, len(data), *(cut for cut in at if cut < len(data))})
    decoder = LineDecoder(MAX_BYTES)
    found = [line for begin, end in pairwise(edges) for line in decoder.feed(data[begin:end])]
    assert found == expected(data)


@given(st.binary(max_size=100))
def test_byte_by_byte_is_all_at_once(data):
    at_once = list(LineDecoder(MAX_BYTES).feed(data))
    decoder = LineDecoder(MAX_BYTES)
    assert [line for byte in data for line in decoder.feed(bytes([byte]))] == at_once
