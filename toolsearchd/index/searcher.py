"""A query's answer: what a ranker returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import msgspec

from toolsearchd.index.scope import Scope


class Hit(NamedTuple):
    doc: int
    score: float  # `math.inf`: named exactly
    p: float | None = None  # that it is a right one, where the second stage judged it


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One query's answer. `matches` may be acted on; who sees only `near` knows that it is guessing."""

    matches: list[Hit] = []
    near: list[Hit] = []  # matches and near together are at most `limit`
    unknown: list[str] = []  # query words that no tool of the scope carries, as they were typed
    absent_product: str | None = None  # a product the query names and no tool carries
    by_sentences: bool = False  # had the sentence model a part in it?
    diagnostics: dict[str, Any] = {}  # the gate and its numbers, for explain and tests


class Searcher(Protocol):
    """Answers queries within one scope. Synchronous; safe to share between sessions of the same grant."""

    scope: Scope

    def search(self, query: str, limit: int) -> Group: ...

    def prepare(self) -> Iterator[None]:
        """Makes ahead, in steps of about 2 ms, what the first searches would have to make."""
        ...
