"""Families of tool names: `zone_* (412)` says in four tokens what 412 names would say in 4,000.

A family is a beginning that ends where a word does. The largest family is divided into its own families, for
as long as there are few enough to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Where a word ends: behind separators, and where a small letter or a digit meets a capital.
_ENDS = re.compile(r"(?<=[^_\-./: ])[_\-./: ]+(?=[^_\-./: ])|(?<=[a-z0-9])(?=[A-Z])")


class Family(NamedTuple):
    prefix: str
    names: Sequence[str]  # sorted

    def __str__(self) -> str:
        return self.names[0] if len(self.names) == 1 else f"{self.prefix}* ({len(self.names)})"

    @property
    def order(self) -> tuple[int, str]:
        return -len(self.names), self.prefix


def families(names: Iterable[str]) -> tuple[list[Family], int]:
    """Largest first, and how many names are in none of them. The order of `names` does not matter.

    Twice as many families as the number of names has bits: 10 of 26 names, 24 of 3,000.
    """
    found = [Family("", sorted(set(names)))]
    most = 2 * len(found[0].names).bit_length()
    while len(found) == 1 and len(found[0].names) > 1:  # what all have in common says nothing
        found = _divided(found[0])
    found.sort(key=lambda family: family.order)
    if len(found) > most:
        return found[:most], sum(len(family.names) for family in found[most:])
    while True:
        for at, family in enumerate(found):
            parts = _divided(family)
            if 1 < len(parts) <= most - len(found) + 1:
                found[at : at + 1] = parts
                break
        else:
            return found, 0
        found.sort(key=lambda family: family.order)


def _divided(family: Family) -> list[Family]:
    """By the next word. Each part's beginning is the longest that all its names have."""
    parts: dict[str, list[str]] = {}
    for name in family.names:
        parts.setdefault(_longer(name, family.prefix), []).append(name)
    return [Family(_common(prefix, members), members) for prefix, members in parts.items()]


def _common(prefix: str, members: Sequence[str]) -> str:
    first, last = members[0], members[-1]
    shared = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other),
        min(len(first), len(last)),
    )
    if shared == len(first):
        return first
    end = len(prefix)
    for found in _ENDS.finditer(first, end + 1):
        if found.end() > shared:
            break
        end = found.end()
    return first[:end]


def _longer(name: str, prefix: str) -> str:
    """The beginning of `name` that is one word longer than `prefix`; all of it, if there is no other."""
    end = _ENDS.search(name, len(prefix) + 1)
    return name[: end.end()] if end else name
