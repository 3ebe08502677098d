"""A large compile leaves the loop to others: what waits is served between its steps."""

import msgspec
import trio

from tests.bench.catalog import perturbed_tools
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import RANKINGS
from toolsearchd.limits import Limits
from toolsearchd.live.cataloger import Cataloger
from toolsearchd.live.worker import Worker

TOOLS = 5_000


def catalogs():
    tools, _ = perturbed_tools(TOOLS)
    definitions = [decode_definition(msgspec.json.encode(tool), Limits()) for tool in tools]
    whole = Source(name="big", definitions=tuple(definitions))
    return whole, msgspec.structs.replace(whole, definitions=whole.definitions[30:])


async def turns_while_compiling(cataloger, source, held):
    """How often another task had the loop until the catalog holds the source's tools."""
    held[:] = [source]
    turns = 0
    cataloger.mark_dirty()
    while len(cataloger.snapshot) != len(source.definitions):
        await trio.lowlevel.checkpoint()
        turns += 1
    return turns


def cataloger_of(held):
    """A cataloger of the sources in the list `held`, which compiles all of them in the daemon itself."""
    limits = msgspec.structs.replace(Limits(), compile_inline_tools=TOOLS)
    return Cataloger(
        sources=lambda: tuple(held),
        options=dict,
        worker=Worker(limits.worker_idle_s, {}),
        limits=limits,
        snapshot=Snapshot.empty(),
    )


async def test_others_have_turns_all_through_a_compile(nursery):
    whole, less = catalogs()
    held = []
    cataloger = cataloger_of(held)
    await nursery.start(cataloger.run)
    # A slice is 2 ms and a tool takes a tenth of one: without slices there would be a handful of turns.
    assert await turns_while_compiling(cataloger, whole, held) > 50
    assert await turns_while_compiling(cataloger, less, held) > 2


async def test_a_search_is_answered_from_the_old_catalog_while_the_new_one_compiles(nursery):
    whole, less = catalogs()
    held = [less]
    cataloger = cataloger_of(held)
    await nursery.start(cataloger.run)
    old = cataloger.snapshot
    held[:] = [whole]
    cataloger.mark_dirty()
    answered = 0
    while cataloger.snapshot is old:
        assert old.searcher(RANKINGS["default"], old.live).search("create issue", 5).matches
        answered += 1
        await trio.lowlevel.checkpoint()
    assert answered > 2
    assert len(cataloger.snapshot) == TOOLS
