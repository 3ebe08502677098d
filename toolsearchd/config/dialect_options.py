"""Options of a profile that have another system's shape: who judges them is handed in by dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Place = tuple[str, ...]


class DialectOptions(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # of the dialect
    unknown: Callable[[Mapping[str, Any]], list[Place]]
    """Paths of keys that nobody reads."""
    refused: Callable[[Mapping[str, Any]], tuple[Place, str] | None]
    """Path and reason of what can't be in force."""


DialectOptionsByName = Mapping[str, DialectOptions]
