"""A config text that was read: its value, what was wrong with it, and where each part of it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from toolsearchd.config.masking import masked, masked_words
from toolsearchd.config.model import Problem

Path = tuple[str | int, ...]
"""`("mcpServers", "github", "args", 0)`."""


class Place(NamedTuple):
    """1-based; 0 where it is not known."""

    line: int
    column: int


NOWHERE = Place(0, 0)

_BLOCK_CHARS = 4096  # of a text whose lines are counted together
_PART_CHARS = 200  # of a key that is shown in a path: the rest is the same in all the problems below it


class Lines:
    """Which line and column a character of a text has. The text is gone through once, when first asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[tuple[int, int]] = []  # before each: line ends, and where the last of them stands

    def place(self, at: int) -> Place:
        text = self._text
        if not self._blocks:
            self._count()
        block = at // _BLOCK_CHARS
        ends, last = self._blocks[block]
        start = block * _BLOCK_CHARS
        found = text.rfind("\n", start, at)
        return Place(ends + text.count("\n", start, at) + 1, at - (found if found >= 0 else last))

    def _count(self) -> None:
        ends, last = 0, -1
        for start in range(0, len(self._text) + 1, _BLOCK_CHARS):
            self._blocks.append((ends, last))
            ends += self._text.count("\n", start, start + _BLOCK_CHARS)
            last = max(last, self._text.rfind("\n", start, start + _BLOCK_CHARS))


def _nowhere(_path: Path) -> Place:
    return NOWHERE


class ConfigDocument(msgspec.Struct, frozen=True):
    """`value` is None where the text could not be read (then a problem of level error says why)."""

    value: Any
    problems: list[Problem]
    place: Callable[[Path], Place] = _nowhere  # of a path, or of the nearest part above it

    @property
    def is_readable(self) -> bool:
        return not any(problem.level == "error" for problem in self.problems)


def problem_at(
    level: Literal["error", "warning"],
    message: str,
    file: str,
    path: Path = (),
    place: Place = NOWHERE,
    *,
    mend: str = "",
) -> Problem:
    """A problem whose texts can be written anywhere: what is no UTF-8 in a key is shown escaped, and what
    looks like a credential, by a mistake in a key too, is masked."""
    shown = tuple(part if isinstance(part, int) else masked_words([part])[0] for part in path)
    return Problem(
        level=level,
        message=_writable(masked(message)),
        file=_writable(file),
        line=place.line,
        column=place.column,
        path=_writable(dotted(shown)),
        mend=mend,
    )


def dotted(path: Path) -> str:
    """`("a", "b", 0)` → `a.b[0]`; a key with a dot in it stands in quotes, a very long one is cut."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            part = part if len(part) <= _PART_CHARS else part[:_PART_CHARS] + "…"
            shown = f'"{part}"' if "." in part else part
            text += f".{shown}" if text else shown
    return text


def _writable(text: str) -> str:
    """Keys come from files: lone surrogates and control characters must not reach a log or a terminal."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
