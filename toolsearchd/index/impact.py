"""Arrays of BM25F impacts: one term in a scope, and several terms that stand for one word added up.

The score of a word in a document is the best of its alternatives, never their sum: a tool that says both
`mail` and `email` is no better than one that says `mail` twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from toolsearchd.index.scope import Positions, Scores

# A whole array is added faster than its entries one by one where a word is this frequent.
_DENSE_SHARE = 4
_DENSE_FROM = 1_000
_CROWDED = 16  # from 1/16 of the scope on, a pass over all of it is faster than sorting


class TermImpact(NamedTuple):
    """One term (or phrase) in the scope."""

    idf: float
    positions: Positions  # each once, in no particular order
    saturated: Scores  # BM25F without the idf
    named: npt.NDArray[np.bool_]  # does the tool's own name hold it?

    @property
    def nbytes(self) -> int:
        return 200 + self.positions.nbytes + self.saturated.nbytes + self.named.nbytes


class Sum(NamedTuple):
    """What a word adds to the documents that carry it, and what their names carry of it."""

    places: npt.NDArray[np.intp]  # carriers, each once; none where `dense` has them
    values: npt.NDArray[np.float64]  # their scores
    named: npt.NDArray[np.intp]  # carriers that are named so
    worth: npt.NDArray[np.float64]  # 1.0, or the partner's weight
    dense: Scores | None  # of a frequent word: its score by position

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self if array is not None)


NOTHING = Sum(np.zeros(0, np.intp), np.zeros(0), np.zeros(0, np.intp), np.zeros(0), None)


def both(one: TermImpact, other: TermImpact, idf: Callable[[int], float]) -> TermImpact:
    """A phrase of two: its documents hold both, and the weaker one counts."""
    positions, left, right = np.intersect1d(
        one.positions, other.positions, assume_unique=True, return_indices=True
    )
    return TermImpact(
        idf(len(positions)),
        positions,
        np.minimum(one.saturated[left], other.saturated[right]),
        one.named[left] & other.named[right],
    )


def add_up(impacts: list[tuple[float, np.float32, TermImpact]], size: int) -> tuple[int, Sum]:
    """In how many documents a word's alternatives occur, and what they add.

    `impacts`: (what a name is worth, what a saturated frequency is worth, the impact).
    """
    if not impacts:
        return 0, NOTHING
    if len(impacts) == 1:
        worth, factor, impact = impacts[0]
        named: Scores
        positions, scores = impact.positions, factor * impact.saturated
        named_positions = positions[impact.named]
        named = np.full(len(named_positions), np.float32(worth), np.float64)
    else:
        positions, scores, named_positions, named = _best(impacts, size)
    df, names = len(positions), (named_positions.astype(np.intp), named.astype(np.float64))
    if df >= _DENSE_FROM and df * _DENSE_SHARE >= size:
        dense = np.zeros(size, np.float32)
        dense[positions] = scores
        return df, Sum(NOTHING.places, NOTHING.values, *names, dense)
    return df, Sum(positions.astype(np.intp), scores.astype(np.float64), *names, None)


def _best(
    impacts: list[tuple[float, np.float32, TermImpact]], size: int
) -> tuple[Positions, npt.NDArray[np.floating], Positions, npt.NDArray[np.floating]]:
    """Each position once, with the largest score; each named one with the largest worth."""
    positions = np.concatenate([impact.positions for _, _, impact in impacts])
    scores = np.concatenate([factor * impact.saturated for _, factor, impact in impacts])
    named_positions = np.concatenate([impact.positions[impact.named] for _, _, impact in impacts])
    named = np.concatenate(
        [np.full(np.count_nonzero(impact.named), np.float32(worth)) for worth, _, impact in impacts]
    )
    return (*_largest(positions, scores, size), *_largest(named_positions, named, size))


def _largest(positions: Positions, values: Scores, size: int) -> tuple[Positions, npt.NDArray[np.floating]]:
    """Each position once, with the largest of its (positive) values."""
    if len(positions) * _CROWDED >= size:
        found = np.zeros(size)
        np.maximum.at(found, positions.astype(np.intp), values.astype(np.float64))
        positions = (found > 0).nonzero()[0].astype(np.int32)
        return positions, found.take(positions)
    order = positions.argsort()
    positions = positions[order]
    first = np.empty(len(positions), dtype=bool)
    first[:1] = True
    np.not_equal(positions[1:], positions[:-1], out=first[1:])
    starts = first.nonzero()[0]
    return positions[starts], np.maximum.reduceat(values[order], starts) if len(starts) else values
