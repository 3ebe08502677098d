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

_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], np.uint64)

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
        self._sums: dict[int, Floats] = {}

    @cached_property
    def _tools(self) -> tuple[Floats, Floats]:
        """By position: the vector, and 1 over its length."""
        found = vectors_of(self._scope.index.sketches[self._scope.docs]).astype(np.float32)
        return found, 1 / np.sqrt(np.maximum(np.einsum("ij,ij->i", found, found), 1))

    @cached_property
    def _server_of(self) -> npt.NDArray[np.uint64]:
        """By position, a number that tools whose servers have one name share."""
        words = heads_of(self._scope.index.sketches[self._scope.docs])[:, 1:][:, SERVER_SLOTS]
        numbers: npt.NDArray[np.uint64] = (words.astype(np.uint64) * _ODD).sum(axis=1, dtype=np.uint64)
        return numbers

    def _server(self, number: int) -> Floats:
        """The sum of a server's tools' vectors, each of length 1, of length 1 itself."""
        found = self._sums.get(number)
        if found is None:
            vectors, inverse = self._tools
            its = np.flatnonzero(self._server_of == number)
            total = (vectors[its].astype(np.float64) * inverse[its, None]).sum(axis=0)
            found = (total / max(float(np.sqrt((total * total).sum())), 1e-9)).astype(np.float32)
            self._sums[number] = found
        return found

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
        unit = vector / np.sqrt(vector @ vector)
        numbers = self._server_of[positions].tolist()
        several = list(dict.fromkeys(numbers))
        sums = (np.stack([self._server(number) for number in several]) * unit).sum(axis=1)
        of_server = dict(zip(several, sums.tolist(), strict=True))
        return Cosines(tools[positions], np.array([of_server[number] for number in numbers], np.float32))
