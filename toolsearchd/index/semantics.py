"""The second stage: candidates of both ways, scored by a linear model, admitted by a calibrated one.

Candidates are the first of the lexical ranking and the nearest by vector. The model's weights and the two
thresholds are in `tables/second_stage.json`; `python -m tests.bench.train` makes it.
"""

from __future__ import annotations

from importlib.resources import files

import msgspec
import numpy as np
import numpy.typing as npt

from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.features import FEATURES, FeatureReader, Features
from toolsearchd.index.query import QueryPlan
from toolsearchd.index.scope import Positions, Scope, Scores, best
from toolsearchd.index.vectors import WordVectors
from toolsearchd.index.words import word_table

LEXICAL = 30  # candidates of each way; a hundred find no more
BY_VECTOR = 30
ADMISSION = (*FEATURES, "total", "behind")  # what the linear model gave, and how much less than to the best

Floats = npt.NDArray[np.float64]


class LinearModel(msgspec.Struct, frozen=True):
    """Weights by feature; a feature that is not named weighs nothing."""

    rank: dict[str, float]
    admit: dict[str, float]
    bias: float
    match: float  # the least `p` of a match
    near: float  # the least best `p` at which anything is offered

    def weights(self) -> tuple[Floats, Floats]:
        return (
            np.array([self.rank.get(name, 0.0) for name in FEATURES]),
            np.array([self.admit.get(name, 0.0) for name in ADMISSION]),
        )


# Read at once: a first search may come when no descriptor is left.
_SHIPPED = msgspec.json.decode(
    files("toolsearchd.index.tables").joinpath("second_stage.json").read_bytes(), type=LinearModel
)


def shipped_model() -> LinearModel:
    return _SHIPPED


class Judgement(msgspec.Struct, frozen=True):
    """The candidates of one query, best first."""

    positions: Positions
    totals: Floats  # by which they are ranked
    p: Floats  # that it is a right one
    features: Floats  # rows as in `ADMISSION`, a column each
    by_score: list[int]  # positions that the lexical ranking brought
    by_vector: list[int]

    def matches(self, model: LinearModel) -> list[int]:
        """Positions that may be acted on, best first."""
        if not self.is_answered(model):
            return []
        return [int(at) for at in self.positions[self.p >= model.match]]

    def is_answered(self, model: LinearModel) -> bool:
        return len(self.p) > 0 and float(self.p.max()) >= model.near


class SecondStage:
    """One scope's."""

    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer, model: LinearModel | None = None) -> None:
        self.model = model or shipped_model()
        self._rank, self._admit = (weights[:, None] for weights in self.model.weights())
        self._scope = scope
        self._reader = FeatureReader(scope, analyzer)
        self._vectors = WordVectors(scope, word_table())

    def judge(self, plan: QueryPlan, scores: Scores) -> Judgement:
        positions, features, by_score, by_vector = self.candidates(plan, scores)
        totals = (features * self._rank).sum(axis=0)
        order = (-totals).argsort(kind="stable")  # positions ascend: equal ones stand by public name
        totals = totals.take(order)
        known = np.empty((len(ADMISSION), len(order)))
        known[: len(FEATURES)] = features.take(order, axis=1)
        known[-2], known[-1] = totals, totals[:1] - totals
        p = 1 / (1 + np.exp(-((known * self._admit).sum(axis=0) + self.model.bias)))
        return Judgement(positions.take(order), totals, p, known, by_score, by_vector)

    def candidates(self, plan: QueryPlan, scores: Scores) -> tuple[Positions, Features, list[int], list[int]]:
        """Positions, ascending, their features, a column each, and which way they came."""
        by_score = best(scores, LEXICAL)
        by_vector: list[int] = []
        vector = self._vectors.vector(plan)
        if vector is not None:
            by_vector = self._vectors.nearest(vector, BY_VECTOR)
        positions = np.array(sorted({*by_score, *by_vector}), np.int32)
        if not len(positions):
            return positions, np.zeros((len(FEATURES), 0)), [], []
        known = None if vector is None else self._vectors.of(vector, positions)
        return positions, self._reader.of(plan, scores, positions, known), by_score, by_vector
