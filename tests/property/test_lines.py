"""The line splitter: what comes out does not depend on how the bytes arrive, and nothing is lost."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from toolsearchd.system.lines import LineSplitter, Piece

MAX_BYTES = 12
pieces = st.lists(st.binary(max_size=2 * MAX_BYTES).map(lambda b: b.replace(b"\n", b".")), max_size=6)
cuts = st.lists(st.integers(0, 200), max_size=8)


def split(chunks):
    """Lines, None for one over the bound; all that was handed out, and what was kept."""
    splitter, lines, bytes_out = LineSplitter(MAX_BYTES), [], b""
    for chunk in chunks:
        for item in splitter.feed(chunk):
            if isinstance(item, Piece):
                if item.begins:
                    assert len(item.data) > MAX_BYTES
                    lines.append(None)
                bytes_out += item.data + b"\n" * item.ends
            else:
                lines.append(item)
                bytes_out += item + b"\n"
        assert len(splitter._rest) <= MAX_BYTES
    return lines, bytes_out + splitter.take_rest()


def expected(data):
    """By the plain reading: split and cap; the unfinished rest counts when it is too long."""
    *lines, rest = data.split(b"\n")
    return [None if len(line) > MAX_BYTES else line for line in lines] + [None] * (len(rest) > MAX_BYTES)


@given(pieces, cuts)
@example([b"x" * 30, b"ok", b""], [5, 13, 14])
@example([b"            ", b"            x"], [3])
def test_lines_do_not_depend_on_the_cuts(lines, at):
    data = b"\n".join(lines)
    edges = sorted({0, len(data), *(cut for cut in at if cut < len(data))})
    assert split(data[begin:end] for begin, end in pairwise(edges)) == (expected(data), data)


@given(st.binary(max_size=100))
def test_byte_by_byte_is_all_at_once(data):
    assert split([data]) == split(bytes([byte]) for byte in data) == (expected(data), data)


def test_a_long_line_has_one_beginning_and_one_end():
    splitter = LineSplitter(2)
    found = [list(splitter.feed(chunk)) for chunk in (b"ab", b"c", b"", b"d", b"e\nfgh\ni", b"\n")]
    assert found == [
        [],
        [Piece(b"abc", begins=True, ends=False)],
        [],
        [Piece(b"d", begins=False, ends=False)],
        [Piece(b"e", begins=False, ends=True), Piece(b"fgh", begins=True, ends=True)],
        [b"i"],
    ]
