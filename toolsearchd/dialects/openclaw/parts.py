"""The first generation's ranking: a tool scores for each word of the query that any of its texts holds.

Every text is looked through for every query. Each field's texts stand in one string, so that what is looked
for is found at the speed of one search, and only hits cost more.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from toolsearchd.dialects.openclaw.catalog import OpenclawEntry
from toolsearchd.dialects.openclaw.ranker import id_order

_PARTS = re.compile(r"[a-z0-9_./:-]+")
_EQUAL = 20  # name or id are the word
_WEIGHTS = (8, 6, 4, 2)  # name, id, label, description hold it
_BETWEEN = "\0"  # in no clean text


class PartsIndex:
    """`build` in steps, then `search`."""

    def __init__(self) -> None:
        self._entries: list[OpenclawEntry] = []
        self._fields: list[_Field] = []
        self._equal: dict[str, set[int]] = {}  # name or id → places

    def build(self, entries: Iterator[OpenclawEntry]) -> Iterator[None]:
        """Steps of a tool each."""
        columns: tuple[list[str], ...] = ([], [], [], [])
        for place, entry in enumerate(entries):
            self._entries.append(entry)
            texts = (entry.name, entry.id, entry.label, entry.description)
            for column, text in zip(columns, texts, strict=True):
                column.append(text.lower())
            for text in texts[:2]:
                self._equal.setdefault(text.lower(), set()).add(place)
            yield
        for column in columns:
            self._fields.append(_Field(column))
            yield

    def search(self, query: str, limit: int) -> list[OpenclawEntry]:
        """The best first, equal ones by id; a query without a word finds everything."""
        parts = _PARTS.findall(query.lower())
        scores = np.full(len(self._entries), 0 if parts else 1, np.int64)
        for part in parts:
            for field, weight in zip(self._fields, _WEIGHTS, strict=True):
                scores[field.holding(part)] += weight
            scores[list(self._equal.get(part, ()))] += _EQUAL
        found = np.flatnonzero(scores > 0)
        if len(found) > limit:
            floor = np.partition(scores[found], len(found) - limit)[len(found) - limit]
            found = np.flatnonzero(scores >= max(int(floor), 1))
        ranked = sorted(found.tolist(), key=lambda at: (-scores[at], id_order(self._entries[at].id)))
        return [self._entries[at] for at in ranked[:limit]]


class _Field:
    """One text per tool."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = _BETWEEN.join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def holding(self, part: str) -> list[int]:
        """The places whose text holds the part."""
        found, at = [], self._text.find(part)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            found.append(place)
            at = self._text.find(part, self._starts[place + 1])
        return found
