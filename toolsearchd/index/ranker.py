"""The daemon's own ranker.

A match carries the query's rarest known concept, nearly leads the ranking, and the best one covers half of
the query; the rest is `near`. A query for a product that is nowhere in the scope gets no answer.
"""

from __future__ import annotations

import math

import numpy as np

from toolsearchd.index.analyzer import NAME, DefaultAnalyzer
from toolsearchd.index.concepts import Concept, Concepts, Tuning
from toolsearchd.index.lexicon import Lexicon, default_lexicon
from toolsearchd.index.query import Plan, QueryReader
from toolsearchd.index.scope import Scope, Scores, best
from toolsearchd.index.searcher import Group, Hit
from toolsearchd.index.semantics import CANDIDATES, Semantics


class DefaultSearcher:
    def __init__(
        self,
        scope: Scope,
        *,
        analyzer: DefaultAnalyzer | None = None,
        lexicon: Lexicon | None = None,
        tuning: Tuning | None = None,
        semantics: Semantics | None = None,
    ) -> None:
        self.scope = scope
        self.tuning = tuning or Tuning()
        self.analyzer = analyzer or default_analyzer()
        lexicon = lexicon or default_lexicon()
        self.concepts = Concepts(scope, self.analyzer, lexicon, self.tuning)
        self.reader = QueryReader(self.concepts, self.analyzer, lexicon, self.tuning)
        self._semantics = semantics
        self._name_lengths = np.maximum(1, scope.lengths[:, NAME]).astype(np.float32)

    def search(self, query: str, limit: int) -> Group:
        """At most `limit` hits in all. Repeated words change nothing."""
        if limit <= 0 or not self.scope.size:
            return Group()
        plan = self.reader.read(query)
        named = self.named(query)
        if plan.absent_product is not None and not named:
            return Group(absent_product=plan.absent_product, unknown=list(plan.unknown))
        scores = self.scores(plan)
        if self._semantics is not None:
            self._rescore(self._semantics, query, scores)
        scores[named] = math.inf
        top = best(scores, limit)
        matches = self.matches(plan, scores, limit, named) if top else []
        near = [position for position in top if position not in matches][: limit - len(matches)]
        return Group(
            matches=self._hits(matches, scores), near=self._hits(near, scores), unknown=list(plan.unknown)
        )

    def named(self, query: str) -> list[int]:
        """Positions of tools that the query names: a full public name, or a name that only one tool bears."""
        index = self.scope.index
        wanted = query.strip().lower()
        full = self.scope.positions(index.named(wanted))
        if full:
            return full
        bare = self.scope.positions(index.bearing(wanted))
        return bare if len(bare) == 1 else []

    def scores(self, plan: Plan) -> Scores:
        """Every document's score: its concepts added up, more for a tool whose name the query covers."""
        scores, covered = np.zeros(self.scope.size, np.float32), np.zeros(self.scope.size, np.float32)
        for concept in plan.concepts:
            if concept.positions is None:
                scores += concept.scores
            else:
                scores[concept.positions] += concept.scores
            covered[concept.named_positions] += concept.named
        at = np.flatnonzero(covered > 0)
        share = np.minimum(np.float32(1), covered[at] / self._name_lengths[at])
        scores[at] *= np.float32(1) + np.float32(self.tuning.name_coverage) * share
        return scores

    def gate(self, plan: Plan) -> Concept | None:
        """The rarest known concept; among equals the same one in any order of words."""
        known = [concept for concept in plan.concepts if concept.df]
        return max(known, key=lambda concept: (concept.idf, concept.word), default=None)

    def matches(self, plan: Plan, scores: Scores, limit: int, named: list[int]) -> list[int]:
        """The positions that may be acted on, best first. `named`: those that the query names."""
        admitted = list(named)
        gate = self.gate(plan)
        if gate is not None and len(admitted) < limit:
            carriers = gate.carriers()
            of_carriers = scores[carriers]
            if named:
                of_carriers[np.isin(carriers, named)] = 0.0  # admitted already
            ranked = [int(carriers[at]) for at in best(of_carriers, limit)]
            if ranked and self.coverage(plan, ranked[0]) >= self.tuning.coverage:
                finite = np.delete(scores, named) if named else scores
                floor = self.tuning.relative * float(finite.max())
                admitted.extend(position for position in ranked if scores[position] >= floor)
        return admitted[:limit]

    def coverage(self, plan: Plan, position: int) -> float:
        """The share of the query's idf that a document carries, unknown words counted."""
        carried = sum(concept.idf for concept in plan.concepts if concept.carries(position))
        return carried / plan.total_idf if plan.total_idf else 0.0

    def _rescore(self, semantics: Semantics, query: str, scores: Scores) -> None:
        candidates = np.asarray(best(scores, CANDIDATES), dtype=np.int32)
        if len(candidates):
            scores[candidates] = semantics.rescore(query, self.scope, candidates, scores[candidates])

    def _hits(self, positions: list[int], scores: Scores) -> list[Hit]:
        return [Hit(int(self.scope.docs[position]), float(scores[position])) for position in positions]


_analyzers: dict[tuple[str, ...], DefaultAnalyzer] = {}


def default_analyzer(languages: tuple[str, ...] = ("english",)) -> DefaultAnalyzer:
    """One analyzer for all searchers of a language setting: its stems are memoised."""
    found = _analyzers.get(languages)
    if found is None:
        found = _analyzers[languages] = DefaultAnalyzer(languages)
    return found
