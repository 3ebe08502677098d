"""The only list of dialects and of rankers: names, the module that makes each, and who speaks one unasked.

A dialect is made by one small module, which is loaded when the first session speaks it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from toolsearchd.config.dialect_options import DialectOptions
from toolsearchd.dialects.base import Dialect
from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.ranking import Ranking

_DIALECTS = {
    "default": "dialects.default.DEFAULT",
    "direct": "dialects.direct.DIRECT",
    "hermes": "dialects.hermes.dialect.HERMES",
    "hermes-v1": "dialects.hermes.june.HERMES_V1",
    "nemoclaw-hermes": "dialects.hermes.nemoclaw.NEMOCLAW_HERMES",
    "deepagents": "dialects.deepagents.DEEPAGENTS",
    "openclaw": "dialects.openclaw.dialect.OPENCLAW",
    "openclaw-g1": "dialects.openclaw.dialect.OPENCLAW",
    "openclaw-g2": "dialects.openclaw.dialect.OPENCLAW",
    "openclaw-g3": "dialects.openclaw.dialect.OPENCLAW",
}

MODULES = tuple(  # whoever loads ahead: a step each, before what imports it
    f"toolsearchd.dialects.{name}"
    for name in (
        *(
            "hermes.coercion",
            "hermes.analyzer",
            "hermes.ranker",
            "hermes.dialect",
            "hermes.june",
            "hermes.nemoclaw",
        ),
        *("openclaw.ranker", "openclaw.catalog", "openclaw.replies", "openclaw.dialect"),
        *("direct", "deepagents"),
    )
)

CLIENTS = (  # globs of the lower-cased names of clients that speak a dialect unasked; first match
    ("hermes", "hermes"),
    ("hermes-agent", "hermes"),
    ("nemoclaw-hermes", "nemoclaw-hermes"),
    ("deepagents", "deepagents"),
    ("deepagents-*", "deepagents"),
    ("langchain-deepagents*", "deepagents"),
    ("openclaw", "openclaw"),
    ("openclaw-*", "openclaw"),
)


_RANKINGS = {  # those of the index, and the dialects' own
    "default": "index.ranking.DEFAULT",
    "hermes": "dialects.hermes.ranker.HERMES",
    "hermes-v1": "dialects.hermes.ranker.HERMES_V1",
    "openclaw": "dialects.openclaw.ranker.OPENCLAW",
}

_OPTIONS = dict.fromkeys(  # whose profiles' options have a shape of their own
    ("openclaw", "openclaw-g1", "openclaw-g2", "openclaw-g3"), "dialects.openclaw.options.OPTIONS"
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


DIALECTS: Mapping[str, Dialect] = _Loaded(_DIALECTS)
RANKINGS: Mapping[str, Ranking] = _Loaded(_RANKINGS)
OPTIONS: Mapping[str, DialectOptions] = _Loaded(_OPTIONS)


def make_analyzer(ranker: str, options: Mapping[str, Any] | None = None) -> Analyzer:
    """The ranker's analyzer; `options` are its keyword arguments. Raises KeyError, ValueError."""
    analyzer: Analyzer = RANKINGS[ranker].analyzer(**(options or {}))
    return analyzer
