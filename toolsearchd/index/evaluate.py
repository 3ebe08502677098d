"""Retrieval figures: how often a right tool is on the page, and how often an absent one gets an answer.

The list judged is `matches`, then `near`, cut to the limit: 10, or 5 where nothing should be found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

LIMIT = 10
NEGATIVE_LIMIT = 5

MEASURES = ("hit@1", "hit@5", "hit@10", "hit@5_matches", "recall@5", "mrr@10", "ndcg@10", "empty")


class EvalQuery(msgspec.Struct, frozen=True):
    """A line of the evaluation file; other keys are ignored."""

    id: str
    query: str
    relevant: tuple[str, ...] = ()  # "server/tool"; empty: nothing should match
    kind: str = ""


class Judged(msgspec.Struct, frozen=True):
    """One query, asked and measured. `figures` has the measures of its sort only."""

    query: EvalQuery
    got: tuple[str, ...]
    figures: dict[str, float]
    us: float
    p: dict[str, float] = {}  # of the tools it listed, in order, where the answer told it

    @property
    def is_miss(self) -> bool:
        """No right tool among the first five, or something where nothing should be."""
        return self.figures.get("hit@5") == 0.0 or self.figures.get("false_any") == 1.0


Answer = tuple[Sequence[str], Sequence[str]] | tuple[Sequence[str], Sequence[str], Mapping[str, float]]
SearchCall = Callable[[str, int], Answer]  # → matches and near as "server/tool", and `p` by tool


def limit_for(query: EvalQuery) -> int:
    return LIMIT if query.relevant else NEGATIVE_LIMIT


def judge(
    query: EvalQuery,
    matches: Sequence[str],
    near: Sequence[str],
    us: float,
    p: Mapping[str, float] | None = None,
) -> Judged:
    """Measures one answer that took `us` microseconds."""
    limit = limit_for(query)
    got = tuple([*matches, *near][:limit])
    told = {name: p[name] for name in got if name in p} if p else {}
    relevant = set(query.relevant)
    if not relevant:
        figures = {"false_match": float(bool(matches)), "false_any": float(bool(got))}
        return Judged(query, got, figures, us, told)
    places = [place for place, name in enumerate(got[:10]) if name in relevant]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return Judged(
        query,
        got,
        {
            "hit@1": float(0 in places),
            "hit@5": float(any(place < 5 for place in places)),
            "hit@10": float(bool(places)),
            "hit@5_matches": float(bool(relevant & set(matches[:5]))),
            "recall@5": len(relevant & set(got[:5])) / min(5, len(relevant)),
            "mrr@10": 1 / (places[0] + 1) if places else 0.0,
            "ndcg@10": sum(1 / math.log2(place + 2) for place in places) / ideal,
            "empty": float(not got),
        },
        us,
        told,
    )


def evaluate(queries: Sequence[EvalQuery], search: SearchCall, clock_us: Callable[[], float]) -> list[Judged]:
    """Asks every query. `clock_us`: a monotonic clock in microseconds."""
    judged = []
    for query in queries:
        began = clock_us()
        matches, near, *told = search(query.query, limit_for(query))
        judged.append(judge(query, matches, near, clock_us() - began, *told))
    return judged


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """Means over the queries that a figure concerns; null where there are none."""
    times = sorted(one.us for one in judged)
    return {
        "queries": len(judged),
        **{name: _mean(judged, name) for name in (*MEASURES, "false_match", "false_any")},
        "p50_us": _quantile(times, 0.5),
        "p99_us": _quantile(times, 0.99),
    }


def report(judged: Sequence[Judged], why: Callable[[Judged], str]) -> dict[str, Any]:
    """All figures, the misses with their causes (`why`), and the same figures by kind."""
    kinds: dict[str, list[Judged]] = {}
    for one in judged:
        if one.query.kind:
            kinds.setdefault(one.query.kind, []).append(one)
    return {
        **figures(judged),
        "misses": [
            {"id": one.query.id, "query": one.query.query, "got": list(one.got), "why": why(one)}
            for one in judged
            if one.is_miss
        ],
        "kinds": {kind: figures(of_kind) for kind, of_kind in kinds.items()},
    }


def _mean(judged: Sequence[Judged], name: str) -> float | None:
    values = [one.figures[name] for one in judged if name in one.figures]
    return fmean(values) if values else None


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
