"""The MCP SDK, imported when first needed and off the loop: it takes a second and 40 MB.

Modules of this package that import it at their top are imported after `load_sdk` only.
"""

from __future__ import annotations

import gc
import importlib
import logging
from functools import cache

import trio

_one_thread = trio.CapacityLimiter(1)  # two threads must not import parts of one package at once
_MODULES = ("mcp.client.session", "toolsearchd.upstream.sdk_peer")
# What goes wrong with a server is told in our words, once; the SDK's tracebacks of it help nobody.
_SILENCED = ("client", "mcp.client", "mcp.shared", "httpx2")


async def load_sdk() -> None:
    """After this the SDK's modules import at once. Waits in a worker thread, one at a time."""
    await trio.to_thread.run_sync(_import_all, limiter=_one_thread)


@cache
def _import_all() -> None:
    """Once: what is frozen is never collected, so each start of a server must not freeze what lies about."""
    for name in _SILENCED:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for name in _MODULES:
        importlib.import_module(name)
    gc.freeze()  # the SDK stays until the end: 100,000 objects that no collection needs to walk
