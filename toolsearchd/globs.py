"""Globs, as `fnmatch.matches` reads them, in time that grows with the text and not with what is tried.

`*` any characters, `?` one, `[a-z]` and `[!a-z]` one of a set; case counts. Configs, agents and rules give
globs, servers and models give what they are held against, and each may be made to be slow. A glob is cut at
its stars: the pieces are looked for from left to right, each at its first place, so nothing is tried twice.
Unlike there, a `!` that only stands first because an empty range before it says nothing negates nothing.
Pure; never raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

_SPECIAL = re.compile(r"[*?\[]")
_STARS = re.compile(r"\*+")
_SHORT = 64  # characters of a piece that may be tried at each place of a text
_KEPT_GLOBS = 512
_KEPT_CHARS = 256  # of a glob that is kept: those of a config are shorter, and no peer fills memory by theirs

_Matcher = Callable[[str], bool]


def matches_glob(text: str, glob: str) -> bool:
    """Does the whole of `text` fit the glob?"""
    if glob == "*":
        return True
    matcher = _kept(glob) if len(glob) <= _KEPT_CHARS else _matcher(glob)
    return matcher(text)


def _matcher(glob: str) -> _Matcher:
    if not _SPECIAL.search(glob):
        return glob.__eq__
    first, *rest = pieces = _pieces(glob)
    if not rest:
        return lambda text: len(text) == first.size and first.stands_at(text, 0)
    *middle, last = rest
    finds = [piece.find for piece in middle if piece.size]
    begin, stop, least = first.size, last.size, sum(piece.size for piece in pieces)

    def match(text: str) -> bool:
        at, end = begin, len(text) - stop
        if len(text) < least or not first.stands_at(text, 0) or not last.stands_at(text, end):
            return False
        for find in finds:
            at = find(text, at, end)
            if at < 0:
                return False
        return True

    return match


_kept = lru_cache(maxsize=_KEPT_GLOBS)(_matcher)


# --- what stands between two stars --------------------------------------------------------------------


class _Set(NamedTuple):
    """`[…]`: single characters and ranges, or what is in none of them."""

    singles: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    is_negated: bool

    def holds(self, character: str) -> bool:
        found = character in self.singles or any(low <= character <= high for low, high in self.ranges)
        return found is not self.is_negated

    @property
    def pattern(self) -> str:
        inside = "".join(map(re.escape, sorted(self.singles)))
        inside += "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in self.ranges)
        if not inside:
            return "." if self.is_negated else "(?!)"
        return f"[{'^' * self.is_negated}{inside}]"


_ANY = _Set(frozenset(), (), is_negated=True)  # `?`


class _Piece(Protocol):
    """`size`: characters that it takes. `find`: where its first place in `text[at:end]` ends, or -1."""

    size: int

    def stands_at(self, text: str, at: int) -> bool: ...

    def find(self, text: str, at: int, end: int) -> int: ...


class _Plain:
    """A text."""

    def __init__(self, text: str) -> None:
        self.size = len(text)
        self._text = text

    def stands_at(self, text: str, at: int) -> bool:
        return text.startswith(self._text, at)

    def find(self, text: str, at: int, end: int) -> int:
        found = text.find(self._text, at, end)
        return found + self.size if found >= 0 else -1


class _Odd:
    """Characters with sets and `?` among them. A long one is not tried at each place: all its beginnings that
    fit are followed at once, a bit each (Baeza-Yates and Gonnet, 1992)."""

    def __init__(self, parts: Sequence[str | _Set]) -> None:
        self.size = len(parts)
        self._parts = parts
        escaped = (re.escape(part) if isinstance(part, str) else part.pattern for part in parts)
        self._regex = re.compile("".join(escaped), re.DOTALL)

    def stands_at(self, text: str, at: int) -> bool:
        return self._regex.match(text, at) is not None

    def find(self, text: str, at: int, end: int) -> int:
        if self.size > _SHORT:
            return self._find_long(text, at, end)
        match = self._regex.search(text, at, end)
        return match.end() if match else -1

    def _find_long(self, text: str, at: int, end: int) -> int:
        masks: dict[str, int] = {}
        last, fitting = 1 << (self.size - 1), 0
        for place in range(at, end):
            character = text[place]
            mask = masks.get(character)
            if mask is None:
                mask = masks[character] = self._mask(character)
            fitting = ((fitting << 1) | 1) & mask
            if fitting & last:
                return place + 1
        return -1

    def _mask(self, character: str) -> int:
        """The places that take this character."""
        fits = (part == character if isinstance(part, str) else part.holds(character) for part in self._parts)
        return int("".join("01"[fit] for fit in fits)[::-1], 2)


# --- reading a glob -----------------------------------------------------------------------------------


def _pieces(glob: str) -> list[_Piece]:
    """What stands between the stars; at least one, and an empty one at either end where a star stands."""
    found: list[list[str | _Set]] = [[]]
    at, last_close = 0, glob.rfind("]")
    while at < len(glob):
        character = glob[at]
        at += 1
        if character == "*":
            at = _end_of_stars(glob, at)
            found.append([])
        elif character == "?":
            found[-1].append(_ANY)
        elif character == "[" and (close := _close_of_set(glob, at, last_close)) >= 0:
            found[-1].append(_set(glob[at:close]))
            at = close + 1
        else:
            found[-1].append(character)
    return [_piece(parts) for parts in found]


def _piece(parts: list[str | _Set]) -> _Piece:
    texts = [part for part in parts if isinstance(part, str)]
    return _Plain("".join(texts)) if len(texts) == len(parts) else _Odd(parts)


def _end_of_stars(glob: str, at: int) -> int:
    match = _STARS.match(glob, at)
    return match.end() if match else at


def _close_of_set(glob: str, at: int, last_close: int) -> int:
    """Where the set that begins at `at` ends; -1: it never does, and its bracket is a character."""
    at += glob.startswith("!", at)
    at += glob.startswith("]", at)  # as the first one it is a member
    return glob.find("]", at) if at <= last_close else -1


def _set(body: str) -> _Set:
    is_negated = body.startswith("!")
    singles: set[str] = set()
    ranges: list[tuple[str, str]] = []
    at = int(is_negated)
    while at < len(body):
        if at + 2 < len(body) and body[at + 1] == "-":
            ranges.append((body[at], body[at + 2]))
            at += 3
        else:
            singles.add(body[at])
            at += 1
    return _Set(frozenset(singles), _joined(ranges), is_negated)


def _joined(ranges: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The same characters in few ranges: those that meet are one, empty ones are left out."""
    made: list[tuple[str, str]] = []
    for low, high in sorted(one for one in ranges if one[0] <= one[1]):
        if made and low <= made[-1][1]:
            made[-1] = (made[-1][0], max(high, made[-1][1]))
        else:
            made.append((low, high))
    return tuple(made)
