"""What the second stage knows of a candidate: a few numbers, each of which explains itself.

All of it is of the query, the candidate's sketch and the scope's own counts; most are shares from 0 to 1.
Cosines are of whole numbers, so that equal tools have equal features wherever they stand.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.query import QueryPlan
from toolsearchd.index.scope import Positions, Scope, Scores
from toolsearchd.index.sketch import ALIAS_SLOTS, LINE_SLOTS, NAME_SLOTS, Heads, heads_of, word_hash
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
    "product",  # 1: the query names a product that no tool carries
    "product_rest",  # `coverage` where it does, of the words that some tool carries; else 0
    "wordless",  # 1: no word of the query has a vector, and both cosines are 0
)
Features = npt.NDArray[np.float64]


class FeatureReader:
    """One scope's."""

    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer) -> None:
        self._scope = scope
        self._analyzer = analyzer
        self._slots = np.full(scope.size, -1, np.int32)  # all -1 between two queries

    def of(self, plan: QueryPlan, scores: Scores, candidates: Positions, cosines: Cosines | None) -> Features:
        """A row a candidate, columns as in `FEATURES`. `cosines`: None without a vector of the query."""
        count, words = len(candidates), len(plan.concepts)
        found = np.zeros((len(FEATURES), count))
        best = float(scores.max())
        if best > 0:
            found[0] = scores[candidates] / best
        carried = self._carried(plan, candidates)
        total = max(plan.total_idf, 1e-9)
        found[1] = coverage = (carried * [concept.idf for concept in plan.concepts]).sum(axis=1) / total
        heads = heads_of(self._scope.index.sketches[self._scope.docs[candidates]])
        words_of = heads[:, 1:]
        said, which = _said(plan, words_of)
        there = words_of != 0
        names, aliases, found[3] = [
            said[:, slots].sum(axis=1) / np.maximum(there[:, slots].sum(axis=1), 1)
            for slots in (NAME_SLOTS, ALIAS_SLOTS, LINE_SLOTS)
        ]
        found[2] = np.maximum(names, aliases)
        if words > 1:
            pairs = (which[:, 1:] == which[:, :-1] + 1) & (which[:, :-1] >= 0)
            found[4] = np.minimum(pairs.sum(axis=1) / (words - 1), 1)
        verb = self._analyzer.verb([stems[0] for stems in plan.stems])
        if verb:
            kinds = heads[:, 0]
            found[5] = (kinds != verb) & (kinds != 0)
            found[6] = kinds == verb
        if plan.gate is not None:
            found[7] = carried[:, plan.words.index(plan.gate[0])]
        if cosines is None:
            found[13] = 1
        else:
            found[8] = cosines.tools
            found[9] = cosines.servers
        found[10] = unknown = sum([concept.idf for concept in plan.concepts if not concept.df]) / total
        if plan.subject is not None:
            found[11] = 1
            found[12] = coverage / max(1 - unknown, 1e-9)
        return found.T

    def _carried(self, plan: QueryPlan, candidates: Positions) -> npt.NDArray[np.float64]:
        """1.0 where a candidate carries a word."""
        found = np.zeros((len(candidates), len(plan.concepts)))
        self._slots[candidates] = np.arange(len(candidates))
        slots = self._slots.take(plan.added.places)
        self._slots[candidates] = -1
        at = (slots >= 0).nonzero()[0]
        found[slots[at], np.searchsorted(plan.ends, at, side="right")] = 1
        for number, concept in enumerate(plan.concepts):
            if concept.sum.dense is not None:
                found[:, number] = concept.sum.dense[candidates] > 0
        return found


def _said(plan: QueryPlan, heads: Heads) -> tuple[Features, npt.NDArray[np.intp]]:
    """How far the query says each word of some heads, and which word of the query does; -1: none."""
    said: dict[int, tuple[float, int]] = {}
    for at, concept in enumerate(plan.concepts):
        for alternative in concept.alternatives:
            for stem in alternative.stems:
                before = said.get(hashed := word_hash(stem))
                if before is None or alternative.weight > before[0]:
                    said[hashed] = alternative.weight, at
    if not said:
        return np.zeros(heads.shape), np.full(heads.shape, -1)
    hashes = np.array(sorted(said), np.uint32)
    places = np.minimum(hashes.searchsorted(heads), len(hashes) - 1)
    known = hashes.take(places) == heads
    worth, which = zip(*(said[hashed] for hashed in hashes.tolist()), strict=True)
    return np.array(worth).take(places) * known, np.where(known, np.array(which).take(places), -1)
