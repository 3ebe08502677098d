"""A session's own tools on top of the catalog: seen by their owner alone, over the newest, then gone."""

import trio

from tests.unit.disclosure_catalog import GITHUB, SLACK, snapshot, source
from toolsearchd.dialects.registry import RANKINGS
from toolsearchd.limits import Limits
from toolsearchd.live.overlays import Overlays

WORDS = {"weather": "Tell the weather", "stars": "Draw the sky"}
_OWN = source("own", WORDS).definitions
OWN, FEWER = {"plugin": _OWN}, {"plugin": _OWN[:1]}


class Base:
    def __init__(self):
        self.snapshot = snapshot(GITHUB)
        self.laid = []
        self.overlays = Overlays(
            lambda: self.snapshot, Limits(compile_slice_s=1e-9)
        )  # breathes at every step
        self.overlays.on_laid = self.laid.append

    def names(self, owner):
        return [tool.public_name for tool in self.overlays.snapshot(owner).iter_tools()]

    def found(self, owner, query):
        seen = self.overlays.snapshot(owner)
        group = seen.searcher(RANKINGS["default"], seen.live).search(query, 5)
        return [seen.tools[hit.doc].public_name for hit in group.matches]


async def test_an_owner_sees_its_tools_and_nobody_else_does():
    base = Base()
    before = base.snapshot
    await base.overlays.lay("s1", OWN)
    assert base.names("s1")[-2:] == ["weather", "stars"]
    assert base.found("s1", "tell weather") == ["weather"]
    assert base.overlays.snapshot("s2") is base.snapshot is before
    assert base.found("s2", "tell weather") == []
    assert base.laid == ["s1"]


async def test_an_overlay_is_what_a_compile_of_both_would_be():
    base = Base()
    await base.overlays.lay("s1", OWN)
    whole = snapshot(
        GITHUB, source("plugin", {"weather": "Tell the weather", "stars": "Draw the sky"}, kind="plugin")
    )
    seen = base.overlays.snapshot("s1")
    for query in ("issue", "draw the sky", "weather repository", "merge"):
        one = seen.searcher(RANKINGS["default"], seen.live).search(query, 9)
        other = whole.searcher(RANKINGS["default"], whole.live).search(query, 9)
        assert [(seen.tools[hit.doc], hit.score) for hit in one.matches] == [
            (whole.tools[hit.doc], hit.score) for hit in other.matches
        ]


async def test_a_newer_catalog_is_laid_under_it_also_when_it_comes_meanwhile():
    base = Base()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(base.overlays.lay, "s1", OWN)
        await trio.lowlevel.checkpoint()
        base.snapshot = snapshot(GITHUB, SLACK)
    assert len(base.names("s1")) == len(base.snapshot) + 2
    base.snapshot = snapshot(SLACK)
    assert len(base.names("s1")) > len(base.snapshot) + 2  # the last one, until it is renewed
    await base.overlays.renew_all()
    assert base.names("s1")[-2:] == ["weather", "stars"]
    assert len(base.names("s1")) == len(base.snapshot) + 2


async def test_a_lift_during_a_renewal_is_not_undone():
    base = Base()
    await base.overlays.lay("s1", OWN)
    base.snapshot = snapshot(GITHUB, SLACK)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(base.overlays.renew, "s1")
        await trio.lowlevel.checkpoint()
        base.overlays.lift("s1")
    assert base.overlays.snapshot("s1") is base.snapshot


async def test_no_tools_are_no_overlay():
    base = Base()
    await base.overlays.lay("s1", OWN)
    await base.overlays.lay("s1", FEWER)
    assert base.names("s1")[-1:] == ["weather"]
    await base.overlays.lay("s1", {})
    assert base.overlays.snapshot("s1") is base.snapshot


async def test_a_server_of_the_same_name_stays_another_source():
    base = Base()
    base.snapshot = snapshot(source("plugin", {"weather": "A server's"}))
    await base.overlays.lay("s1", FEWER)
    assert base.names("s1") == ["mcp__plugin__weather", "weather"]
