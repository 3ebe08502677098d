"""The listing: what hides behind the bridge, in as much detail as the budget allows.

`render` has the reference's rule (the daemon's own is in `listing_steps`): all servers full; else all
names-only; else servers collapse to a summary line one after the other, largest names block first; else
nothing. Equal catalogs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

Form = Literal["full", "names", "mixed", "groups", "none"]
Measure = Callable[[Sequence[str]], int]
"""Tokens of a text given as its blocks, which are joined by newlines."""

HEADER = "Listed names exist: load schemas by tool_describe, then run tools with tool_call."
assert len(HEADER) == 81  # as long as the reference's, so that both budget the same


class ListedServer(msgspec.Struct, frozen=True, weakref=True, cache_hash=True):
    """One server's part: `tools` are (name, short description), sorted; `reason` where it is unavailable."""

    label: str
    tools: tuple[tuple[str, str], ...]
    tool_count: int
    reason: str = ""
    about: str = ""  # the first of the server's own words on how to use it; not in the reference's forms

    @property
    def full(self) -> str:
        lines = [f"- {name}: {short}" if short else f"- {name}" for name, short in self.tools]
        return "\n".join([f"{self.label} tools ({len(self.tools)}):", *lines])

    @property
    def names(self) -> str:
        return f"{self.label} tools ({len(self.tools)}):\n" + ", ".join(name for name, _ in self.tools)

    @property
    def summary(self) -> str:
        return f"{self.label} ({len(self.tools)} tools — names not listed; discover via `tool_search`)"

    @property
    def unavailable(self) -> str:
        count = f"{self.tool_count} tools, " if self.tool_count else ""
        return f"{self.label} ({count}unavailable: {self.reason})"


class Listing(msgspec.Struct, frozen=True):
    text: str
    form: Form
    tokens: int


NO_LISTING = Listing("", "none", 0)


def listed(label: str, tools: Iterable[tuple[str, str]], about: str = "") -> ListedServer:
    """A server that is up, with its tools in any order."""
    ordered = tuple(sorted(tools))
    return ListedServer(label, ordered, len(ordered), about=about)


def unavailable(label: str, tool_count: int, reason: str) -> ListedServer:
    """A server that is down; `tool_count`: how many tools it had when last seen."""
    return ListedServer(label, (), tool_count, reason)


def render(servers: Sequence[ListedServer], budget: int, measure: Measure, header: str) -> Listing:
    """The most detailed form that fits the budget; the order of `servers` does not matter."""
    ordered = sorted(servers, key=lambda server: (server.label, server.tools))
    up = [server for server in ordered if not server.reason]
    down = [server.unavailable for server in ordered if server.reason]

    def attempt(blocks: Sequence[str], form: Form) -> Listing | None:
        lines = [header, *blocks, *down]
        tokens = measure(lines)
        return Listing("\n".join(lines), form, tokens) if tokens <= budget else None

    if not up:
        return (attempt([], "groups") if down else None) or NO_LISTING
    blocks = [server.names for server in up]
    found = attempt([server.full for server in up], "full") or attempt(blocks, "names")
    largest_first = sorted(range(len(up)), key=lambda at: (-len(blocks[at]), at))
    for collapsed, at in enumerate(largest_first, 1):
        if found is not None:
            break
        blocks[at] = up[at].summary
        found = attempt(blocks, "mixed" if collapsed < len(up) else "groups")
    return found or NO_LISTING
