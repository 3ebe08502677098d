"""What can cross the wires, and what stands for the rest."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolsearchd.values import MAX_DEPTH, find_fault, representable, shown

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=6)
    | st.binary(max_size=4)
    | st.builds(lambda: 10**5000)  # of which `repr` fails
    | st.builds(msgspec.msgpack.Ext, st.integers(-5, 100), st.binary(max_size=4))
)
KEYS = LEAVES.filter(lambda key: not isinstance(key, msgspec.msgpack.Ext)) | st.tuples(st.integers())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def deep(levels):
    value = 1
    for at in range(levels):
        value = [value] if at % 2 else {"x": value}
    return value


@pytest.mark.parametrize(
    ("value", "path", "what", "stands"),
    [
        ({"a": [1, 2**70]}, ("a", 1), "64 bits", {"a": [1, str(2**70)]}),
        ({"a": -(2**63) - 1}, ("a",), "64 bits", {"a": str(-(2**63) - 1)}),
        ({"a": "x\ud83d"}, ("a",), "surrogate", {"a": "x\ufffd"}),
        ({"\ud800": 1}, (), "surrogate", {"\ufffd": 1}),
        ({1: 2}, (), "no text: 1", {"1": 2}),
        ({"a": float("nan")}, ("a",), "nan", {"a": None}),
        ([float("-inf")], (0,), "-inf", [None]),
        ({"a": b"xy"}, ("a",), "no JSON value", {"a": "b'xy'"}),
        ("\udfff", (), "surrogate", "\ufffd"),
    ],
)
def test_faults(value, path, what, stands):
    found, words = find_fault(value)
    assert found == path
    assert what in words
    assert representable(value) == stands


def test_two_keys_never_become_one():
    assert representable({1: "a", "1": "b", "1 (2)": "c"}) == {"1": "a", "1 (2)": "b", "1 (2) (2)": "c"}


@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1, 5000, 100_000])
def test_nesting(levels):
    value = deep(levels)
    assert (find_fault(value) is None) == (levels <= MAX_DEPTH)
    msgspec.msgpack.encode(representable(value))


def test_what_is_shown_is_short():
    for value in (-(10**100_000), "x" * 500, b"x" * 500, ["x"] * 500, deep(5000), "\ud800" * 50):
        text = shown(value)
        assert len(text) <= 300
        text.encode()
    assert shown(10**4000) == str(10**4000)


@given(VALUES)
@example({"": {"": []}})
def test_what_stands_for_a_value_can_cross(value):
    stands = representable(value)
    assert find_fault(stands) is None
    msgspec.msgpack.encode(stands)
    msgspec.json.encode(stands)
    if find_fault(value) is None:
        assert stands == value
