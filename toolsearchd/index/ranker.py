"""The daemon's own ranker: BM25F over the tool's fields, exact names first."""

from __future__ import annotations

import math

import numpy as np

from toolsearchd.index import text
from toolsearchd.index.analyzer import DefaultAnalyzer, is_compound
from toolsearchd.index.scope import Positions, Scope, Scores, best
from toolsearchd.index.searcher import Group, Hit

K1 = 1.2
WEIGHTS = (3.0, 2.0, 1.0, 0.7, 0.4, 3.0)  # by `analyzer.FIELDS`
B = (0.3, 0.3, 0.6, 0.6, 0.6, 0.3)


class DefaultSearcher:
    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer | None = None) -> None:
        self.scope = scope
        self._analyzer = analyzer or DefaultAnalyzer()
        self._impacts: dict[str, tuple[Positions, Scores]] = {}

    def search(self, query: str, limit: int) -> Group:
        if limit <= 0 or not self.scope.size:
            return Group()
        words = self._words(query)
        scores = np.zeros(self.scope.size)
        unknown = []
        for word in words:
            stems = [stem for stem in self._analyzer.stems(word) if self.scope.document_frequency(stem)]
            if not stems:
                unknown.append(word)
            for stem in stems:
                positions, impacts = self._impact(stem)
                scores[positions] += impacts
        index = self.scope.index
        wanted = query.strip().lower()
        for name in (index.exact.get(wanted), index.bare.get(wanted)):
            named = self.scope.positions(name or ())
            if len(named) == 1:
                scores[named[0]] = math.inf
        hits = [Hit(int(self.scope.docs[at]), float(scores[at])) for at in best(scores, limit)]
        return Group(matches=hits, unknown=unknown)

    def _words(self, query: str) -> list[str]:
        """The query's distinct content words; all of its words where it has no others."""
        words: dict[str, None] = {}
        for run in text.runs(query):
            pieces = text.parts(run)
            joined = "".join(pieces)
            if is_compound(pieces) and any(map(self.scope.document_frequency, self._analyzer.stems(joined))):
                pieces = [joined]
            words.update(dict.fromkeys(pieces))
        content = [word for word in words if word not in self._analyzer.stop_words]
        return content or list(words)

    def _impact(self, term: str) -> tuple[Positions, Scores]:
        found = self._impacts.get(term)
        if found is None:
            positions, counts = self.scope.occurrences(term)
            n, df = self.scope.size, len(positions)
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            weighted = np.zeros(len(positions))
            for field, (weight, b) in enumerate(zip(WEIGHTS, B, strict=True)):
                length = self.scope.lengths[positions, field] / self.scope.mean_lengths[field]
                weighted += weight * counts[:, field] / (1 - b + b * length)
            found = self._impacts[term] = positions, idf * (K1 + 1) * weighted / (K1 + weighted)
        return found
