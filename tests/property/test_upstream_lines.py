"""However the bytes of a server are cut into chunks, the same comes out of them."""

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from toolsearchd.limits import Limits
from toolsearchd.upstream.lines import LineReader

LIMITS = msgspec.structs.replace(Limits(), line_bytes=300, schema_depth=6)
ID = st.one_of(st.integers(0, 99).map(lambda n: b"%d" % n), st.sampled_from([b'"a"', b"1.5", b"null"]))
TEXT = st.one_of(st.binary(max_size=20), st.integers(0, 700).map(lambda n: b"x" * n))
PIECES = st.one_of(
    st.builds(lambda i, t: b'{"jsonrpc":"2.0","id":%s,"result":{"t":"%s"}}' % (i, t), ID, TEXT),
    st.builds(lambda i, t: b'{"result":{"t":"%s"},"jsonrpc":"2.0","id":%s}' % (t, i), ID, TEXT),
    st.builds(lambda i, t: b'{"method":"m","id":%s,"params":{"t":"%s"}}' % (i, t), ID, TEXT),
    st.integers(0, 40).map(lambda n: b'{"id":1,"result":' + b"[" * n + b"]" * n + b"}"),
    TEXT,
    st.just(b"\xef\xbb\xbf{}"),
)
STREAM = st.lists(PIECES, max_size=8).map(lambda lines: b"".join(line + b"\n" for line in lines))


def outcome(chunks):
    reader = LineReader(LIMITS)
    items = [item for chunk in chunks for item in reader.feed(chunk) if item is not None]
    return items, reader.junk, reader.too_long, bool(reader.complaint)


@example(b'{"result":{"t":"' + b"x" * (LIMITS.line_bytes - 24) + b'"},"id":10}\n', [LIMITS.line_bytes])
@example(b'{"id":10,"result":{"t":"' + b"x" * LIMITS.line_bytes + b'"}}\n', [7])
@given(STREAM, st.lists(st.integers(1, 400), max_size=30))
def test_chunks_do_not_matter(data, sizes):
    chunks, at = [], 0
    for size in sizes:
        chunks.append(data[at : at + size])
        at += size
    chunks.append(data[at:])
    assert outcome(filter(None, chunks)) == outcome([data])
    assert outcome(data[at : at + 1] for at in range(len(data))) == outcome([data])
