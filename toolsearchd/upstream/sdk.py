"""The MCP SDK, imported when first needed and off the loop: it takes a second and 40 MB.

Modules of this package that import it at their top are imported after `load_sdk` only.
"""

from __future__ import annotations

import gc
import importlib
import logging
from types import ModuleType

import trio

_one_thread = trio.CapacityLimiter(1)  # two threads must not import parts of one package at once
_MODULES = ("mcp.client.session", "toolsearchd.upstream.connection")
# What goes wrong with a server is told in our words, once; the SDK's tracebacks of it help nobody.
_SILENCED = ("client", "mcp.client", "mcp.shared", "httpx2")


async def load_sdk() -> None:
    """After this the SDK's modules import at once. Waits in a worker thread, one at a time."""
    await trio.to_thread.run_sync(_import_all, limiter=_one_thread)


def _import_all() -> list[ModuleType]:
    for name in _SILENCED:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    modules = [importlib.import_module(name) for name in _MODULES]
    gc.freeze()  # it stays until the end: 100,000 objects that no collection needs to walk
    return modules
