"""What a row of `linear.py` is: one reader or parser of the package, as a function of one text.

A row says which modules its reader lives in; `tests/unit/test_linear.py` holds that no module that reads is
without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.soak.hostile import Family
from toolsearchd.config.expand import ExpandContext
from toolsearchd.limits import Limits

LIMITS = Limits()
CHUNK = 1 << 16  # bytes that are read at once
CONTEXT = ExpandContext(environ={"a": "b"}, home="/home/me")


class Reader(NamedTuple):
    """`read` takes any text and raises nothing. `limit`: no longer text reaches it. `families`: of texts that
    only this reader takes for more than noise. `home`: the modules that it is about. `budget_s`: of one that
    counts its steps and gives up: below it, it may grow as it likes."""

    name: str
    read: Callable[[str], object]
    limit: int
    home: tuple[str, ...]
    families: dict[str, Family]
    budget_s: float = 0.0


ROWS: list[Reader] = []


def row(
    name: str, limit: int, *home: str, families: dict[str, Family] | None = None, budget_s: float = 0.0
) -> Callable[[Any], Any]:
    def registered(read: Callable[[str], object]) -> Callable[[str], object]:
        ROWS.append(Reader(name, read, limit, home, families or {}, budget_s))
        return read

    return registered


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def clean_utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def loaded(text: str) -> Any:
    """As JSON where it is some."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
