"""How far the figures of an evaluation can be trusted: intervals, what `p` is worth, and two runs paired.

Intervals are of 95%, by a bootstrap over queries with a fixed seed: the same answers give the same interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from toolsearchd.index.evaluate import Judged

TOLD = ("hit@1", "hit@5", "hit@5_matches", "false_match", "false_any")
RESAMPLES = 1_000
BINS = 10
LISTED = 5  # first tools of each answer whose `p` is looked at


def intervals(judged: Sequence[Judged]) -> dict[str, tuple[float, float]]:
    """By figure, of those that concern any of the queries."""
    found = {}
    for name in TOLD:
        values = [one.figures[name] for one in judged if name in one.figures]
        if values:
            found[name] = _interval(values)
    return found


def calibration(judged: Sequence[Judged]) -> dict[str, Any] | None:
    """How often tools of each `p` are right ones, and the Brier score; None where no answer told `p`."""
    pairs = [
        (p, float(name in one.query.relevant)) for one in judged for name, p in list(one.p.items())[:LISTED]
    ]
    if not pairs:
        return None
    bins = []
    for number in range(BINS):
        of_bin = [pair for pair in pairs if min(BINS - 1, int(pair[0] * BINS)) == number]
        if of_bin:
            bins.append(
                {
                    "from": number / BINS,
                    "tools": len(of_bin),
                    "p": fmean(p for p, _ in of_bin),
                    "right": fmean(right for _, right in of_bin),
                }
            )
    return {"brier": fmean((p - right) ** 2 for p, right in pairs), "tools": len(pairs), "bins": bins}


def compared(judged: Sequence[Judged], before: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """Each figure of the queries that both runs asked: means, the difference with its interval, and how many
    queries went up and down. `before`: by query id, its figures."""
    rows = []
    for name in TOLD:
        pairs = [
            (before[one.query.id][name], one.figures[name])
            for one in judged
            if name in one.figures and name in before.get(one.query.id, {})
        ]
        if pairs:
            gains = [now - then for then, now in pairs]
            rows.append(
                {
                    "figure": name,
                    "queries": len(pairs),
                    "before": fmean(then for then, _ in pairs),
                    "now": fmean(now for _, now in pairs),
                    "difference": fmean(gains),
                    "interval": _interval(gains),
                    "up": sum(gain > 0 for gain in gains),
                    "down": sum(gain < 0 for gain in gains),
                }
            )
    return rows


def _interval(values: Sequence[float]) -> tuple[float, float]:
    random = np.random.default_rng(0)
    counted = np.array(values, float)
    means = [float(random.choice(counted, len(counted)).mean()) for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5]).tolist()
    return low, high
