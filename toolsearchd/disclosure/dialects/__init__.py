"""…in whose words?

A dialect is made by one small module, which is loaded when the first session speaks it; the table below is
all that knows them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from toolsearchd.disclosure.dialects.base import Dialect

_MADE_IN = {  # its constant of the same name in capitals is the dialect, or a tuple of them
    "default": "default",
    "direct": "direct",
    "hermes": "hermes",
    "hermes-v1": "hermes_v1",
    "nemoclaw-hermes": "nemoclaw_hermes",
    "deepagents": "deepagents",
    "openclaw": "openclaw",
    "openclaw-g1": "openclaw",
    "openclaw-g2": "openclaw",
    "openclaw-g3": "openclaw",
}

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
            place = _MADE_IN[name]
            made = getattr(importlib.import_module(f"{__name__}.{place}"), place.upper())
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
