"""A listing and its entry's filters: what is kept back is kept, and when they were edited does not matter."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.naming import keeps
from toolsearchd.config.model import ServerSpec
from toolsearchd.limits import Limits
from toolsearchd.upstream.fleet import Fleet
from toolsearchd.upstream.listing import ListingCheck, Sieve, listed_by, sift

LIMITS = Limits()
names = st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=8)
patterns = st.lists(st.text("abc*?", min_size=1, max_size=3), max_size=3).map(tuple)
filters = st.tuples(st.none() | patterns, patterns)


def definitions(tools):
    texts = [msgspec.json.encode({"name": name, "inputSchema": {"type": "object"}}) for name in tools]
    return tuple(decode_definition(text, LIMITS) for text in texts)


def spec(include=None, exclude=(), **more):
    return ServerSpec(name="s", transport="stdio", digest="d", include=include, exclude=exclude, **more)


def named(found):
    return [definition.name for definition in found]


@given(names, filters)
def test_what_is_let_through_and_what_is_kept_back_are_the_whole_list(tools, filter_):
    whole = definitions(tools)
    kept, withheld = sift(whole, spec(*filter_))
    assert named(kept) == [tool for tool in tools if keeps(tool, *filter_)]
    assert named(listed_by(Source(name="s", definitions=kept, withheld=withheld))) == tools
    assert (kept is whole) == (not withheld)


@given(names, st.lists(filters, max_size=5))
def test_only_the_newest_filter_counts(tools, edits):
    whole, sieve = definitions(tools), Sieve()
    for filter_ in edits:
        sifted = sieve.sift(whole, spec(*filter_))
        assert sifted == sift(whole, spec(*filter_))
        assert sieve.sift(whole, spec(*filter_)).kept is sifted.kept
    assert sieve.sift(whole, spec()).kept is whole


@given(names, filters, st.booleans())
def test_a_servers_entry_lets_through_what_its_tools_are(tools, filter_, enabled):
    fleet = Fleet(
        limits=LIMITS,
        environ={},
        passed=tuple,
        publish=lambda: None,
        known=[Source(name="s", spec_digest="d", definitions=definitions(tools))],
    )
    assert not any(fleet.offers("s", tool) for tool in tools)
    fleet.apply([spec(*filter_, enabled=enabled)])
    (source,) = fleet.sources()
    assert named(source.definitions) == [tool for tool in tools if fleet.offers("s", tool)]
    fleet.apply([spec()])
    assert named(fleet.sources()[0].definitions) == tools
    fleet.apply([])
    assert not any(fleet.offers("s", tool) for tool in tools)


def test_a_list_over_the_limit_is_counted_whatever_the_filters_are():
    check = ListingCheck(msgspec.structs.replace(LIMITS, tools_per_server=3))
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("a", "a", "b", "c", "d")]
    for _ in check.take(tools):
        pass
    listing = check.listing()
    assert named(listing.definitions) == ["a", "b"]
    assert listing.truncated == 2
    assert listing.rejected == ("a: the name stands twice; the first counts",)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"execution": {"taskSupport": "required"}}, "task augmentation"),
        ({"execution": {"taskSupport": "optional"}}, ""),
        ({"execution": "odd"}, ""),
        ({"_meta": {"ui": {"visibility": ["app"]}}}, "own app"),
        ({"_meta": {"ui": {"visibility": "app"}}}, "own app"),
        ({"_meta": {"ui": {"visibility": ["app", "model"]}}}, ""),
        ({"_meta": {"ui": {"resourceUri": "ui://x"}}}, ""),
        ({"_meta": {"ui": None}}, ""),
    ],
)
def test_tools_that_are_not_for_models_are_not_offered(more, words):
    check = ListingCheck(LIMITS)
    list(check.take([{"name": "t", "inputSchema": {"type": "object"}, **more}]))
    listing = check.listing()
    assert named(listing.definitions) == ([] if words else ["t"])
    assert [words in line for line in listing.not_offered] == ([True] if words else [])
    assert listing.rejected == ()
