"""What the second stage knows of a candidate: a few numbers, each of which explains itself.

All of it is of the query, the candidate's sketch and the scope's own counts; most are shares from 0 to 1.
Cosines are of whole numbers, so that equal tools have equal features wherever they stand.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.query import QueryPlan
from toolsearchd.index.scope import Positions, Scope, Scores
from toolsearchd.index.sketch import (
    ALIAS_SLOTS,
    LINE_SLOTS,
    NAME_SLOTS,
    WORDS,
    Heads,
    heads_of,
    word_hash,
)
from toolsearchd.index.vectors import Cosines

FEATURES = (
    "score",  # of the first stage, over the best one's
    "coverage",  # share of the query's idf that the tool carries
    "name",  # share of its name's and server's words that the query says; or of its aliases'
    "line",  # the same of its first sentence
    "adjacent",  # share of the query's neighbouring words that are neighbours there
    "other_verb",  # 1: its verb is of another kind than the query's
    "same_verb",  # 1: of the same kind
    "rarest",  # 1: it carries the query's rarest known word
    "cosine",  # of the query's vector and its own
    "server",  # of the query's vector and its server's, the sum of its tools'
    "unknown",  # share of the query's idf in words that no tool carries
    "product",  # 1: the query names a product that no tool carries, not as a value
    "product_place",  # 1: and begins with it, or works `on` or `in` it
    "product_rest",  # `coverage` where it does, of the words that some tool carries; else 0
    "wordless",  # 1: no word of the query has a vector, and both cosines are 0
    "meaning",  # cosine by the sentence model; 0 where the answer is made without
)
Features = npt.NDArray[np.float64]

KIN = 0.6  # what a verb of the same kind is worth of one that no tool carries; as a partner of the thesaurus

_PARTS = (NAME_SLOTS.start, LINE_SLOTS.start, ALIAS_SLOTS.start)  # where each run of slots begins
_ONES = np.ones(WORDS - 1, np.int8)
_NUMBERS = np.arange(1, 1 << 10)


class FeatureReader:
    """One scope's."""

    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer) -> None:
        self._scope = scope
        self._analyzer = analyzer
        self._columns = np.zeros(scope.size, np.intp)  # from 1; all 0 between two queries

    @cached_property
    def _heads(self) -> tuple[Heads, npt.NDArray[np.uint8], Features]:
        """By position: words, the verb's kind, and how many words each part has, 1 at least."""
        heads = heads_of(self._scope.index.sketches[self._scope.docs])
        words = np.ascontiguousarray(heads[:, 1:])
        counts = np.add.reduceat(words != 0, _PARTS, axis=1, dtype=np.float64)
        return words, heads[:, 0].astype(np.uint8), np.maximum(counts, 1)

    def of(self, plan: QueryPlan, scores: Scores, candidates: Positions, cosines: Cosines | None) -> Features:
        """A column a candidate, rows as in `FEATURES`. `cosines`: None without a vector of the query.

        `meaning` is left 0.
        """
        found = np.zeros((len(FEATURES), len(candidates)))
        score, coverage, name, line, adjacent, other_verb, same_verb, rarest, *rest = found
        cosine, server, unknown, product, product_place, product_rest, wordless, _ = rest
        best = float(scores.max())
        if best > 0:
            np.divide(scores.take(candidates), best, out=score)
        total = max(plan.asked_idf, 1e-9)
        np.divide(self._carried(plan, candidates, rarest), total, out=coverage)
        words, kinds, counts = self._heads
        verb = self._analyzer.verb([stems[0] for stems in plan.stems])
        said, pairs = _said(plan, words.take(candidates, axis=0), self._kin(plan))
        shares = np.add.reduceat(said, _PARTS, axis=1) / counts.take(candidates, axis=0)
        np.maximum(shares[:, 0], shares[:, 2], out=name)
        line[:] = shares[:, 1]
        if len(plan.concepts) > 1:
            np.minimum(pairs / (len(plan.concepts) - 1), 1, out=adjacent)
        if verb:
            kind = kinds.take(candidates)
            np.equal(kind, verb, out=same_verb)
            np.subtract(kind != 0, same_verb, out=other_verb)
        if cosines is None:
            wordless[:] = 1
        else:
            cosine[:], server[:] = cosines
        unknown[:] = missing = plan.missing_idf / total
        if plan.subject is not None:
            product[:] = 1
            product_place[:] = plan.is_place
            np.divide(coverage, max(1 - missing, 1e-9), out=product_rest)
        return found

    def _kin(self, plan: QueryPlan) -> tuple[int, tuple[str, ...]]:
        """Which concept is the query's verb, and the verbs of its kind: none where some tool carries it.

        "Book a meeting" says half of `create_meeting` where nothing here is booked.
        """
        for number, (stems, concept) in enumerate(zip(plan.stems, plan.concepts, strict=True)):
            if kind := self._analyzer.verb(stems[:1]):
                return number, () if concept.stem_df else self._analyzer.verbs_of[kind]
        return 0, ()

    def _carried(self, plan: QueryPlan, candidates: Positions, rarest: Features) -> Features:
        """The idf of the query's words that each candidate carries. `rarest`: gets 1 where the rarest known
        one is."""
        count, places = len(candidates), plan.added.places
        self._columns[candidates] = _NUMBERS[:count]
        columns = self._columns.take(places)
        self._columns[candidates] = 0
        starts = [0, *plan.ends]
        idf = np.empty(len(places))
        is_here = np.zeros(count + 1)
        for number, concept in enumerate(plan.concepts):
            idf[starts[number] : starts[number + 1]] = concept.idf
            if plan.gate is not None and concept is plan.gate[1]:
                is_here[columns[starts[number] : starts[number + 1]]] = 1
        rarest[:] = is_here[1:]
        carried = np.bincount(columns, idf, count + 1).astype(np.float64, copy=False)[1:]
        for concept in plan.concepts:
            if concept.sum.dense is not None:
                has_it = concept.sum.dense.take(candidates) > 0
                carried += concept.idf * has_it
                if plan.gate is not None and concept is plan.gate[1]:
                    rarest[:] = has_it
        return carried


def _said(
    plan: QueryPlan, words: Heads, kin: tuple[int, tuple[str, ...]]
) -> tuple[Features, npt.NDArray[np.int8]]:
    """How far the query says each word of some heads, and in each head how many neighbours are so in both.

    `kin`: a concept's number, and verbs that stand for it beside its own words.
    """
    said: dict[int, tuple[float, int]] = {}
    for number, concept in enumerate(plan.concepts, 2):  # 0 is no word: it is next to none
        for hashed, weight in concept.stands:
            before = said.get(hashed)
            if before is None or weight > before[0]:
                said[hashed] = weight, number
    verb, others = kin
    for hashed in map(word_hash, others):
        said.setdefault(hashed, (KIN, verb + 2))
    if not said:
        return np.zeros(words.shape), np.zeros(len(words), np.int8)
    ordered = sorted(said)
    hashes = np.array([*ordered, 0], np.uint32)  # 0 is no word's hash
    places = hashes[:-1].searchsorted(words)
    places[hashes.take(places) != words] = len(ordered)
    worth, numbers = zip(*[said[hashed] for hashed in ordered], (0.0, 0), strict=True)
    which = np.array(numbers, np.int8).take(places)
    pairs = which[:, 1:] - which[:, :-1] == 1
    return np.array(worth).take(places), pairs.view(np.int8) @ _ONES
