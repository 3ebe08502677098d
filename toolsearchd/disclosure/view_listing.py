"""One view's listing: which tools of which servers it lists, and the text for a budget.

What did not change from one snapshot to the next is not made again: a server's part is kept with the tools it
was made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from toolsearchd.catalog.model import Source, Tool
from toolsearchd.disclosure.listing import HEADER, ListedServer, Listing, listed, render, unavailable
from toolsearchd.disclosure.listing_steps import Count, ListingPlan, forms_of, units_to_count
from toolsearchd.disclosure.sanitise import clipped, plain_line, short_description, without_paths
from toolsearchd.disclosure.seen import Seen
from toolsearchd.disclosure.tokens import chars4_of

REASON_CHARS = 200
ABOUT_CHARS = 120


class ViewListing:
    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._texts = seen.texts
        self._parts: dict[str, ListedServer | None] = {}  # by the source's name, in catalog order
        self._plans: dict[Count, ListingPlan] = {}

    def prepare(self) -> Iterator[None]:
        """The work that is kept, in steps of a tool or a server."""
        for source in self._seen.sources:
            yield from self._make(source)
            server = self._parts[source.name]
            if server is not None and not self._seen.dialect.count_by_chars:
                forms_of(server)
            yield

    @cached_property
    def servers(self) -> list[ListedServer]:
        for source in self._seen.sources:
            for _ in self._make(source):
                pass
        return [server for server in self._parts.values() if server is not None]

    def weigh(self, count: Count) -> Iterator[None]:
        """Adds up what each server's forms cost, a server a step; what is left, `within` does."""
        for server in self.servers:
            forms_of(server).chain(count)
            yield

    def texts_to_count(self, known: Count | None) -> Iterator[str]:
        """What `within` asks `count` about, but for a whole text; not what was counted by `known` before."""
        return units_to_count(self.servers, known)

    def within(self, budget: int, count: Count) -> Listing:
        """The dialect's listing of at most so many tokens."""
        if self._seen.dialect.count_by_chars:
            return render(self.servers, budget, _chars4_of_lines, HEADER)
        return self._plan(count).listing(budget)

    def of_bytes(self, most: int) -> str:
        """By the same rule as `within`, in bytes of UTF-8."""
        if self._seen.dialect.count_by_chars:
            return render(self.servers, most, lambda lines: _bytes("\n".join(lines)), HEADER).text
        return self._plan(_bytes).listing(most).text

    def _plan(self, count: Count) -> ListingPlan:
        plan = self._plans.get(count)
        if plan is None:
            plan = self._plans[count] = ListingPlan(self.servers, count)
        return plan

    def _make(self, source: Source) -> Iterator[None]:
        """Its part, a tool a step; nothing is done where it is made."""
        if source.name in self._parts:
            return
        seen, label = self._seen, label_of(self._seen, source)
        tools = self._tools(source)
        part: ListedServer | None = None  # it is up and has no tool that could be listed
        if not tools and not source.available:
            part = unavailable(label, source.declared_tools, reason_of(source))
        elif tools:
            key = (seen.dialect.name, seen.grant, source.name)
            part = self._texts.listed(key, tools, source.instructions)
            if part is None:
                pairs = []
                for tool in tools:
                    pairs.append((seen.name_of(tool), self._texts.short(tool.definition)))
                    yield
                part = listed(label, pairs, about_of(source))
                self._texts.keep_listed(key, tools, source.instructions, part)
        self._parts[source.name] = part

    def _tools(self, source: Source) -> tuple[Tool, ...]:
        """What hides of it; a pinned tool's schema is there already."""
        seen = self._seen
        tools, pinned = seen.snapshot.tools, seen.pinned_names
        docs = seen.snapshot.docs_of[source.name] & seen.mask
        found = (tool for doc in docs if (tool := tools[doc]) is not None)
        return tuple(tool for tool in found if tool.public_name not in pinned) if pinned else tuple(found)


def about_of(source: Source) -> str:
    """The first sentence of the server's own words on how to use it; at most `ABOUT_CHARS`."""
    return short_description(source.instructions, ABOUT_CHARS)


def label_of(seen: Seen, source: Source) -> str:
    return plain_line(seen.dialect.label_of(source.name))


def reason_of(source: Source) -> str:
    """Why it is unavailable, in a line that a model may see."""
    return clipped(plain_line(without_paths(source.reason)), REASON_CHARS) or source.state


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _chars4_of_lines(blocks: Sequence[str]) -> int:
    return chars4_of(sum(len(block) + 1 for block in blocks) - 1)
