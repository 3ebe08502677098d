"""Which known terms are one edit from a word? Found by tables of the terms of one first letter and length."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_SHORTEST, _LONGEST = 4, 25  # letters of a term; shorter words have too many neighbours


class _Table(NamedTuple):
    """The terms of one first letter and length."""

    terms: tuple[str, ...]
    letters: npt.NDArray[np.uint8]  # shape (terms, length)
    total: npt.NDArray[np.int64]  # of each term's letters
    squares: npt.NDArray[np.int64]

    @classmethod
    def of(cls, terms: list[str]) -> _Table:
        letters = np.frombuffer("".join(terms).encode("ascii"), np.uint8).reshape(len(terms), -1)
        codes = letters.astype(np.int64)
        return cls(tuple(terms), letters, codes.sum(axis=1), (codes * codes).sum(axis=1))


class Spellings:
    """Grows only: indexes of one lineage share it. A term may have left the catalog since; ask the index."""

    def __init__(self, terms: Iterable[str] = (), below: Spellings | None = None) -> None:
        """`terms`: those known already; looked at when the first spelling is asked for. `below`: others that
        are known too, and learn nothing of what is added here."""
        self._unread = terms
        self._below = below
        self._terms: dict[tuple[str, int], list[str]] = {}
        self._tables: dict[tuple[str, int], _Table] = {}

    def add(self, term: str) -> None:
        """A new term; only words of ASCII letters are kept."""
        if _SHORTEST <= len(term) <= _LONGEST and term.isascii() and term.isalpha():
            self._terms.setdefault((term[0], len(term)), []).append(term)

    def near(self, word: str, known: Container[str]) -> list[str]:
        """The known terms one deletion, transposition, substitution or insertion away.

        `word`: lower-case ASCII letters; the first one is believed.
        """
        heads = [(word[:at], word[at:]) for at in range(1, len(word))]
        shorter = [head + tail[1:] for head, tail in heads]
        swapped = [head + tail[1] + tail[0] + tail[2:] for head, tail in heads[:-1]]
        found = [term for term in (*shorter, *swapped) if term in known]
        codes = word.encode("ascii")
        found += [term for term in self._substituted(codes) if term in known]
        found += [term for term in self._longer(word, codes) if term in known]
        return found

    def _substituted(self, codes: bytes) -> list[str]:
        found = [] if self._below is None else self._below._substituted(codes)
        table = self._table(chr(codes[0]), len(codes))
        if table is None:
            return found
        differing = table.letters != np.frombuffer(codes, np.uint8)
        few = np.add.reduce(differing, axis=1, dtype=np.uint8) <= 1
        return found + [table.terms[at] for at in few.nonzero()[0].tolist()]

    def _longer(self, word: str, codes: bytes) -> list[str]:
        """A term of one letter more has a sum and a sum of squares that agree on that letter."""
        found = [] if self._below is None else self._below._longer(word, codes)
        table = self._table(word[0], len(word) + 1)
        if table is None:
            return found
        letter = table.total - sum(codes)
        squared = table.squares - sum([code * code for code in codes])
        terms = [table.terms[at] for at in (letter * letter == squared).nonzero()[0].tolist()]
        return found + [
            term for term in terms if any(term[:at] + term[at + 1 :] == word for at in range(1, len(term)))
        ]

    def _table(self, first: str, length: int) -> _Table | None:
        if self._unread:
            unread, self._unread = self._unread, ()
            for term in unread:
                self.add(term)
        key = (first, length)
        terms = self._terms.get(key)
        if not terms:
            return None
        table = self._tables.get(key)
        if table is None or len(table.terms) != len(terms):
            table = self._tables[key] = _Table.of(terms)
        return table
