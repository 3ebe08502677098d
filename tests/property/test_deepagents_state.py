"""Concurrent searches of one thread: their discovered sets join to the same set, whatever the order."""

from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.dialects.deepagents.dialect import DISCOVERED, is_eligible_name, merged

names = st.text(max_size=130) | st.integers(0, 200).map(lambda n: f"tool_{n:03}")
states = st.lists(names, max_size=80)


@given(states, states, states)
def test_joining_is_associative_commutative_and_idempotent(a, b, c):
    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), c) == merged(a, merged(b, c)) == merged(a, b, c)
    assert merged(merged(a)) == merged(a, a) == merged(a)


@given(states)
def test_a_joined_set_is_within_its_bounds(a):
    joined = merged(a)
    assert len(joined) <= DISCOVERED
    assert list(joined) == sorted(set(joined))
    assert all(map(is_eligible_name, joined))
