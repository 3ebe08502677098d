"""The only list of dialects: names, the module that makes each, and the clients that speak them unasked.

A dialect is made by one small module, which is loaded when the first session speaks it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from toolsearchd.dialects.base import Dialect

_MADE_IN = {  # its constant in capitals is the dialect, or a tuple of them
    "default": "default.DEFAULT",
    "direct": "direct.DIRECT",
    "hermes": "hermes.dialect.HERMES",
    "hermes-v1": "hermes.june.HERMES_V1",
    "nemoclaw-hermes": "hermes.nemoclaw.NEMOCLAW_HERMES",
    "deepagents": "deepagents.DEEPAGENTS",
    "openclaw": "openclaw.dialect.OPENCLAW",
    "openclaw-g1": "openclaw.dialect.OPENCLAW",
    "openclaw-g2": "openclaw.dialect.OPENCLAW",
    "openclaw-g3": "openclaw.dialect.OPENCLAW",
}

MODULES = tuple(  # whoever loads ahead: a step each, before what imports it
    f"toolsearchd.dialects.{name}"
    for name in (
        *("hermes.coercion", "hermes.ranker", "hermes.dialect", "hermes.june", "hermes.nemoclaw"),
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


class _Dialects(Mapping[str, Dialect]):
    """Names are known without loading anything; a dialect is loaded by whoever asks for it."""

    def __init__(self) -> None:
        self._loaded: dict[str, Dialect] = {}

    def __getitem__(self, name: str) -> Dialect:
        if name not in self._loaded:
            module, _, constant = _MADE_IN[name].rpartition(".")
            made = getattr(importlib.import_module(f"toolsearchd.dialects.{module}"), constant)
            self._loaded |= {one.name: one for one in (made if isinstance(made, tuple) else (made,))}
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in _MADE_IN

    def __iter__(self) -> Iterator[str]:
        return iter(_MADE_IN)

    def __len__(self) -> int:
        return len(_MADE_IN)


DIALECTS: Mapping[str, Dialect] = _Dialects()

__all__ = ["CLIENTS", "DIALECTS", "Dialect"]
