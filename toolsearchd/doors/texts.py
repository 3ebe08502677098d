"""What the door says of itself: the server's instructions, and where the listing goes.

Some clients cut a tool's description and the server's instructions after a known length. For those the
listing is placed in both, whole lines only: the description of `tool_search` first, because that can be
replaced when the listing changes; the rest in the instructions, which a client reads once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from toolsearchd.catalog.model import Tool

# Claude Code cuts descriptions and instructions at 2,048 characters each (since 2.1.84). Counted in bytes
# here: never fewer than characters, so both readings of "2 KB" hold.
CUT_BYTES = {"claude-code": 2048}

BRIDGED = (
    "These tools reach every MCP server that the user has set up; most of their tools are not listed here. "
    "Before you say that something can't be done, call `tool_search` with a few words for each thing you "
    "need; then `tool_describe` for the parameters of what you found, and `tool_call` with that name to run "
    "it. A tool seen before can be called again without searching."
)
DIRECT = (
    "These are the tools of the MCP servers that the user has set up, each named <server>__<tool>. "
    "Call them directly."
)
_HEADING = "Tools behind `tool_search`:"
_REST = "More tools behind `tool_search`:"


class Placed(NamedTuple):
    description: str  # of `tool_search`
    instructions: str


def cut_for(client: str) -> int | None:
    """After how many bytes this client cuts a description or the instructions; None: not known to."""
    return CUT_BYTES.get(client.lower())


def place_listing(listing: str, *, description: str, cut: int, servers: Iterable[tuple[str, int]]) -> Placed:
    """Puts the listing where a client that cuts after `cut` bytes still shows it.

    A listing too large for both places is replaced by a line per server (`servers`: name and number of
    tools), as many as fit: every server is named before any tool is.
    """
    if not listing.strip():
        return Placed(description, BRIDGED)
    placed, left = _fill(listing.splitlines(), description, cut)
    if left:
        lines = [f"- {name} ({count} {'tool' if count == 1 else 'tools'})" for name, count in servers]
        placed, left = _fill(lines, description, cut)
    return placed


def servers_of(tools: Iterable[Tool]) -> list[tuple[str, int]]:
    """Each server and its number of tools, in the order of its first tool."""
    counts: dict[str, int] = {}
    for tool in tools:
        counts[tool.server] = counts.get(tool.server, 0) + 1
    return list(counts.items())


def _fill(lines: list[str], description: str, cut: int) -> tuple[Placed, list[str]]:
    filled, rest = _append(f"{description}\n\n{_HEADING}", lines, cut)
    if len(rest) == len(lines):
        filled = description  # not one line fits: no heading either
    if not rest:
        return Placed(filled, BRIDGED), []
    instructions, left = _append(f"{BRIDGED}\n\n{_REST}", rest, cut)
    return Placed(filled, instructions if len(left) < len(rest) else BRIDGED), left


def _append(head: str, lines: list[str], cut: int) -> tuple[str, list[str]]:
    """`head` and as many lines as fit in `cut` bytes; the lines that did not."""
    used = len(head.encode())
    for index, line in enumerate(lines):
        used += 1 + len(line.encode())
        if used > cut:
            return "\n".join([head, *lines[:index]]), lines[index:]
    return "\n".join([head, *lines]), []
