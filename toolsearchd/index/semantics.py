"""The second stage: candidates of each way, scored by a linear model, admitted by a calibrated one.

Candidates are the first of the lexical ranking and the nearest by vector. The models' weights and their two
thresholds are in `tables/second_stage.json`, and in `second_stage_sentences.json` for answers that a sentence
model had a part in; `python -m tests.bench.train` makes both.
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
from toolsearchd.index.sentences import SentenceVectors, Vector
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


def _shipped(name: str) -> LinearModel:
    return msgspec.json.decode(
        files("toolsearchd.index.tables").joinpath(name).read_bytes(), type=LinearModel
    )


# Read at once: a first search may come when no descriptor is left.
_BY_WORDS, _BY_SENTENCES = _shipped("second_stage.json"), _shipped("second_stage_sentences.json")


def shipped_model(*, sentences: bool = False) -> LinearModel:
    """`sentences`: the one for answers that the sentence model has a part in."""
    return _BY_SENTENCES if sentences else _BY_WORDS


class Candidates(msgspec.Struct, frozen=True):
    positions: Positions  # ascending
    features: Features  # rows as in `FEATURES`, a column each
    by_score: list[int] = []  # positions that the lexical ranking brought
    by_vector: list[int] = []
    by_meaning: list[int] = []  # and the sentence model


class Judgement(msgspec.Struct, frozen=True):
    """The candidates of one query, best first."""

    model: LinearModel  # by which
    positions: Positions
    totals: Floats  # by which they are ranked
    p: Floats  # that it is a right one
    features: Floats  # rows as in `ADMISSION`, a column each
    found: Candidates
    by_sentences: bool  # had the sentence model a part in it?
    gives_values: bool  # what the query gives as values says nothing of the tools that take them

    def matches(self) -> list[int]:
        """Positions that may be acted on, best first."""
        return [int(at) for at in self.positions[self.p >= self.model.match]] if self.is_answered() else []

    def is_answered(self) -> bool:
        return len(self.p) > 0 and (self.gives_values or float(self.p.max()) >= self.model.near)


class SecondStage:
    """One scope's."""

    def __init__(
        self,
        scope: Scope,
        analyzer: DefaultAnalyzer,
        sentences: SentenceVectors | None = None,
        model: LinearModel | None = None,
    ) -> None:
        """`model`: in place of the shipped ones."""
        self._models = model or shipped_model(), model or shipped_model(sentences=True)
        self._weights = tuple(
            tuple(weights[:, None] for weights in model.weights()) for model in self._models
        )
        self._reader = FeatureReader(scope, analyzer)
        self._vectors = WordVectors(scope, word_table())
        self._sentences = sentences

    def judge(self, plan: QueryPlan, scores: Scores, query: str = "") -> Judgement:
        """`query`: as it was asked, for the sentence model."""
        meant = self.meant(plan, query)
        found = self.candidates(plan, scores, meant)
        of_rank, of_admission = self._weights[meant is not None]
        model = self._models[meant is not None]
        totals = (found.features * of_rank).sum(axis=0)
        order = (-totals).argsort(kind="stable")  # positions ascend: equal ones stand by public name
        totals = totals.take(order)
        known = np.empty((len(ADMISSION), len(order)))
        known[: len(FEATURES)] = found.features.take(order, axis=1)
        known[-2], known[-1] = totals, totals[:1] - totals
        p = 1 / (1 + np.exp(-((known * of_admission).sum(axis=0) + model.bias)))
        return Judgement(
            model, found.positions.take(order), totals, p, known, found, meant is not None, bool(plan.values)
        )

    def meant(self, plan: QueryPlan, query: str) -> Vector | None:
        """The sentence model's vector of the query, if there is one and it reads the query's language."""
        if self._sentences is None or not plan.is_english:
            return None
        return self._sentences.vector(query)

    def candidates(self, plan: QueryPlan, scores: Scores, meant: Vector | None = None) -> Candidates:
        by_score = best(scores, LEXICAL)
        by_vector: list[int] = []
        by_meaning: list[int] = []
        vector = self._vectors.vector(plan)
        if vector is not None:
            by_vector = self._vectors.nearest(vector, BY_VECTOR)
        if meant is not None and self._sentences is not None:
            by_meaning = self._sentences.nearest(meant, BY_VECTOR)
        positions = np.array(sorted({*by_score, *by_vector, *by_meaning}), np.int32)
        if not len(positions):
            return Candidates(positions, np.zeros((len(FEATURES), 0)))
        known = None if vector is None else self._vectors.of(vector, positions)
        features = self._reader.of(plan, scores, positions, known)
        if meant is not None and self._sentences is not None:
            features[-1] = self._sentences.of(meant, positions)
        return Candidates(positions, features, by_score, by_vector, by_meaning)
