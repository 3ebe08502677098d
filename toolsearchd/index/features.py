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
from toolsearchd.index.sketch import ALIAS_SLOTS, LINE_SLOTS, NAME_SLOTS, Heads, heads_of, word_hash
from toolsearchd.index.vectors import Cosines

FEATURES = (
    "score",  # of the first stage, over the best one's
    "coverage",  # share of the query's idf that the tool carries
    "name",  # share of its name's and server's words, by their idf, that the query says; or of its aliases'
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
    """One scope's. What is counted in the scope is counted at the first query."""

    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer) -> None:
        self._scope = scope
        self._analyzer = analyzer
        self._slots = np.full(scope.size, -1, np.int32)  # all -1 between two queries

    @cached_property
    def heads(self) -> Heads:
        return heads_of(self._scope.index.sketches[self._scope.docs])

    @cached_property
    def _idf(self) -> npt.NDArray[np.float32]:
        """Of each word of each head, by how many there are of it in the scope's; 0 where there is no word."""
        words = self.heads[:, 1:]
        _, inverse, counts = np.unique(words, return_inverse=True, return_counts=True)
        size = self._scope.size
        idf = np.log(1 + (size + 0.5) / (np.minimum(counts, size) + 0.5))
        return np.where(words != 0, idf[inverse].reshape(words.shape), 0).astype(np.float32)

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
        heads = self.heads[candidates]
        said, which = _said(plan, heads[:, 1:])
        whole = self._idf[candidates]
        weighted = said * whole
        names, aliases, found[3] = [
            weighted[:, slots].sum(axis=1) / np.maximum(whole[:, slots].sum(axis=1), 1e-6)
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


def _said(plan: QueryPlan, heads: Heads) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """How far the query says each word of each head, and which word of the query does; -1: none."""
    said = sorted(
        [
            (-alternative.weight, at, word_hash(stem))
            for at, concept in enumerate(plan.concepts)
            for alternative in concept.alternatives
            for stem in alternative.stems
        ]
    )  # the word itself before what stands for it
    worth = np.array([0.0, *[-weight for weight, _, _ in said]])
    number = np.array([-1, *[at for _, at, _ in said]])
    equal = heads[:, :, None] == np.array([hashed for _, _, hashed in said], np.uint32)
    first = np.where(equal.any(axis=2), equal.argmax(axis=2) + 1, 0) if said else np.zeros(heads.shape, int)
    return worth[first], number[first]
