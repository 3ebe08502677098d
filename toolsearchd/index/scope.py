"""What a session may see of an index: the mask, and the statistics taken inside it.

Every number here equals the number that an index of only the granted documents would give. Documents are
numbered by their position in the ranker's order of equal scores, so a first maximum is the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.index.postings import Counts, Index

Positions = npt.NDArray[np.int32]
Scores = npt.NDArray[np.floating]

_BLOCK = 256  # documents per block when the best of many are looked for


class Scope:
    """An index under a mask. `order`: the index's live doc ids in the order of equal scores."""

    def __init__(self, index: Index, mask: BitMap, order: npt.NDArray[np.integer] | Sequence[int]) -> None:
        self.index = index
        self.mask = mask & index.live
        ordered = np.asarray(order, dtype=np.int32)
        size = len(index.lengths)
        ordered = ordered[ordered < size]  # ids after the index's last: tools that it could not take
        granted = np.zeros(size, dtype=bool)
        granted[np.frombuffer(self.mask.to_array(), dtype=np.uint32)] = True
        self.docs: Positions = ordered[granted[ordered]]  # position → doc id
        self.position_of = np.full(size, -1, dtype=np.int32)  # doc id → position
        self.position_of[self.docs] = np.arange(len(self.docs), dtype=np.int32)

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.docs)

    @cached_property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """Tokens by position and field."""
        return self.index.lengths[self.docs]

    @cached_property
    def mean_lengths(self) -> list[float]:
        """Mean tokens per field, 1.0 at least: a field that is empty everywhere divides nothing by zero."""
        totals = self.lengths.sum(axis=0, dtype=np.int64)
        return [max(1.0, int(total) / self.size) if self.size else 1.0 for total in totals]

    def document_frequency(self, term: str) -> int:
        """In how many documents of the scope the term occurs."""
        return self.index.document_frequency(term, self.mask)

    def occurrences(self, term: str) -> tuple[Positions, Counts]:
        """Where the term occurs, and its counts by field. In no particular order."""
        posting = self.index.postings.get(term)
        if posting is None:
            return np.zeros(0, np.int32), np.zeros((0, len(self.index.fields)), np.uint8)
        positions = self.position_of[posting.ids()]
        kept = positions >= 0
        frequencies = posting.frequencies(len(self.index.fields))
        return (positions, frequencies) if kept.all() else (positions[kept], frequencies[kept])

    def positions(self, docs: Sequence[int]) -> list[int]:
        """Positions of those doc ids that the scope holds, ascending."""
        return sorted(position for doc in docs if (position := int(self.position_of[doc])) >= 0)


def best(scores: Scores, limit: int) -> list[int]:
    """Positions of the `limit` largest positive scores, best first, equal ones in order."""
    if limit <= 0 or not len(scores):
        return []
    floor = _floor(scores, limit)
    chosen = np.flatnonzero(scores >= floor) if floor > 0 else np.flatnonzero(scores > 0)
    ranked = chosen[np.argsort(-scores[chosen], kind="stable")]
    return [int(position) for position in ranked[:limit]]


def _floor(scores: Scores, limit: int) -> float:
    """A score that the `limit` best all reach, and few others."""
    if limit >= len(scores):
        return 0.0
    whole = len(scores) - len(scores) % _BLOCK
    if whole >= 4 * limit * _BLOCK:
        # The limit-th best of the blocks' best: at least `limit` scores reach it. Costs one pass.
        scores = scores[:whole].reshape(-1, _BLOCK).max(axis=1)
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
