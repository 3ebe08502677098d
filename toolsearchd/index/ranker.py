"""The daemon's own ranker.

Words find candidates, the second stage orders and admits them (`semantics.py`). Without its tables a match
carries the query's rarest known concept, nearly leads the ranking, and the best one covers half of the query;
the rest is `near`, and a query for a product that is nowhere in the scope gets no answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.concepts import Concepts, Tuning
from toolsearchd.index.fields import NAME
from toolsearchd.index.lexicon import Lexicon, default_lexicon
from toolsearchd.index.query import QueryPlan, QueryReader
from toolsearchd.index.scope import Scope, Scores, best
from toolsearchd.index.searcher import Group, Hit
from toolsearchd.index.semantics import LinearModel, SecondStage
from toolsearchd.index.sentences import SentenceVectors


class DefaultSearcher:
    def __init__(
        self,
        scope: Scope,
        *,
        analyzer: DefaultAnalyzer | None = None,
        lexicon: Lexicon | None = None,
        tuning: Tuning | None = None,
        sentences: SentenceVectors | None = None,
        model: LinearModel | None = None,
    ) -> None:
        self.scope = scope
        self.tuning = tuning or Tuning()
        self.analyzer = analyzer or default_analyzer()
        lexicon = lexicon or default_lexicon()
        self.concepts = Concepts(scope, self.analyzer, lexicon, self.tuning)
        self.reader = QueryReader(self.concepts, self.analyzer, lexicon, self.tuning)
        has_sketches = scope.index.sketches.shape[1] > 0
        self.second = SecondStage(scope, self.analyzer, sentences, model) if has_sketches else None
        self._name_lengths = np.maximum(1, scope.lengths[:, NAME]).astype(np.float64)

    def search(self, query: str, limit: int) -> Group:
        """At most `limit` hits in all. Repeated words change nothing."""
        if limit <= 0 or not self.scope.size:
            return Group()
        plan = self.reader.read(query)
        named = self.named(query)
        if self.second is not None:
            return self._judged(self.second, query, plan, limit, named)
        if plan.absent_product is not None and not named:
            return Group(absent_product=plan.absent_product, unknown=list(plan.unknown))
        scores = self.scores(plan)
        if named:
            scores[named] = math.inf
        top = best(scores, limit)
        matches = self.matches(plan, scores, limit, named) if top else []
        near = [position for position in top if position not in matches][: limit - len(matches)]
        return Group(
            matches=self._hits(matches, scores), near=self._hits(near, scores), unknown=list(plan.unknown)
        )

    def _judged(
        self, second: SecondStage, query: str, plan: QueryPlan, limit: int, named: list[int]
    ) -> Group:
        """Named tools, then candidates by the second stage, then what else carries a word of the query."""
        scores = self.scores(plan)
        judged = second.judge(plan, scores, query)
        totals = dict(zip(judged.positions.tolist(), judged.totals.tolist(), strict=True))
        matches = [*named, *(at for at in judged.matches() if at not in named)][:limit]
        near: list[int] = []
        if len(matches) < limit and (named or judged.is_answered()):
            near = [at for at in totals if at not in matches]
            if len(matches) + len(near) < limit:
                near += [at for at in best(scores, limit + len(totals)) if at not in totals]
        p = dict(zip(judged.positions.tolist(), judged.p.tolist(), strict=True))
        totals.update(dict.fromkeys(named, math.inf))
        hits = [
            Hit(int(self.scope.docs[at]), totals.get(at, 0.0), p.get(at))
            for at in (*matches, *near[: limit - len(matches)])
        ]
        return Group(
            matches=hits[: len(matches)],
            near=hits[len(matches) :],
            unknown=list(plan.unknown),
            absent_product=plan.absent_product,
            by_sentences=judged.by_sentences,
        )

    def prepare(self) -> Iterator[None]:
        """Makes ahead, in steps of about 2 ms, what the first searches would have to make."""
        return self.concepts.prepare()

    def named(self, query: str) -> list[int]:
        """Positions of tools that the query names: a full public name, or a name that only one tool bears."""
        index = self.scope.index
        wanted = query.strip().lower()
        full = self.scope.positions(index.named(wanted))
        if full:
            return full
        bare = self.scope.positions(index.bearing(wanted))
        return bare if len(bare) == 1 else []

    def scores(self, plan: QueryPlan) -> Scores:
        """Every document's score: its concepts added up, more for a tool whose name the query covers."""
        size, (places, values, named, worth, _) = self.scope.size, plan.added
        # Of nothing, bincount makes integers.
        scores: Scores = np.bincount(places, values, size).astype(np.float64, copy=False)
        for concept in plan.concepts:
            if concept.sum.dense is not None:
                scores += concept.sum.dense
        if len(named):
            share = np.bincount(named, worth, size).take(named) / self._name_lengths.take(named)
            # A document that is named by several words stands in `named` as often, with one value.
            scores[named] = scores.take(named) * (1.0 + self.tuning.name_coverage * np.minimum(share, 1.0))
        return scores

    def matches(self, plan: QueryPlan, scores: Scores, limit: int, named: list[int]) -> list[int]:
        """The positions that may be acted on, best first. `named`: those that the query names."""
        if plan.gate is None or len(named) >= limit:
            return named[:limit]
        carriers = plan.gate[1].carriers()
        if named:
            scores = scores.copy()
            scores[named] = 0.0  # admitted already
        floor = self.tuning.relative * float(scores[scores.argmax()])
        kept = carriers[scores.take(carriers) >= floor] if floor else carriers[:0]
        if not len(kept):
            return named
        if len(kept) > 1:
            kept.sort()
            kept = kept[(-scores.take(kept)).argsort(kind="stable")]
        ranked = kept[: limit - len(named)].tolist()
        if self.coverage(plan, ranked[0]) < self.tuning.coverage:
            return named
        return [*named, *ranked]

    def coverage(self, plan: QueryPlan, position: int) -> float:
        """The share of the query's idf that a document carries, unknown words counted."""
        return plan.carried(position) / plan.total_idf if plan.total_idf else 0.0

    def _hits(self, positions: list[int], scores: Scores) -> list[Hit]:
        return [Hit(int(self.scope.docs[position]), float(scores[position])) for position in positions]


_analyzers: dict[tuple[str, ...], DefaultAnalyzer] = {}


def default_analyzer(languages: tuple[str, ...] = ("english",)) -> DefaultAnalyzer:
    """One analyzer for all searchers of a language setting: its stems are memoised."""
    found = _analyzers.get(languages)
    if found is None:
        found = _analyzers[languages] = DefaultAnalyzer(languages)
    return found
