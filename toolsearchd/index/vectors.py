"""The query's vector against those of a scope's tools and servers."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from toolsearchd.index.query import QueryPlan
from toolsearchd.index.scope import Positions, Scope
from toolsearchd.index.sketch import SERVER_SLOTS, heads_of, vectors_of
from toolsearchd.index.words import Vector, WordTable, quantised

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
    def _tools(self) -> tuple[Floats, Floats]:
        """By position: the vector, and 1 over its length."""
        found = vectors_of(self._scope.index.sketches[self._scope.docs]).astype(np.float32)
        return found, 1 / np.sqrt(np.maximum(np.einsum("ij,ij->i", found, found), 1))

    @cached_property
    def _servers(self) -> tuple[npt.NDArray[np.intp], Floats]:
        """By position the server's number; by number the sum of its tools' vectors, of length 1."""
        vectors, inverse = self._tools
        named = heads_of(self._scope.index.sketches[self._scope.docs])[:, 1:][:, SERVER_SLOTS]
        _, number = np.unique(named, axis=0, return_inverse=True)
        order = np.argsort(number, kind="stable")
        starts = np.flatnonzero(np.diff(number[order], prepend=-1))
        sums = np.add.reduceat((vectors * inverse[:, None])[order].astype(np.float64), starts, axis=0)
        lengths = np.sqrt((sums * sums).sum(axis=1, keepdims=True))
        return number, (sums / np.maximum(lengths, 1e-9)).astype(np.float32)

    def vector(self, plan: QueryPlan) -> Vector | None:
        """The query's, of whole numbers; None where no word of it has a row."""
        found = self._table.vector([(stems[0], 1.0) for stems in plan.stems])
        if found is None:
            return None
        return np.frombuffer(quantised(found, self._table.dimensions), np.int8).astype(np.float32)

    def of_all(self, vector: Vector) -> Floats:
        """Of the scope's tools, by position."""
        vectors, inverse = self._tools
        cosines: Floats = (vectors @ vector) * (inverse / np.sqrt(vector @ vector))
        return cosines

    def of(self, vector: Vector, tools: Floats, positions: Positions) -> Cosines:
        """`tools`: of all."""
        number, servers = self._servers
        unit = vector / np.sqrt(vector @ vector)
        which = number[positions]
        # Row by row: a product of matrices may sum equal rows in different orders.
        return Cosines(tools[positions], (servers[which] * unit).sum(axis=1))
