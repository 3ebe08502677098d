"""The reference's two rankers, bit-faithful: BM25 over one field, and what its releases admit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from toolsearchd.dialects.hermes.analyzer import HermesAnalyzer, HermesV1Analyzer
from toolsearchd.index.postings import as_tuple
from toolsearchd.index.ranking import Ranking
from toolsearchd.index.scope import Positions, Scope, Scores, best
from toolsearchd.index.searcher import Group, Hit

K1 = 1.5
B = 0.75
FLOOR_FROM = 4  # answerable terms from which half of them are asked for
SUBSTRING_SCORE = 0.1  # June 2026: a tool whose name holds the query, where no word matched


class HermesSearcher:
    """September 2026: the rarest token gates, unknown ones too; from 4 answerable terms half are asked."""

    analyzer: HermesAnalyzer = HermesAnalyzer()

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._impacts: dict[str, tuple[Positions, Scores]] = {}

    def prepare(self) -> Iterator[None]:
        """There is nothing to make ahead."""
        return iter(())

    def search(self, query: str, limit: int) -> Group:
        tokens = self.analyzer.tokens(query)
        if limit <= 0 or not self.scope.size or not tokens:
            return Group(diagnostics={"query_tokens": tokens})
        frequencies = {token: self.scope.document_frequency(token) for token in tokens}
        answerable = sorted(token for token, df in frequencies.items() if df)
        required = math.ceil(len(answerable) / 2) if len(answerable) >= FLOOR_FROM else 1
        gate = min(tokens, key=lambda token: frequencies[token])  # the first of the rarest, in query order
        scores = self._scores(tokens)
        admitted = np.zeros(self.scope.size, dtype=bool)
        if frequencies[gate]:
            admitted[self._impact(gate)[0]] = True
            carried = np.zeros(self.scope.size, dtype=np.int64)
            for token in answerable:
                carried[self._impact(token)[0]] += 1
            admitted &= carried >= required
        scores[~admitted] = 0.0
        return Group(
            matches=self._hits(query, scores, limit),
            unknown=list(dict.fromkeys(token for token in tokens if not frequencies[token])),
            diagnostics={
                "query_tokens": tokens,
                "gate_token": gate,
                "gate_document_frequency": frequencies[gate],
                "answerable_terms": answerable,
                "required_terms": required,
            },
        )

    def _scores(self, tokens: list[str]) -> Scores:
        """BM25 of every document, each repetition of a token counted."""
        scores = np.zeros(self.scope.size)
        for token in tokens:
            positions, impacts = self._impact(token)
            scores[positions] += impacts
        return scores

    def _impact(self, token: str) -> tuple[Positions, Scores]:
        """What one occurrence of the token in a query adds to each document that carries it."""
        found = self._impacts.get(token)
        if found is None:
            positions, counts = self.scope.occurrences(token)
            n, df = self.scope.size, len(positions)
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            tf = counts[:, 0].astype(np.float64)
            length = self.scope.lengths[positions, 0].astype(np.float64)
            norm = K1 * (1 - B + B * length / self.scope.mean_lengths[0])
            found = self._impacts[token] = positions, idf * tf * (K1 + 1) / (tf + norm)
        return found

    def _hits(self, query: str, scores: Scores, limit: int) -> list[Hit]:
        named = self.scope.positions(self.scope.index.named(query.strip().lower()))
        for position in named:
            scores[position] = math.inf
        return [
            Hit(int(self.scope.docs[position]), float(scores[position])) for position in best(scores, limit)
        ]


class HermesV1Searcher(HermesSearcher):
    """June 2026: any positive score; without one, tools whose name holds the whole query."""

    analyzer = HermesV1Analyzer()

    def search(self, query: str, limit: int) -> Group:
        tokens = self.analyzer.tokens(query)
        if limit <= 0 or not self.scope.size or not tokens:
            return Group(diagnostics={"query_tokens": tokens})
        scores = self._scores(tokens)
        if not scores.any():
            wanted = query.strip().lower()
            index = self.scope.index
            for name, docs in index.exact.items():
                if wanted in name:
                    scores[self.scope.positions(as_tuple(docs))] = SUBSTRING_SCORE
        hits = [Hit(int(self.scope.docs[at]), float(scores[at])) for at in best(scores, limit)]
        return Group(matches=hits, diagnostics={"query_tokens": tokens})


HERMES = Ranking(name="hermes", analyzer=HermesAnalyzer, searcher=lambda scope, _: HermesSearcher(scope))
HERMES_V1 = Ranking(
    name="hermes-v1", analyzer=HermesV1Analyzer, searcher=lambda scope, _: HermesV1Searcher(scope)
)
