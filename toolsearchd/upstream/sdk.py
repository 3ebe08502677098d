"""The MCP SDK, imported when first needed and off the loop: it takes a second and 40 MB."""

from __future__ import annotations

import importlib
from types import ModuleType

import trio

_one_thread = trio.CapacityLimiter(1)  # two threads must not import parts of one package at once
_MODULES = ("mcp.client.session", "mcp.client.streamable_http", "mcp.client.sse", "mcp.shared._httpx_utils")


async def load_sdk() -> None:
    """After this the SDK's modules import at once. Waits in a worker thread, one at a time."""
    await trio.to_thread.run_sync(_import_all, limiter=_one_thread)


def _import_all() -> list[ModuleType]:
    return [importlib.import_module(name) for name in _MODULES]
