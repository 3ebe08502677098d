"""The word table: a vector for each of some 20,000 stems; a text's vector is the sum of its stems' rows.

Read from a file of this package, mapped at the first use. `tests/bench/tables` makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from toolsearchd.index.mapped import Buffer, mapped_table
from toolsearchd.index.sketch import word_hash

MAGIC = b"toolsearchd words 1\n"
# Of the shipped file: part of the index's fingerprint.
DIGEST = "1882b9341ee6c658c74d922299fa64b0432fe54b14db24f0392c25c635a1ef41"

Vector = npt.NDArray[np.float32]

_KEPT_PLACES = 1 << 15
_KEPT_ROWS = 1 << 10  # half a kilobyte each


class WordTable:
    """Rows of int8, each with its scale, in the order of their stems' hashes."""

    def __init__(self, buffer: Buffer) -> None:
        """`buffer`: a file's bytes. Raises ValueError for what is no table."""
        if bytes(buffer[: len(MAGIC)]) != MAGIC:
            raise ValueError("no word table")
        at = len(MAGIC)
        self.count, self.dimensions = np.frombuffer(buffer, np.uint32, 2, at).tolist()
        at += 8
        self._hashes = np.frombuffer(buffer, np.uint32, self.count, at)
        at += 4 * self.count
        self._scales = np.frombuffer(buffer, np.float32, self.count, at)
        at += 4 * self.count
        self._rows = np.frombuffer(buffer, np.int8, self.count * self.dimensions, at).reshape(
            -1, self.dimensions
        )
        self._places: dict[str, int] = {}
        self._read: dict[str, Vector | None] = {}

    def place(self, stem: str) -> int:
        """The stem's row; -1 where it has none."""
        found = self._places.get(stem)
        if found is None:
            wanted = word_hash(stem)
            at = int(self._hashes.searchsorted(np.uint32(wanted)))
            found = at if at < self.count and int(self._hashes[at]) == wanted else -1
            if len(self._places) >= _KEPT_PLACES:
                self._places.clear()
            self._places[stem] = found
        return found

    def of_query(self, stems: Sequence[str]) -> Vector | None:
        """`vector` of a few words whose rows are kept."""
        rows = [row for stem in stems if (row := self._row(stem)) is not None]
        if not rows:
            return None
        total = sum(rows[1:], rows[0])
        return total if total.any() else None

    def _row(self, stem: str) -> Vector | None:
        if stem not in self._read:
            if len(self._read) >= _KEPT_ROWS:
                self._read.clear()
            at = self.place(stem)
            self._read[stem] = None if at < 0 else self._rows[at] * self._scales[at]
        return self._read[stem]

    def vector(self, stems: Iterable[str], weights: Vector | None = None) -> Vector | None:
        """The sum of their rows, each times its weight; None where nothing is left of it."""
        places = np.array([self.place(stem) for stem in stems], np.intp)
        counted = places >= 0 if weights is None else (places >= 0) & (weights > 0)
        places = places[counted]
        factors = self._scales[places]
        if weights is not None:
            factors = factors * weights[counted]
        total: Vector = factors @ self._rows[places].astype(np.float32)
        return total if total.any() else None


def pack(stems: Iterable[str], rows: npt.NDArray[np.float32]) -> bytes:
    """The file's bytes. `rows`: a row a stem."""
    hashes = np.array([word_hash(stem) for stem in stems], np.uint32)
    _, first = np.unique(hashes, return_index=True)  # of stems of one hash the first, the commoner one
    scales = np.abs(rows[first]).max(axis=1) / 127 + 1e-12
    whole = np.round(rows[first] / scales[:, None]).astype(np.int8)
    head = np.array(whole.shape, np.uint32)
    parts = (head, hashes[first], scales.astype(np.float32), whole)
    return MAGIC + b"".join(part.tobytes() for part in parts)


def quantised(vector: Vector) -> Vector:
    """Of whole numbers up to 127. What it points to is kept, its length is not."""
    return np.round(vector * (127 / float(np.abs(vector).max())))


@cache
def word_table() -> WordTable:
    """The shipped one. Raises ValueError where the file is another one than this package was made with."""
    return WordTable(mapped_table("words.bin", DIGEST))
