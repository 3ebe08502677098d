"""What all schemas of one view weigh: asked where a bridge stands only before so and so much."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec

from toolsearchd.disclosure.listing_steps import Count
from toolsearchd.disclosure.seen import Seen
from toolsearchd.disclosure.tokens import chars4_of


class ViewSchemas:
    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._chars: int | None = None

    def weigh(self) -> Iterator[None]:
        """What `tokens` needs where characters are counted, a tool a step."""
        if self._chars is None:
            chars = 0
            for tool in self._seen.granted_tools():
                chars += len(msgspec.json.encode(self._seen.direct(tool)).decode())
                yield
            self._chars = chars

    def tokens(self, count: Count) -> int | None:
        """All of them; None where a description is too long to count."""
        if self._seen.dialect.count_by_chars:
            for _ in self.weigh():
                pass
            return chars4_of(self._chars or 0)
        return sum(map(count, self.texts)) if self.are_countable else None

    @cached_property
    def texts(self) -> list[str]:
        seen = self._seen
        return [msgspec.json.encode(seen.direct(tool)).decode() for tool in seen.granted_tools()]

    @cached_property
    def are_countable(self) -> bool:
        longest = self._seen.limits.analysed_bytes
        return all(
            len(tool.definition.description) <= longest and len(tool.definition.input_schema) <= longest
            for tool in self._seen.granted_tools()
        )
