"""What a session may see of an index: the mask, and the statistics taken inside it.

Every number here equals the number that an index of only the granted documents would give. Documents are
numbered by their position in the ranker's order of equal scores, so a first maximum is the right one.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.index.postings import Counts, Index, Posting

Positions = npt.NDArray[np.int32]
Scores = npt.NDArray[np.floating]

_BLOCKS_FROM = 1_000
_BLOCKS = 8  # per place, when the best of many are looked for


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
        self._whole = len(self.docs) == size  # no document of a posting is outside

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
        positions = self.position_of.take(posting.ids())
        frequencies = posting.frequencies(len(self.index.fields))
        if self._whole:
            return positions, frequencies
        kept = positions >= 0
        return (positions, frequencies) if kept.all() else (positions[kept], frequencies[kept])

    def occurrences_of(self, postings: Sequence[Posting]) -> tuple[Positions, Counts, list[int]]:
        """Occurrences of several terms, one after the other, and where each one's end. Counts of type `B`."""
        ids, sizes = array("I"), []
        for posting in postings:
            ids.extend(posting.docs.to_array())
            sizes.append(len(ids))
        positions = self.position_of.take(np.frombuffer(ids, np.uint32))
        rows = b"".join([posting.rows for posting in postings])
        frequencies = np.frombuffer(rows, np.uint8).reshape(-1, len(self.index.fields))
        if self._whole:
            return positions, frequencies, sizes
        kept = positions >= 0
        before = np.concatenate(([0], kept.cumsum()))
        return positions[kept], frequencies[kept], before[sizes].tolist()

    def positions(self, docs: Sequence[int]) -> list[int]:
        """Positions of those doc ids that the scope holds, ascending."""
        return sorted(position for doc in docs if (position := int(self.position_of[doc])) >= 0)


def best(scores: Scores, limit: int) -> list[int]:
    """Positions of the `limit` largest positive scores, best first, equal ones in order."""
    if limit <= 0 or not len(scores):
        return []
    floor = _floor(scores, limit)
    chosen = (scores >= floor if floor > 0 else scores > 0).nonzero()[0]
    ranked: list[int] = chosen[(-scores[chosen]).argsort(kind="stable")[:limit]].tolist()
    return ranked


def _floor(scores: Scores, limit: int) -> float:
    """A score that the `limit` best all reach, and few others."""
    if limit >= len(scores):
        return 0.0
    block = len(scores) // (_BLOCKS * limit)
    if block > 1 and len(scores) > _BLOCKS_FROM:
        # The limit-th best of the blocks' best: at least `limit` scores reach it. Costs one pass.
        whole = len(scores) - len(scores) % block
        scores = scores[:whole].reshape(block, -1).max(axis=0)  # many short columns: one pass over whole rows
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
