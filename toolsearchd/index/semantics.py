"""The seam for a semantic layer: it may re-order what the lexical ranker found. None is in this package."""

from __future__ import annotations

from typing import Protocol

from toolsearchd.index.scope import Positions, Scope, Scores

CANDIDATES = 100  # the lexical ranker's best, handed over; what is not among them stays where it is


class Semantics(Protocol):
    """Stands between candidates and ranking. Synchronous: what is slow was computed before the search."""

    def rescore(self, query: str, scope: Scope, candidates: Positions, scores: Scores) -> Scores:
        """New scores for the candidates (positions in `scope`), on the old ones' scale, all positive."""
        ...
