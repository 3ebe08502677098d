"""The compiled index: per term a roaring set of doc ids with the term's frequencies by field beside it.

Immutable. A removed document keeps its place in the postings until the next compaction: it is in no mask, and
every statistic is taken inside a mask, so nothing can see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

Ids = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.unsignedinteger]  # as narrow as its largest value allows


class Posting(NamedTuple):
    """One term: where it occurs, and how often in each field. Row i belongs to the i-th id of `docs`."""

    docs: BitMap
    frequencies: Counts  # shape (documents, fields)

    def ids(self) -> Ids:
        """The doc ids, ascending."""
        return np.frombuffer(self.docs.to_array(), dtype=np.uint32)


class Index:
    """What one analyzer made of the documents. Doc ids are the catalog's."""

    __slots__ = ("bare", "exact", "fields", "fingerprint", "frequencies_type", "lengths", "live", "postings")

    def __init__(
        self,
        *,
        fields: tuple[str, ...],
        fingerprint: str,
        frequencies_type: str,
        postings: Mapping[str, Posting],
        lengths: npt.NDArray[np.uint32],
        live: BitMap,
        exact: Mapping[str, tuple[int, ...]],
        bare: Mapping[str, tuple[int, ...]],
    ) -> None:
        self.fields = fields
        self.fingerprint = fingerprint
        self.frequencies_type = frequencies_type
        self.postings = postings
        self.lengths = lengths  # tokens: shape (doc ids, fields)
        self.live = live
        self.exact = exact  # full name, lower case → doc ids
        self.bare = bare  # tool's own name, lower case → doc ids

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
        )

    def __len__(self) -> int:
        return len(self.live)

    def document_frequency(self, term: str, mask: BitMap) -> int:
        """In how many of the mask's documents the term occurs."""
        posting = self.postings.get(term)
        return posting.docs.intersection_cardinality(mask) if posting else 0


def narrow(counts: Counts) -> Counts:
    """The same counts in the smallest unsigned type."""
    if counts.dtype == np.uint8:
        return counts
    top = int(counts.max()) if counts.size else 0
    if top < 1 << 8:
        return counts.astype(np.uint8)
    return counts.astype(np.uint16) if top < 1 << 16 else counts
