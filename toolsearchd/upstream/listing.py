"""What a server's tools/list gave, checked tool by tool: a bad tool costs itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Definition, Source
from toolsearchd.catalog.naming import keeps
from toolsearchd.catalog.pages import Pages
from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.limits import Limits
from toolsearchd.values import find_fault, representable, shown

_REASON_CHARS = 300


class ServerListing(msgspec.Struct, frozen=True):
    """Usable tools in the server's order, whatever its entry's filters are, and what was left out and why."""

    definitions: tuple[Definition, ...] = ()
    rejected: tuple[str, ...] = ()
    truncated: int = 0
    mended: tuple[str, ...] = ()  # tools that held what no text or number is, and what became of it
    instructions: str = ""  # what the server said at the handshake of how to use it
    not_offered: tuple[str, ...] = ()  # tools that are as their server wants them, but for others than us
    cut: str = ""  # why pages of it were not asked for; empty: all were read

    @property
    def identities(self) -> tuple[tuple[str, bytes], ...]:
        return tuple(definition.identity for definition in self.definitions)


class Sifted(NamedTuple):
    """`withheld`: the others, each with its place in the whole list."""

    kept: tuple[Definition, ...] = ()
    withheld: tuple[tuple[int, Definition], ...] = ()


def sift(definitions: tuple[Definition, ...], spec: ServerSpec) -> Sifted:
    """What the entry's filters let through. The same object where that is everything."""
    withheld = tuple(
        (at, definition)
        for at, definition in enumerate(definitions)
        if not keeps(definition.name, spec.include, spec.exclude)
    )
    if not withheld:
        return Sifted(definitions)
    left_out = {at for at, _ in withheld}
    kept = tuple(definition for at, definition in enumerate(definitions) if at not in left_out)
    return Sifted(kept, withheld)


def listed_by(source: Source) -> tuple[Definition, ...]:
    """The whole list again, in the server's order."""
    if not source.withheld:
        return source.definitions
    kept, whole = iter(source.definitions), list[Definition]()
    for at, definition in source.withheld:
        whole += islice(kept, at - len(whole))
        whole.append(definition)
    return (*whole, *kept)


class Sieve:
    """A listing behind its entry's filters. What it gives is the same object until one of the two is another:
    the catalog knows by that what is indexed."""

    def __init__(self) -> None:
        self._of: tuple[tuple[Definition, ...], object] = ((), None)
        self._sifted = Sifted()

    def sift(self, definitions: tuple[Definition, ...], spec: ServerSpec) -> Sifted:
        filters = (spec.include, spec.exclude)
        if self._of[0] is not definitions or self._of[1] != filters:
            self._of, self._sifted = (definitions, filters), sift(definitions, spec)
        return self._sifted


def _not_for_models(tool: Mapping[str, Any]) -> str:
    """Why its server itself keeps it from a model that calls as here, if it does."""
    execution, meta = tool.get("execution"), tool.get("_meta")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return "needs the task augmentation, which the daemon does not speak"
    ui = meta.get("ui") if isinstance(meta, dict) else None
    seen_by = ui.get("visibility") if isinstance(ui, dict) else None
    if isinstance(seen_by, str):
        seen_by = [seen_by]
    if isinstance(seen_by, list) and "model" not in seen_by:
        return "is there for the server's own app, not for models"
    return ""


class ListingCheck:
    """Checks a long list page by page, in steps, so that a caller can let others run in between.

    What a page was decoded to is let go with the page: 20,000 tools are a million small objects.
    """

    def __init__(self, limits: Limits, refused: Callable[[dict[str, Any]], str] = lambda _: "") -> None:
        """`refused`: why the connection can't offer a tool, if it can't."""
        self._limits = limits
        self._refused = refused
        self._found: dict[str, Definition] = {}
        self._rejected: list[str] = []
        self._mended: list[str] = []
        self._more_rejected = 0
        self._not_offered: list[str] = []
        self._pages = Pages(limits, limits.list_bytes)
        self._left_out = 0
        self._first_page = 0  # tools on it
        self.seen = 0  # tools on the pages so far

    def take(self, page: list[Any]) -> Iterator[None]:
        """The next page, one tool a step; what is beyond a limit is not looked at."""
        start, self.seen = self.seen, self.seen + len(page)
        self._first_page = self._first_page or len(page)
        room = max(0, self._limits.tools_per_server - start)
        for at, tool in enumerate(page[:room]):
            if not self._check(start + at, tool):
                room = at
                break
            yield
        self._left_out += max(0, len(page) - room)

    def turn(self, cursor: Any) -> str | float | None:
        """After a page: the cursor to go on with; None where the list ends, or is too long."""
        return None if self.seen > self._limits.tools_per_server else self._pages.turn(cursor)

    def listing(self) -> ServerListing:
        """After the last page."""
        cut = self._pages.cut
        rejected = tuple(self._rejected)
        if self._more_rejected:
            rejected += (f"… and {self._more_rejected:,} more",)
        # How many are on pages that were not asked for nobody knows: one at least.
        return ServerListing(
            definitions=tuple(self._found.values()),
            rejected=rejected,
            truncated=max(self._left_out, bool(cut)),
            mended=tuple(self._mended),
            not_offered=tuple(self._not_offered),
            cut=cut,
        )

    def _check(self, at: int, tool: Any) -> bool:
        """False where the tool finds no room any more."""
        name: Any = None
        fault = find_fault(tool)
        if fault is not None:
            path, what = fault
            tool = representable(tool)
            name = tool.get("name") if isinstance(tool, dict) else None
            if path[:1] == ("name",):  # it could not be called by the one that it has
                self._reject(name, f"its name holds {what}")
                return True
            if len(self._mended) < self._limits.rejected_tools:
                where = ".".join(map(shown, path))
                words = f"{name!s:.64}: {where} held {what}, which was replaced"
                self._mended.append(plain_line(words))
        try:
            data = msgspec.json.encode(tool)
            if not self._pages.admits(len(data)):
                return False
            name = tool.get("name") if isinstance(tool, dict) else None
            definition = decode_definition(data, self._limits)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            self._reject(name or f"tool {at}", str(error))
            return True
        known = self._found.get(definition.name)
        if known is not None and known.digest == definition.digest and at >= self._first_page:
            return True  # the same again on another page: its cursor led back
        if known is not None:
            self._reject(definition.name, "the name stands twice; the first counts")
        elif why := _not_for_models(tool):
            if len(self._not_offered) < self._limits.rejected_tools:
                self._not_offered.append(plain_line(f"{definition.name:.64}: {why}"))
        elif why := self._refused(tool):
            self._reject(definition.name, why)
        else:
            self._found[definition.name] = definition
        return True

    def _reject(self, name: Any, reason: str) -> None:
        if len(self._rejected) < self._limits.rejected_tools:
            shown = name if isinstance(name, str) else f"a name that is {type(name).__name__}"
            self._rejected.append(plain_line(f"{shown:.64}: {reason:.{_REASON_CHARS}}"))
        else:
            self._more_rejected += 1
