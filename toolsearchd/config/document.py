"""A config text that was read: its value, what was wrong with it, and where each part of it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from toolsearchd.config.model import Problem

Path = tuple[str | int, ...]
"""`("mcpServers", "github", "args", 0)`."""


class Place(NamedTuple):
    """1-based; 0 where it is not known."""

    line: int
    column: int


NOWHERE = Place(0, 0)


def _nowhere(_path: Path) -> Place:
    return NOWHERE


class Document(msgspec.Struct, frozen=True):
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
    """A problem whose texts can be written anywhere: what is no UTF-8 in a key is shown escaped."""
    return Problem(
        level=level,
        message=_writable(message),
        file=_writable(file),
        line=place.line,
        column=place.column,
        path=_writable(dotted(path)),
        mend=mend,
    )


def dotted(path: Path) -> str:
    """`("a", "b", 0)` → `a.b[0]`; a key with a dot in it stands in quotes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            shown = f'"{part}"' if "." in part else part
            text += f".{shown}" if text else shown
    return text


def _writable(text: str) -> str:
    """Keys come from files: lone surrogates and control characters must not reach a log or a terminal."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
