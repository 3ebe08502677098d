"""The compiled index: per term a roaring set of doc ids with the term's frequencies by field beside it.

Immutable. A removed document keeps its place in the postings until the next compaction: it is in no mask, and
every statistic is taken inside a mask, so nothing can see it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.index.spellings import Spellings

Ids = npt.NDArray[np.uint32]
Docs = int | tuple[int, ...]  # one doc id, or several
Counts = npt.NDArray[np.unsignedinteger]  # as narrow as its largest value allows


class Posting(msgspec.Struct, frozen=True, gc=False):
    """One term: where it occurs, and how often in each field. Row i belongs to the i-th id of `docs`.

    Most terms occur in one document: plain bytes cost a third of an array object.
    """

    docs: BitMap
    rows: bytes  # counts, row by row
    type: str  # their array typecode, as narrow as the largest allows

    def frequencies(self, width: int) -> Counts:
        """The counts, shape (documents, fields)."""
        return np.frombuffer(self.rows, np.dtype(self.type)).reshape(-1, width)

    def ids(self) -> Ids:
        """The doc ids, ascending."""
        return np.frombuffer(self.docs.to_array(), dtype=np.uint32)


class Index:
    """What one analyzer made of the documents. Doc ids are the catalog's."""

    __slots__ = (
        "bare",
        "exact",
        "fields",
        "fingerprint",
        "frequencies_type",
        "lengths",
        "live",
        "postings",
        "sketches",
        "spellings",
    )

    def __init__(
        self,
        *,
        fields: tuple[str, ...],
        fingerprint: str,
        frequencies_type: str,
        postings: Mapping[str, Posting],
        lengths: npt.NDArray[np.uint32],
        live: BitMap,
        exact: Mapping[str, Docs],
        bare: Mapping[str, Docs],
        spellings: Spellings,
        sketches: npt.NDArray[np.uint8],
    ) -> None:
        self.fields = fields
        self.fingerprint = fingerprint
        self.frequencies_type = frequencies_type
        self.postings = postings
        self.lengths = lengths  # tokens: shape (doc ids, fields)
        self.live = live
        self.exact = exact  # full name, lower case
        self.bare = bare  # tool's own name, lower case
        self.spellings = spellings  # of all terms, and of some that are gone
        self.sketches = sketches  # by doc id; no bytes wide where there are none

    @classmethod
    def empty(cls, fields: tuple[str, ...], fingerprint: str, frequencies_type: str = "B") -> Index:
        return cls(
            fields=fields,
            fingerprint=fingerprint,
            frequencies_type=frequencies_type,
            postings={},
            lengths=np.zeros((0, len(fields)), np.uint32),
            live=BitMap(),
            exact={},
            bare={},
            spellings=Spellings(),
            sketches=np.zeros((0, 0), np.uint8),
        )

    def branch(self) -> Index:
        """The same index; what is built on it leaves this one's spellings as they are."""
        return Index(
            fields=self.fields,
            fingerprint=self.fingerprint,
            frequencies_type=self.frequencies_type,
            postings=self.postings,
            lengths=self.lengths,
            live=self.live,
            exact=self.exact,
            bare=self.bare,
            spellings=Spellings(below=self.spellings),
            sketches=self.sketches,
        )

    def __len__(self) -> int:
        return len(self.live)

    def named(self, name: str) -> tuple[int, ...]:
        """Doc ids of this full name, in lower case. Some may be dead."""
        return as_tuple(self.exact.get(name, ()))

    def bearing(self, name: str) -> tuple[int, ...]:
        """Doc ids of the tools whose own name, in lower case, is this. Some may be dead."""
        return as_tuple(self.bare.get(name, ()))

    def document_frequency(self, term: str, mask: BitMap) -> int:
        """In how many of the mask's documents the term occurs."""
        posting = self.postings.get(term)
        return posting.docs.intersection_cardinality(mask) if posting else 0


def bitmap(ids: npt.NDArray[np.integer]) -> BitMap:
    """A set of these ids. (Given a numpy array itself, BitMap walks it in Python: 10 ms for 100,000.)"""
    return BitMap(array("I", ids.astype(np.uint32).tobytes()))


def as_tuple(docs: Docs) -> tuple[int, ...]:
    return (docs,) if isinstance(docs, int) else docs


def narrowed(rows: bytes | bytearray, typecode: str) -> tuple[bytes, str]:
    """The same counts in the smallest unsigned type, and its typecode."""
    if typecode == "B":
        return bytes(rows), typecode
    counts = np.frombuffer(rows, np.dtype(typecode))
    top = int(counts.max()) if counts.size else 0
    smallest = "B" if top < 1 << 8 else "H" if top < 1 << 16 else typecode
    return counts.astype(np.dtype(smallest)).tobytes(), smallest
