"""The query's vector against those of a scope's tools and servers."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from toolsearchd.index.query import QueryPlan
from toolsearchd.index.scope import Positions, Scope, best
from toolsearchd.index.sketch import SERVER_SLOTS, heads_of, vectors_of
from toolsearchd.index.words import Vector, WordTable, quantised

_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], np.uint64)

BEGINNING = 64  # dimensions; all the vectors' are a quarter of a search among 20,000 tools
_WHOLE = 1_000  # 128 products with up to 127 stay below 2^24, to which float32 is exact

Floats = npt.NDArray[np.float32]


class Cosines(NamedTuple):
    """Of some positions."""

    tools: Floats
    servers: Floats


class WordVectors:
    """Of the word table. Vectors are of whole numbers up to 127, so that float32 sums them exactly."""

    def __init__(self, scope: Scope, table: WordTable) -> None:
        self._scope = scope
        self._table = table

    @cached_property
    def _beginnings(self) -> tuple[Floats, Floats]:
        """By position: the first dimensions of its vector, and 1 over their length."""
        found = vectors_of(self._scope.index.sketches)[self._scope.docs, :BEGINNING].astype(np.float32)
        return found, _inverse_lengths(found)

    def _whole(self, positions: npt.NDArray[np.integer]) -> tuple[Floats, Floats]:
        found = vectors_of(self._scope.index.sketches[self._scope.docs.take(positions)]).astype(np.float32)
        return found, _inverse_lengths(found)

    @cached_property
    def _servers(self) -> tuple[npt.NDArray[np.intp], Floats, Floats, npt.NDArray[np.bool_]]:
        """By position, the row of its server; by row, the sum of its tools' vectors, 1 over its length, and
        whether it was made yet. Tools whose servers have one name share one."""
        words = heads_of(self._scope.index.sketches[self._scope.docs])[:, 1:][:, SERVER_SLOTS]
        numbers: npt.NDArray[np.uint64] = (words.astype(np.uint64) * _ODD).sum(axis=1, dtype=np.uint64)
        several, rows = np.unique(numbers, return_inverse=True)
        sums = np.zeros((len(several), self._table.dimensions), np.float32)
        return rows, sums, np.ones(len(several), np.float32), np.zeros(len(several), np.bool_)

    def _sum_up(self, row: int) -> None:
        """Of vectors of length 1; as whole numbers, so that a product with another is exact."""
        rows, sums, inverse, is_made = self._servers
        vectors, inverse_lengths = self._whole(np.flatnonzero(rows == row))
        total = (vectors.astype(np.float64) * inverse_lengths[:, None]).sum(axis=0)
        sums[row] = np.round(total * (_WHOLE / max(float(np.abs(total).max()), 1e-9)))
        inverse[row] = _inverse_lengths(sums[row : row + 1])[0]
        is_made[row] = True

    def vector(self, plan: QueryPlan) -> Vector | None:
        """The query's, of whole numbers; None where no word of it has a row."""
        found = self._table.of_query([stems[0] for stems in plan.stems])
        return None if found is None else quantised(found)

    def nearest(self, vector: Vector, limit: int) -> list[int]:
        """Positions of tools that may be near, by the first dimensions, in which most of a vector is."""
        vectors, inverse = self._beginnings
        return best(vectors @ vector[:BEGINNING] * inverse, limit)

    def of(self, vector: Vector, positions: Positions) -> Cosines:
        rows, sums, inverse, is_made = self._servers
        its = rows.take(positions)
        for row in set(its[~is_made.take(its)].tolist()):
            self._sum_up(row)
        tools, lengths = self._whole(positions)
        length = 1 / np.sqrt(vector @ vector)
        return Cosines(
            tools @ vector * (lengths * length),
            sums.take(its, axis=0) @ vector * (inverse.take(its) * length),
        )


def _inverse_lengths(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.maximum(np.einsum("ij,ij->i", vectors, vectors), 1))
    found: Floats = np.float32(1) / lengths
    return found
