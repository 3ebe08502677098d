"""Lists that come in pages: where they end, by whichever limit."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.catalog.model import Definition
from toolsearchd.catalog.pages import Pages
from toolsearchd.limits import Limits
from toolsearchd.upstream.listing import ListingCheck

LIMITS = msgspec.structs.replace(
    Limits(), list_pages=5, list_bytes=20_000, cursor_chars=100, tools_per_server=50, rejected_tools=10
)


def listed(pages):
    """The listing of `(tools, cursor)` pages, and how many of them were asked for."""
    check = ListingCheck(LIMITS)
    for asked, (tools, cursor) in enumerate(pages, 1):
        for _ in check.take(tools):
            pass
        if check.turn(cursor) is None:
            return check.listing(), asked
    raise AssertionError("more pages are wanted than there are")


def tools(*names, **more):
    return [{"name": name, "inputSchema": {}} | more for name in names]


@pytest.mark.parametrize("cursor", [None, True, False, ["a"], {"a": 1}])
def test_a_cursor_that_is_none_ends_the_list(cursor):
    found, asked = listed([(tools("a"), cursor)])
    assert (len(found.definitions), found.truncated, found.cut, asked) == (1, 0, "", 1)


def test_a_circle_ends_without_a_word():
    found, asked = listed([(tools("a"), "1"), (tools("b"), "2"), (tools("c"), "1")])
    assert ([d.name for d in found.definitions], found.cut, asked) == (["a", "b", "c"], "", 3)


@pytest.mark.parametrize(
    ("pages", "said", "asked_for"),
    [
        (((tools(f"t{at}"), str(at)) for at in itertools.count()), "5 pages", 5),
        (((tools(f"t{at}"), f"{at}" * 101) for at in itertools.count()), "cursor", 1),
        (((tools(f"t{at}", description="x" * 9_000), str(at)) for at in itertools.count()), "MiB", 3),
        ((([{"odd": "x" * 9_000}], str(at)) for at in itertools.count()), "MiB", 3),
    ],
)
def test_what_is_too_long_is_cut_and_says_why(pages, said, asked_for):
    found, asked = listed(pages)
    assert said in found.cut
    assert found.truncated >= 1
    assert asked == asked_for


def test_too_many_tools_are_counted():
    found, asked = listed([(tools(*(f"t{at}-{n}" for n in range(40))), str(at)) for at in range(5)])
    assert (len(found.definitions), found.truncated, found.cut, asked) == (50, 30, "", 2)


def test_very_many_bad_tools_are_told_in_few_words():
    bad = [{"name": "x" * 400, "inputSchema": {}}, {"name": ["y" * 400]}, 5] * 15
    found, _ = listed([(bad, None)])
    assert len(found.rejected) == LIMITS.rejected_tools + 1
    assert found.rejected[-1] == "… and 34 more"
    assert max(map(len, found.rejected)) < 500


@given(st.lists(st.integers(0, 9_000), max_size=12))
def test_no_more_is_held_than_the_limit(sizes):
    check = ListingCheck(LIMITS)
    for at, size in enumerate(sizes):
        for _ in check.take(tools(f"t{at}", description="d" * size)):
            pass
    kept: tuple[Definition, ...] = check.listing().definitions
    assert sum(len(d.description) for d in kept) <= LIMITS.list_bytes
    assert len(kept) == len(sizes) or check.listing().truncated > 0


def test_what_is_remembered_of_a_cursor_does_not_grow_with_it():
    limits = msgspec.structs.replace(LIMITS, list_pages=1000, cursor_chars=10**9)
    pages = Pages(limits, 10**9)
    for at in range(20):
        assert pages.turn(f"{at} " + "x" * 1_000_000)
    assert {len(digest) for digest in pages._seen} == {16}
