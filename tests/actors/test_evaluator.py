"""Views are made once for all who want them; a cancelled maker leaves nobody waiting; estimates say so."""

import msgspec
import pytest
import trio
import trio.testing

from tests.unit.disclosure_catalog import GITHUB, SLACK, exact
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.settings import Settings
from toolsearchd.disclosure.tokens_known import KnownCounts
from toolsearchd.index.lexicon import default_lexicon
from toolsearchd.limits import Limits
from toolsearchd.live.cataloger import Cataloger
from toolsearchd.live.evaluator import Evaluator, ViewKey
from toolsearchd.live.worker import WorkerError

KEY = ViewKey(grant=Grant(), dialect="default", context_length=200_000)


class Counts:
    """Counts that take a second to come; `asked` are the texts that nobody had counted before."""

    def __init__(self):
        self.asked = []
        self.fails = False
        self._known = KnownCounts("test")

    async def known(self, _encoding, texts, _owner=""):
        wanted = self._known.unknown(texts)
        self.asked += wanted
        if wanted:
            await trio.sleep(1)
            if self.fails:
                raise WorkerError("the worker process ended under a request")
        self._known.learn(wanted, [exact(text) for text in wanted])
        return self._known


@pytest.fixture
def counts():
    return Counts()


@pytest.fixture
def settings():
    """The last one is in force."""
    return [Settings()]


@pytest.fixture
async def evaluator(counts, settings):
    cataloger = Cataloger(
        sources=lambda: (GITHUB, SLACK),
        options=dict,
        worker=None,
        limits=Limits(),
        snapshot=Snapshot.empty(),
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(cataloger.run)
        yield Evaluator(
            cataloger=cataloger,
            settings=lambda: settings[-1],
            lexicon=default_lexicon,
            counts=counts,
            limits=Limits(),
        )
        nursery.cancel_scope.cancel()


async def test_many_sessions_cost_one_making(evaluator, counts, autojump_clock):
    found = []

    async def ask():
        found.append(await evaluator.assembled(KEY))

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(64):
            nursery.start_soon(ask)
    assert len(found) == 64
    assert all(one is found[0] for one in found)
    assert len(counts.asked) == len(set(counts.asked))
    assert trio.current_time() - began == 2  # the parts, then the chosen text as a whole


async def test_who_waits_takes_over_from_one_that_is_cancelled(evaluator, autojump_clock):
    found = []

    async def ask():
        found.append(await evaluator.assembled(KEY))

    async with trio.open_nursery() as nursery:
        first = trio.CancelScope()

        async def cancelled():
            with first:
                await ask()

        nursery.start_soon(cancelled)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        first.cancel()
    assert len(found) == 1
    assert found[0].fields["listing_form"] == "full"


async def test_without_the_worker_estimates_serve_and_say_so(evaluator, counts, autojump_clock):
    counts.fails = True
    guessed = await evaluator.assembled(KEY)
    assert guessed.fields["estimate"] is True
    assert guessed.fields["listing_form"] == "full"
    counts.fails = False
    evaluator.changed()
    counted = await evaluator.assembled(KEY)
    assert "estimate" not in counted.fields
    assert exact(counted.fields["listing"]) == counted.fields["listing_tokens"]


async def test_settings_in_force_are_those_of_the_newest_config(evaluator, settings):
    assert evaluator.tool_search(KEY).listing_max_tokens == 4000
    tool_search = msgspec.structs.replace(settings[0].tool_search, listing_max_tokens=300)
    settings.append(msgspec.structs.replace(settings[0], tool_search=tool_search))
    assert evaluator.tool_search(KEY).listing_max_tokens == 300
