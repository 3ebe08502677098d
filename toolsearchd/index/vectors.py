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


class _Tools(NamedTuple):
    """By position."""

    whole: npt.NDArray[np.int8]
    lengths: Floats  # 1 over each
    beginnings: Floats  # the first dimensions
    lengths_of_beginnings: Floats


class _Servers(NamedTuple):
    """Tools whose servers have one name share one."""

    rows: npt.NDArray[np.intp]  # by position
    sums: Floats  # by row: of its tools' vectors
    lengths: Floats
    is_made: npt.NDArray[np.bool_]  # each sum at its first use


class WordVectors:
    """Of the word table. Vectors are of whole numbers up to 127, so that float32 sums them exactly."""

    def __init__(self, scope: Scope, table: WordTable) -> None:
        self._scope = scope
        self._table = table

    @cached_property
    def _tools(self) -> _Tools:
        whole = vectors_of(self._scope.index.sketches)[self._scope.docs]
        beginnings = whole[:, :BEGINNING].astype(np.float32)
        return _Tools(whole, _over_lengths(whole), beginnings, _over_lengths(beginnings))

    @cached_property
    def _servers(self) -> _Servers:
        words = heads_of(self._scope.index.sketches[self._scope.docs])[:, 1:][:, SERVER_SLOTS]
        numbers: npt.NDArray[np.uint64] = (words.astype(np.uint64) * _ODD).sum(axis=1, dtype=np.uint64)
        several, rows = np.unique(numbers, return_inverse=True)
        count = len(several)
        sums = np.zeros((count, self._table.dimensions), np.float32)
        return _Servers(rows, sums, np.ones(count, np.float32), np.zeros(count, np.bool_))

    def _sum_up(self, row: int) -> None:
        """Of vectors of length 1; as whole numbers, so that a product with another is exact."""
        servers, its = self._servers, np.flatnonzero(self._servers.rows == row)
        lengths = self._tools.lengths.take(its)[:, None]
        total = (self._tools.whole.take(its, axis=0) * lengths.astype(np.float64)).sum(axis=0)
        servers.sums[row] = np.round(total * (_WHOLE / max(float(np.abs(total).max()), 1e-9)))
        servers.lengths[row] = _over_lengths(servers.sums[row : row + 1])[0]
        servers.is_made[row] = True

    def vector(self, plan: QueryPlan) -> Vector | None:
        """The query's without its values, of whole numbers; None where no word of it has a row."""
        found = self._table.of_query(plan.asked_stems())
        return None if found is None else quantised(found)

    def nearest(self, vector: Vector, limit: int) -> list[int]:
        """Positions of tools that may be near, by the first dimensions, in which most of a vector is."""
        tools = self._tools
        return best(tools.beginnings @ vector[:BEGINNING] * tools.lengths_of_beginnings, limit)

    def of(self, vector: Vector, positions: Positions) -> Cosines:
        tools, servers = self._tools, self._servers
        rows = servers.rows.take(positions)
        for row in set(rows[~servers.is_made.take(rows)].tolist()):
            self._sum_up(row)
        length = 1 / np.sqrt(vector @ vector)
        its = tools.whole.take(positions, axis=0).astype(np.float32)
        return Cosines(
            its @ vector * (tools.lengths.take(positions) * length),
            servers.sums.take(rows, axis=0) @ vector * (servers.lengths.take(rows) * length),
        )


def _over_lengths(vectors: npt.NDArray[np.number]) -> Floats:
    exact = vectors.astype(np.float32)
    found: Floats = 1 / np.sqrt(np.maximum(np.einsum("ij,ij->i", exact, exact), np.float32(1)))
    return found
