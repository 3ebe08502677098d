"""The only list of dialects and of rankers: the daemon's own, and each guest's by the name of its folder.

A folder says in a few lines what it brings (`Guest`); the module that makes a dialect is loaded when the
first session speaks it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from toolsearchd.config.dialect_options import DialectOptions
from toolsearchd.dialects.base import Dialect
from toolsearchd.dialects.guest import Guest
from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.ranking import Ranking

_GUESTS: dict[str, Guest] = {
    name: importlib.import_module(f"toolsearchd.dialects.{name}").GUEST
    for name in ("deepagents", "hermes", "openclaw")
}


def _places(own: Mapping[str, str], what: Callable[[Guest], Mapping[str, str]]) -> dict[str, str]:
    """The daemon's own, then what each guest brings: name → module and constant."""
    brought = {
        name: f"dialects.{folder}.{place}"
        for folder, guest in _GUESTS.items()
        for name, place in what(guest).items()
    }
    return {**own, **brought}


CLIENTS = tuple(pair for guest in _GUESTS.values() for pair in guest.clients)
MODULES = (
    *(
        f"toolsearchd.dialects.{folder}.{module}"
        for folder, guest in _GUESTS.items()
        for module in guest.modules
    ),
    "toolsearchd.dialects.direct",
)

T = TypeVar("T")


class _Loaded(Mapping[str, T]):
    """Names are known without loading anything; what bears one is loaded by whoever asks for it."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """`places`: by name, a module and its constant: what bears the name, or a tuple of such."""
        self._places = places
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            module, _, constant = self._places[name].rpartition(".")
            found = getattr(importlib.import_module(f"toolsearchd.{module}"), constant)
            self._loaded |= {one.name: one for one in (found if isinstance(found, tuple) else (found,))}
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


DIALECTS: Mapping[str, Dialect] = _Loaded(
    _places(
        {"default": "dialects.default.DEFAULT", "direct": "dialects.direct.DIRECT"},
        lambda guest: guest.dialects,
    )
)
RANKINGS: Mapping[str, Ranking] = _Loaded(
    _places({"default": "index.ranking.DEFAULT"}, lambda guest: guest.rankings)
)
OPTIONS: Mapping[str, DialectOptions] = _Loaded(_places({}, lambda guest: guest.options))


def make_analyzer(ranker: str, options: Mapping[str, Any] | None = None) -> Analyzer:
    """The ranker's analyzer; `options` are its keyword arguments. Raises KeyError, ValueError."""
    analyzer: Analyzer = RANKINGS[ranker].analyzer(**(options or {}))
    return analyzer
