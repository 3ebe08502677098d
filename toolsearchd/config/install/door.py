"""The one entry that a client has for the daemon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from toolsearchd.config.entry import is_own_door
from toolsearchd.config.install.clients import InstallTarget

NAME = "toolsearchd"
_DISCLOSURE, _PROFILE = "--disclosure", "--profile"


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """How the daemon's entry starts it."""

    command: str
    before: tuple[str, ...] = ()  # words before `mcp`
    profile: str | None = None


def is_door(entry: object) -> bool:
    """Would this entry start `toolsearchctl mcp`?"""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("command"), str):
        return False
    args = entry.get("args")
    words = args if isinstance(args, list) else str(args or "").split()
    return is_own_door((entry["command"], *map(str, words)))


def door_entry(
    client: InstallTarget, door: Door, old: Mapping[str, Any], moved: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Of the client's shape, as patient as the most patient entry behind it. `old`: the entry that is there;
    what else it says stays."""
    words = _words(old)
    profile = (_PROFILE, door.profile) if door.profile else _profile_of(words)
    args = with_disclosure([*door.before, "mcp", "--client", client.name, *profile], disclosure_of(words))
    entry = {**client.door, **old, "command": door.command, "args": args}
    patience = [one[client.patience] for one in moved if _is_number(one.get(client.patience))]
    return entry | ({client.patience: max(patience)} if patience else {})


def with_disclosure(words: Sequence[str], mode: str) -> list[str]:
    """The door's words with `--disclosure direct`, or without it."""
    left: list[str] = []
    for word in words:
        if left[-1:] == [_DISCLOSURE]:
            left.pop()
        elif not word.startswith(f"{_DISCLOSURE}="):
            left.append(word)
    return [*left, _DISCLOSURE, "direct"] if mode == "direct" else left


def disclosure_of(words: Sequence[str]) -> str:
    said = (_DISCLOSURE, "direct") in pairwise(words) or f"{_DISCLOSURE}=direct" in words
    return "direct" if said else "progressive"


def _words(entry: Mapping[str, Any]) -> list[str]:
    args = entry.get("args")
    return list(map(str, args)) if isinstance(args, list) else []


def _profile_of(words: list[str]) -> tuple[str, ...]:
    at = words.index(_PROFILE) if _PROFILE in words else len(words)
    return tuple(words[at : at + 2])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
