"""What the door says of itself: the server's instructions, and where the listing goes.

Some clients cut a tool's description and the server's instructions after a known length. For those the
listing is placed in both: the description of `tool_search` first, because that can be replaced when the
listing changes; the rest in the instructions, which a client reads once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from toolsearchd.disclosure.sanitise import clipped

# Claude Code cuts descriptions and instructions at 2,048 characters each (since 2.1.84). Counted in bytes
# here: never fewer than characters, so both readings of "2 KB" hold.
CUT_BYTES = {"claude-code": 2048}

_REACH = (
    "These tools reach every MCP server that the user has set up; most of their tools are not listed here. "
    "Before you say that something can't be done, call `{search}` with a few words for each thing you need; "
)
_THREE = (
    "then `{describe}` for the parameters of what you found, and `{call}` with that name to run it. "
    "A tool seen before can be called again without searching."
)
_ONE = "what it finds can be called directly from then on."


def bridged(names: Mapping[str, str]) -> str:
    """The instructions beside a bridge; `names`: verb → the tool that does it."""
    rest = _THREE if {"describe", "call"} <= names.keys() else _ONE
    return (_REACH + rest).format(**names)


BRIDGED = bridged({"search": "tool_search", "describe": "tool_describe", "call": "tool_call"})
DIRECT = (
    "These are the tools of the MCP servers that the user has set up, each named <server>__<tool>. "
    "Call them directly."
)
_WORDS_CHARS = 4000  # of servers' own words, where there is no bridge to tell them with a tool


def direct(words: Mapping[str, str]) -> str:
    """The instructions where all tools are listed. `words`: server → how it says to use it, clean."""
    text = "".join(f"\n\n{server} says of its tools:\n{said}" for server, said in words.items())
    return DIRECT + clipped(text, _WORDS_CHARS)


_REST = "More behind `tool_search`:"
_TRIES = 8


class Placed(NamedTuple):
    description: str  # of `tool_search`
    instructions: str


def cut_for(client: str) -> int | None:
    """After how many bytes this client cuts a description or the instructions; None: not known to."""
    return CUT_BYTES.get(client.lower())


def place_listing(
    listing: str,
    *,
    description: str,
    cut: int,
    shorter: Callable[[int], str],
    instructions: str = BRIDGED,
) -> Placed:
    """Puts the listing where a client that cuts after `cut` bytes still shows it.

    `shorter(max_bytes)` gives a listing of less detail, or nothing, for one that is too large for both
    places. What does not fit even so is left out: the search finds it. `instructions` stand before the rest.
    """
    if not listing.strip():
        return Placed(description, instructions)
    room = 2 * cut - len(f"{description}{instructions}{_REST}".encode())
    placed, left = _fill(listing, description, cut, instructions)
    for _ in range(_TRIES):
        if not left or not (listing := shorter(max(room, 0))):
            break
        placed, left = _fill(listing, description, cut, instructions)
        room -= max(left, room // 20)  # lines don't part where the places end: that much less
    return placed


def _fill(listing: str, description: str, cut: int, instructions: str) -> tuple[Placed, int]:
    """Both places filled, and how many bytes found none."""
    lines = listing.splitlines()
    filled, rest = _append(description, lines, cut)
    if not rest:
        return Placed(filled, instructions), 0
    longer, left = _append(f"{instructions}\n\n{_REST}", rest, cut)
    return Placed(filled, instructions if left == rest else longer), len("\n".join(left).encode())


def _append(head: str, lines: list[str], cut: int) -> tuple[str, list[str]]:
    """`head` and as many lines as fit in `cut` bytes; the lines that did not. A line of names may part."""
    used = len(head.encode())
    for index, line in enumerate(lines):
        size = 1 + len(line.encode())
        if used + size > cut:
            names = _names_within(line, cut - used - 1)
            shown = [*lines[:index], names] if names else lines[:index]
            left = line[len(names) :].removeprefix(" ")
            return "\n".join([head, *shown]), [left, *lines[index + 1 :]]
        used += size
    return "\n".join([head, *lines]), []


def _names_within(line: str, room: int) -> str:
    """The part of a line of names (`a, b, c`) that fits, up to a comma; empty for any other line."""
    if line.startswith("- ") or ", " not in line:
        return ""
    fitting = line.encode()[: max(room, 0)].decode(errors="ignore")
    return fitting[: fitting.rfind(", ") + 1]
