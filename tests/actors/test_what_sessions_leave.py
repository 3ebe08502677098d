"""What is made for sessions goes with them, or is bounded: counted in the tables that hold it."""

import gc
import random

import msgspec
import pytest
import trio

from tests.bench.own_tools import fresh_tools
from tests.unit.disclosure_catalog import GITHUB, SLACK
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.settings import Settings
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.disclosure.listing_steps import _forms
from toolsearchd.index.lexicon import default_lexicon
from toolsearchd.index.recent import Cache
from toolsearchd.limits import Limits
from toolsearchd.live.cataloger import Cataloger
from toolsearchd.live.evaluator import Evaluator, ViewKey
from toolsearchd.live.token_counts import TokenCounts

KEY = ViewKey(grant=Grant(), dialect="default", context_length=200_000)
LIMITS = msgspec.structs.replace(Limits(), assembled_bytes=200_000, kept_views=5)


class Worker:
    """Counts characters at once."""

    async def ask(self, request, _type):
        await trio.lowlevel.checkpoint()
        return [len(text) for text in request.texts]


@pytest.fixture
async def cataloger():
    made = Cataloger(
        sources=lambda: (GITHUB, SLACK), options=dict, worker=None, limits=LIMITS, snapshot=Snapshot.empty()
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(made.run)
        yield made
        nursery.cancel_scope.cancel()


@pytest.fixture
def evaluator(cataloger, tmp_path):
    return Evaluator(
        cataloger=cataloger,
        settings=Settings,
        lexicon=default_lexicon,
        counts=TokenCounts(worker=Worker(), state_dir=tmp_path),
        limits=LIMITS,
    )


def own_tools(chance, number):
    talk = DIALECTS["default"].interpreter()
    return talk.sort_own(fresh_tools(chance, number), defer=(), taken=(), limits=LIMITS).deferred


async def visit(evaluator, chance, number):
    owner = f"s{number}"
    toolsets = own_tools(chance, number)
    await evaluator.lay(owner, toolsets)
    (definitions,) = toolsets.values()
    key = msgspec.structs.replace(KEY, owner=owner)
    await evaluator.prepare(key)
    assembled = await evaluator.assembled(key)
    assert definitions[0].name in assembled.fields["listing"]
    view = evaluator.view(key)
    found = view.search({"queries": [definitions[0].description]})
    assert definitions[0].name in found["results"][0]["matches"]
    assert definitions[0].name in view.describe({"names": [definitions[0].name]})["tools"]
    evaluator.lift(owner)


def held(cataloger, evaluator):
    """The size of each table in which a session could leave something."""
    gc.collect()
    index, analyzer = cataloger.snapshot.indexes["default"], cataloger.snapshot.analyzers["default"]
    index.spellings.near("issue", index.postings)
    texts, counts = evaluator._texts, evaluator._counts
    return {
        "views": len(evaluator._views),
        "listings": len(list(evaluator._assembled)),
        "in use": len(evaluator._in_use),
        "own texts": len(evaluator._own_texts),
        "own counts": len(counts._own),
        "overlays": len(evaluator._overlays._of),
        "counts": sum(map(len, counts._counts.values())),
        "texts": [len(table) for table in (texts._short, texts._found, texts._described, texts._listed)],
        "forms": len(_forms),
        "chains": sum(len(forms._chains) for forms in _forms.values()),
        "spellings": sum(map(len, index.spellings._terms.values())),
        "runs": len(analyzer._runs) + len(analyzer._whole_runs),
    }


async def test_own_tools_leave_nothing(cataloger, evaluator):
    chance = random.Random(3)
    await evaluator.assembled(KEY)
    for number in range(3):
        await visit(evaluator, chance, number)
    before = held(cataloger, evaluator)
    for number in range(3, 30):
        await visit(evaluator, chance, number)
    assert held(cataloger, evaluator) == before


async def test_the_owners_analyzers_keep_few_words(evaluator):
    chance = random.Random(4)
    for number in range(12):
        await visit(evaluator, chance, number)
    (analyzer,) = evaluator._overlays._analyzers.values()
    assert 0 < len(analyzer._runs) <= analyzer.kept_words < 10_000
    assert len(analyzer._stems) <= analyzer.kept_words


async def test_listings_for_ever_new_context_lengths_are_kept_by_bytes(evaluator):
    for length in range(10_000, 10_000 + 300):
        key = msgspec.structs.replace(KEY, context_length=length)
        found = await evaluator.assembled(key)
        assert (await evaluator.assembled(key)) is found
    assert evaluator._assembled.nbytes <= LIMITS.assembled_bytes
    assert 3 < len(list(evaluator._assembled)) < 100
    assert len(evaluator._in_use) <= 256


async def test_views_for_ever_new_places_are_few(evaluator):
    for number in range(50):
        evaluator.view(msgspec.structs.replace(KEY, grant=Grant(projects=(f"/p/{number}",))))
        first = evaluator.view(KEY)
    assert len(evaluator._views) == LIMITS.kept_views
    assert evaluator.view(KEY) is first  # what is used stays


def test_a_cache_counts_a_key_once():
    class Item:
        nbytes = 10

    cache = Cache(45)
    for _ in range(20):
        cache.put("same", Item())
    assert cache.nbytes == 10
    for key in "abcdef":
        cache.put(key, Item())
    assert (list(cache), cache.nbytes) == (list("cdef"), 40)
    cache.drop("cx")
    assert (list(cache), cache.nbytes) == (list("def"), 30)
    cache.clear()
    assert (list(cache), cache.nbytes) == ([], 0)
