"""Catalogs, words and numbers at their edges, from the socket to the postings."""

from __future__ import annotations

import json
import math
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent
from toolsearchd.catalog.compile import compile_snapshot
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.builder import Compile, compile_index, empty_index
from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.lexicon import default_lexicon
from toolsearchd.index.scope import Scope
from toolsearchd.limits import Limits
from toolsearchd.live.findability import findability

LIMITS = Limits()


# --- empty, one tool, nothing granted -------------------------------------------------------------


@pytest.fixture(scope="module")
def daemons(tmp_path_factory):
    nothing = DaemonProcess(tmp_path_factory.mktemp("nothing"))
    profiles = {"none": {"servers": []}, "no-tools": {"tools": []}}
    one = DaemonProcess(
        tmp_path_factory.mktemp("one"), servers={"s": zoo("steady", "echo")}, config={"profiles": profiles}
    )
    with nothing, one:
        one.wait_servers("s")
        yield {"nothing": nothing, "one": one}


def answers(daemon, **hello):
    """(assemble, search, describe) of a new session."""
    with agent(daemon, **hello) as wire:
        asked = (
            {"op": "assemble", "context_length": 200_000},
            {"op": "search", "queries": ["echo a text", "zzqqx vvkkj", "🙂"]},
            {"op": "describe", "names": ["mcp__s__echo"]},
        )
        found = [wire.ask(message | {"id": at}) for at, message in enumerate(asked)]
    assert [reply["op"] for reply in found] == ["result"] * 3, found
    return found


@pytest.mark.parametrize(("which", "profile"), [("nothing", None), ("one", "none"), ("one", "no-tools")])
def test_without_tools_all_answers_are_empty_and_valid(daemons, which, profile):
    hello = {} if profile is None else {"profile": profile}
    assembled, searched, described = answers(daemons[which], **hello)
    assert assembled["deferred_count"] == 0
    assert (assembled["tier"], assembled["tools"], assembled["listing"]) == (0, [], "")
    assert searched["total_available"] == 0
    assert searched["tools"] == {}
    assert [(group["matches"], group["near"]) for group in searched["results"]] == [([], [])] * 3
    assert (described["tools"], described["not_found"]) == ({}, ["mcp__s__echo"])
    assert daemons[which].ctl("doctor")[0] == (1 if which == "nothing" else 0)


def test_a_catalog_of_one_tool(daemons):
    assembled, searched, described = answers(daemons["one"])
    assert (assembled["tier"], assembled["deferred_count"]) == (1, 1)
    echo, unknown, wordless = searched["results"]
    assert echo["matches"] == ["mcp__s__echo"]
    for group in (unknown, wordless):
        assert (group["matches"], group["near"]) == ([], [])
        assert group["available_sources"] == [{"name": "s", "tool_count": 1}]
        assert group["hint"]
    assert list(described["tools"]) == ["mcp__s__echo"]


# --- tokens ---------------------------------------------------------------------------------------


def test_counts_without_a_vocabulary_are_said_to_be_estimates(daemons):
    with agent(daemons["one"]) as wire:
        known = wire.ask({"op": "assemble", "id": 1, "encoding": "o200k_base"})
        unknown = wire.ask({"op": "assemble", "id": 2, "encoding": "of_next_year"})
    assert "estimate" not in known
    assert unknown["estimate"] is True
    assert unknown["listing"] == known["listing"]
    assert unknown["listing_tokens"] > 0


# --- poison ---------------------------------------------------------------------------------------


class Stumbling(DefaultAnalyzer):
    def analyse(self, document: IndexDocument) -> Analysis:
        if "poison" in document.description:
            raise RuntimeError("poisoned")
        return super().analyse(document)


async def test_a_tool_that_cannot_be_indexed_is_told():
    raw = [{"name": "good", "description": "good words"}, {"name": "bad", "description": "poison"}]
    definitions = tuple(decode_definition(json.dumps(tool).encode(), LIMITS) for tool in raw)
    source = Source(name="s", definitions=definitions)
    snapshot = compile_snapshot(Snapshot.empty(), [source], {"default": Stumbling()})
    (finding,) = await findability(snapshot, default_lexicon(), LIMITS)
    assert (finding["level"], finding["about"]) == ("error", "s/bad")
    assert "no search finds it" in finding["message"]


# --- scores and counters --------------------------------------------------------------------------

words = st.sampled_from("list show issue mail zone the".split())
texts = st.lists(words, max_size=8).map(" ".join)


@settings(deadline=None)
@given(st.sampled_from(sorted(RANKINGS)), st.lists(texts, min_size=1, max_size=6), texts)
def test_scores_are_numbers_whatever_the_words(ranker, descriptions, query):
    """A word in every document, in none, a single document: no rarity may be negative or no number."""
    documents = [
        IndexDocument(
            key=f"mcp__s__t{at}", name=f"t{at}", server="s", exposed=f"mcp__s__t{at}", description=text
        )
        for at, text in enumerate(descriptions)
    ]
    index = compile_index(make_analyzer(ranker), documents)
    group = (
        RANKINGS[ranker]
        .over(index, index.live, order=range(len(documents)), tool_of=documents.__getitem__)
        .search(query, 10)
    )
    scores = [hit.score for hit in (*group.matches, *group.near)]
    least = -math.inf if ranker == "default" else 0  # a verb of another kind speaks against a tool
    assert all(least < score < math.inf for score in scores)
    for hits in (group.matches, group.near):
        assert sorted(hits, key=lambda hit: (-hit.score, hit.doc)) == list(hits)


def test_huge_lengths_do_not_overflow():
    analyzer, most = make_analyzer("default"), 2**32 - 1
    row = bytes([255] * len(analyzer.fields))
    analyses = [
        (doc, Analysis(f"mcp__s__t{doc}", f"t{doc}", (most,) * len(analyzer.fields), "list", row))
        for doc in range(3)
    ]
    work = Compile(empty_index(analyzer), add=analyses)
    while work.step():
        pass
    scope = Scope(work.index, work.index.live, range(3))
    assert scope.mean_lengths == [float(most)] * len(analyzer.fields)
    group = RANKINGS["default"].over(work.index, work.index.live, order=range(3)).search("list", 5)
    assert all(0 < hit.score < math.inf for hit in (*group.matches, *group.near))


@pytest.mark.parametrize("ranker", sorted(RANKINGS))
def test_a_word_repeated_without_end_is_counted_without_wrapping(ranker):
    once = IndexDocument(key="mcp__s__b", name="b", server="s", exposed="mcp__s__b", description="banana")
    often = IndexDocument(
        key="mcp__s__a", name="a", server="s", exposed="mcp__s__a", description="banana " * 65_537
    )
    index = compile_index(make_analyzer(ranker), [often, once])
    (counts,) = [
        posting.frequencies(len(index.fields)) for term, posting in index.postings.items() if "banana" in term
    ]
    assert counts.max() >= 255
    assert counts.min() >= 0
    group = (
        RANKINGS[ranker]
        .over(index, index.live, order=[0, 1], tool_of=[often, once].__getitem__)
        .search("banana", 5)
    )
    assert all(0 < hit.score < math.inf for hit in (*group.matches, *group.near))


def test_statistics_are_whole_numbers(daemons):
    daemon = daemons["one"]
    daemon.process.send_signal(signal.SIGUSR1)

    def line():
        found = [text for text in daemon.log.read_text().splitlines() if "statistics: " in text]
        return found and json.loads(found[-1].split("statistics: ", 1)[1])

    told = wait_until(line)
    for key in ("pid", "generation", "tools", "memory_bytes", "open_fds"):
        assert type(told[key]) is int, key
        assert told[key] > 0, key
    assert told["servers"] == {"ready": 1}
    for session in daemon.ctl("sessions")[1]["sessions"]:
        assert type(session["searches"]) is int
