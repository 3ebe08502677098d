"""What a server's tools/list gave, checked tool by tool: a bad tool costs itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Definition
from toolsearchd.catalog.naming import keeps
from toolsearchd.config.model import ServerSpec
from toolsearchd.limits import Limits
from toolsearchd.values import find_fault, representable, shown


class Listing(msgspec.Struct, frozen=True):
    """Usable tools in the server's order, and what was left out and why."""

    definitions: tuple[Definition, ...] = ()
    rejected: tuple[str, ...] = ()
    truncated: int = 0
    mended: tuple[str, ...] = ()  # tools that held what no text or number is, and what became of it

    @property
    def digests(self) -> tuple[str, ...]:
        return tuple(definition.digest for definition in self.definitions)


def listing_of(spec: ServerSpec, definitions: tuple[Definition, ...]) -> Listing:
    """A listing of an earlier run, as far as the spec's filters still let it through."""
    kept = tuple(d for d in definitions if keeps(d.name, spec.include, spec.exclude))
    return Listing(definitions if len(kept) == len(definitions) else kept)


class ListingCheck:
    """Checks a long list page by page, in steps, so that a caller can let others run in between.

    What a page was decoded to is let go with the page: 20,000 tools are a million small objects.
    """

    def __init__(self, spec: ServerSpec, limits: Limits) -> None:
        self._spec = spec
        self._limits = limits
        self._found: dict[str, Definition] = {}
        self._rejected: list[str] = []
        self._mended: list[str] = []
        self.seen = 0  # tools on the pages so far

    def take(self, page: list[Any]) -> Iterator[None]:
        """The next page, one tool a step; what is beyond the limit is not looked at."""
        room = max(0, self._limits.tools_per_server - self.seen)
        start, self.seen = self.seen, self.seen + len(page)
        for at, tool in enumerate(page[:room], start):
            self._check(at, tool)
            yield

    def listing(self, *, unread: int) -> Listing:
        """After the last page. `unread`: tools that are known to be on pages not asked for."""
        truncated = max(unread, self.seen - self._limits.tools_per_server, 0)
        return Listing(
            tuple(self._found.values()), tuple(self._rejected), truncated, mended=tuple(self._mended)
        )

    def _check(self, at: int, tool: Any) -> None:
        fault = find_fault(tool)
        if fault is not None:
            path, what = fault
            tool = representable(tool)
            name = tool.get("name") if isinstance(tool, dict) else None
            if path[:1] == ("name",):  # it could not be called by the one that it has
                self._rejected.append(f"{name!s:.64}: its name holds {what}")
                return
            where = ".".join(map(shown, path))
            self._mended.append(f"{name!s:.64}: {where} held {what}, which was replaced")
        try:
            definition = decode_definition(msgspec.json.encode(tool), self._limits)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            name = tool.get("name") if isinstance(tool, dict) else None
            self._rejected.append(f"{name!s:.64}: {error}" if name else f"tool {at}: {error}")
            return
        if not keeps(definition.name, self._spec.include, self._spec.exclude):
            return
        if definition.name in self._found:
            self._rejected.append(f"{definition.name:.64}: the name stands twice; the first counts")
            return
        self._found[definition.name] = definition
