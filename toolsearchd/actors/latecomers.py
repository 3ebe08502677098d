"""Imports the modules that no first answer needs, once those who waited for the start have theirs.

Importing is most of a start. Whoever needs one of these modules earlier imports it then and there.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

import trio

_FIRST_ANSWERS_S = 0.1  # agents that waited at the socket ask in this time


async def import_later(modules: Iterable[str]) -> None:
    """One module a step, a few milliseconds each: requests are answered in between."""
    await trio.sleep(_FIRST_ANSWERS_S)
    for name in modules:
        importlib.import_module(name)
        await trio.lowlevel.checkpoint()
