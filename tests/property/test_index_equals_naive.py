"""The compiled index against the naive one, and what a grant hides: random catalogs, grants and queries."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from tests.property.naive_search import REFERENCE, NaiveDefault, NaiveSecondStage
from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.builder import Compile, compacted, compile_index
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.features import FEATURES
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.postings import Index
from toolsearchd.index.ranker import DefaultSearcher, default_analyzer
from toolsearchd.index.scope import Scope
from toolsearchd.index.searcher import Group

ROUNDS = int(os.environ.get("TOOLSEARCHD_PROPERTY_ROUNDS", "500"))

LEXICON = Lexicon(
    stop_words=default_analyzer().stop_words,
    thesaurus=((("mail",), ("email",), ("electronic", "message")), (("create",), ("make",), ("add",))),
    products=frozenset({"github", "slack", "google drive", "spotify"}),
)
TEXT = """
    create make add delete mail email electronic message issue issues repository time zone timezone calendar
    GitHub github slack drive google the of what k8s list 図書館 検索 Zürich файлы файл
"""
WORDS = TEXT.split()
words = st.sampled_from(WORDS)
phrase = st.lists(words, max_size=6).map(" ".join)
name = st.lists(words, min_size=1, max_size=3).map("_".join)
query = st.lists(
    words | st.sampled_from(["spotify", "repositroy", "calender", "unknown", "mcp", "createIssue", "!?"]),
    max_size=6,
).map(" ".join)


@st.composite
def catalogs(draw: st.DrawFn) -> list[IndexDocument]:
    found = {}
    for _ in range(draw(st.integers(1, 12))):
        server, tool = draw(words), draw(name)
        key = f"mcp__{server}__{tool}"
        found[key] = IndexDocument(
            key=key,
            name=tool,
            server=server,
            exposed=key,
            description=draw(phrase),
            parameters=tuple(draw(st.lists(st.tuples(words, phrase), max_size=2))),
            aliases=tuple(draw(st.lists(words, max_size=1))),
        )
    return list(found.values())


def by_key(documents: Sequence[IndexDocument]) -> list[int]:
    return sorted(range(len(documents)), key=lambda doc: documents[doc].key)


def readable(group: Group, documents: Sequence[IndexDocument]) -> tuple[object, ...]:
    matches = [(documents[hit.doc].key, hit.score) for hit in group.matches]
    near = [(documents[hit.doc].key, hit.score) for hit in group.near]
    return matches, near, group.unknown, group.absent_product


def default_searcher(
    index: Index, documents: Sequence[IndexDocument], mask: BitMap, analyzer: DefaultAnalyzer | None = None
) -> DefaultSearcher:
    live = [doc for doc in by_key(documents) if doc in index.live]
    return DefaultSearcher(Scope(index, mask, live), lexicon=LEXICON, analyzer=analyzer)


WORDS_ALONE = DefaultAnalyzer(tables=False)


@settings(max_examples=ROUNDS, deadline=None)
@given(catalogs(), st.data(), query, st.integers(0, 6))
def test_the_default_ranker_by_words_alone(
    documents: list[IndexDocument], data: st.DataObject, text: str, limit: int
) -> None:
    granted = BitMap(data.draw(st.sets(st.integers(0, len(documents) - 1))))
    searcher = default_searcher(compile_index(WORDS_ALONE, documents), documents, granted, WORDS_ALONE)
    visible = sorted((documents[doc] for doc in granted), key=lambda document: document.key)
    naive = NaiveDefault(WORDS_ALONE, visible, LEXICON, searcher.tuning)
    found = searcher.search(text, limit)
    assert readable(found, documents) == naive.search(text, limit)
    if not any(hit.score == np.inf for hit in found.matches):
        assert searcher.search(f"{text} {text}", limit) == found


@settings(max_examples=ROUNDS, deadline=None)
@given(catalogs(), st.data(), query, st.integers(0, 6))
def test_the_second_stage(documents: list[IndexDocument], data: st.DataObject, text: str, limit: int) -> None:
    granted = BitMap(data.draw(st.sets(st.integers(0, len(documents) - 1))))
    analyzer = default_analyzer()
    searcher = default_searcher(compile_index(analyzer, documents), documents, granted)
    found = searcher.search(text, limit)
    assert len(found.matches) + len(found.near) <= max(0, limit)
    # Asked again, and with every word twice, the answer is the same.
    assert searcher.search(text, limit) == found
    if not any(hit.score == np.inf for hit in found.matches):
        assert searcher.search(f"{text} {text}", limit) == found
    assert searcher.second is not None
    visible = sorted((documents[doc] for doc in granted), key=lambda document: document.key)
    plan = searcher.reader.read(text)
    expected = NaiveSecondStage(analyzer, visible, LEXICON, searcher.tuning).features(plan)
    scores = searcher.scores(plan)
    candidates = searcher.second.candidates(plan, scores)
    positions, features = candidates.positions, candidates.features
    assert positions.tolist() == sorted(expected)
    for position, row in zip(positions.tolist(), features.T.tolist(), strict=True):
        assert dict(zip(FEATURES, row, strict=True)) == pytest.approx(expected[position], abs=1e-5)
    judged = searcher.second.judge(plan, scores)
    ranked = list(zip((-judged.totals).tolist(), judged.positions.tolist(), strict=True))
    assert ranked == sorted(ranked)  # equal ones by public name


@settings(max_examples=ROUNDS, deadline=None)
@given(catalogs(), st.data(), query, st.sampled_from(sorted(REFERENCE)), st.integers(0, 6))
def test_the_reference_rankers(
    documents: list[IndexDocument], data: st.DataObject, text: str, ranker: str, limit: int
) -> None:
    granted = BitMap(data.draw(st.sets(st.integers(0, len(documents) - 1))))
    make, naive = REFERENCE[ranker]
    analyzer = make()
    searcher = RANKINGS[ranker].over(compile_index(analyzer, documents), granted, order=range(len(documents)))
    found = [(documents[hit.doc].exposed, hit.score) for hit in searcher.search(text, limit).matches]
    assert found == naive(analyzer, [documents[doc] for doc in granted]).search(text, limit)


@settings(max_examples=ROUNDS, deadline=None)
@given(catalogs(), st.data(), query)
def test_nothing_shows_of_what_is_not_granted(
    documents: list[IndexDocument], data: st.DataObject, text: str
) -> None:
    """Equal to a catalog that holds only the granted tools: lists, scores, unknown words, absent products."""
    granted = sorted(data.draw(st.sets(st.integers(0, len(documents) - 1))))
    visible = [documents[doc] for doc in granted]
    analyzer = default_analyzer()
    masked = default_searcher(compile_index(analyzer, documents), documents, BitMap(granted))
    alone = default_searcher(compile_index(analyzer, visible), visible, BitMap(range(len(visible))))
    assert readable(masked.search(text, 5), documents) == readable(alone.search(text, 5), visible)


@settings(max_examples=ROUNDS // 5, deadline=None)
@given(st.lists(catalogs(), min_size=2, max_size=4), st.data(), query)
def test_changes_one_by_one_equal_a_compile_from_scratch(
    batches: list[list[IndexDocument]], data: st.DataObject, text: str
) -> None:
    analyzer = make_analyzer("default")
    index = Index.empty(analyzer.fields, analyzer.fingerprint)
    documents: list[IndexDocument] = []
    for batch in batches:
        present = {documents[doc].key for doc in index.live}
        new = [document for document in batch if document.key not in present]
        removed = data.draw(st.sets(st.sampled_from(sorted(index.live)))) if index.live else set()
        add = [(len(documents) + at, analyzer.analyse(document)) for at, document in enumerate(new)]
        documents += new
        work = Compile(index, remove=removed, add=add)
        while work.step():
            pass
        index = work.index
    left = [documents[doc] for doc in index.live]
    fresh = default_searcher(compile_index(analyzer, left), left, BitMap(range(len(left))))
    grown = default_searcher(index, documents, index.live)
    expected = readable(fresh.search(text, 5), left)
    assert readable(grown.search(text, 5), documents) == expected
    # And again when the dead ones are swept out.
    renumbered = np.full(len(documents), -1, np.int32)
    renumbered[list(index.live)] = np.arange(len(left), dtype=np.int32)
    sweep = compacted(index, renumbered)
    while True:
        try:
            next(sweep)
        except StopIteration as done:
            swept: Index = done.value
            break
    assert readable(default_searcher(swept, left, swept.live).search(text, 5), left) == expected
