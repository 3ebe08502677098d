"""Values that a peer can give and that encoders refuse or that nobody expects: for the fuzzers."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

HUGE = [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, 10**400, 10**4200]
HALVES = ["\ud800", "a\udfffb", "\ud83d", "\ud83d\ude00", "\x00", "\x1b[31m", "x" * 3000]


def nested(levels, inner=1, of="list"):
    for at in range(levels):
        inner = [inner] if of == "list" or (of == "both" and at % 2) else {"a": inner}
    return inner


DEEP = [nested(levels, of=of) for levels in (130, 210, 260) for of in ("list", "map")]

_numbers = st.integers() | st.sampled_from(HUGE) | st.floats()
_texts = st.text(alphabet=st.characters(), max_size=8) | st.sampled_from(HALVES)
# -1 is a timestamp: a decoder makes a date of it or refuses it, never an `Ext`.
_exts = st.builds(
    msgspec.msgpack.Ext, st.integers(-128, 127).filter(lambda code: code != -1), st.binary(max_size=4)
)
_scalars = st.none() | st.booleans() | _numbers | _texts
_keys = _texts | st.integers(-3, 3) | st.sampled_from([2**70, None, True, 1.5, b"k", (1, 2)])


def json_values(max_leaves=8):
    """What a JSON text can make of itself in Python: halves of pairs, numbers without end, NaN."""
    return st.recursive(
        _scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
        max_leaves=max_leaves,
    ) | st.sampled_from(DEEP)


def odd_values(max_leaves=8):
    """What MessagePack adds to that: binary, extensions, keys of any kind."""
    return st.recursive(
        _scalars | st.binary(max_size=4) | _exts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
        max_leaves=max_leaves,
    ) | st.sampled_from(DEEP)


def maps(values, keys=None):
    return st.dictionaries(_keys if keys is None else keys, values, max_size=3)
