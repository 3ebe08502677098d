"""Imports the modules that no first answer needs, once those who waited for the start have theirs.

Importing is most of a start. Whoever needs one of these modules earlier imports it then and there.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Awaitable, Callable, Iterable

import trio

log = logging.getLogger(__name__)

_FIRST_ANSWERS_S = 0.1  # agents that waited at the socket ask in this time


# What few sessions, configs and mistakes need. Loaded in a thread, since some take a tenth of a second each.
RARELY_NEEDED = (
    *("toolsearchd.upstream.opening", "toolsearchd.upstream.stdio_streams", "toolsearchd.upstream.remote"),
    "toolsearchd.doors.mcp_server",
    "toolsearchd.config.yaml_text",
    *("httpcore2", "httpcore2._backends.trio", "truststore"),  # httpx2 loads them at its first request
    *("jsonschema_rs", "encodings.idna", "difflib", "html", "shlex", "tomllib", "pwd", "tempfile"),
)


async def import_rest(load_sdk: Callable[[], Awaitable[None]]) -> None:
    """Everything that may be asked for later: an install may move or change under a daemon that serves, and
    descriptors may be used up. `load_sdk` comes first: modules that need the SDK are imported after it."""
    await load_sdk()
    for name in RARELY_NEEDED:
        await trio.to_thread.run_sync(importlib.import_module, name)
    log.debug("warmed up: nothing is imported from here on")


async def import_later(modules: Iterable[str]) -> None:
    """One module a step, a few milliseconds each: requests are answered in between."""
    await trio.sleep(_FIRST_ANSWERS_S)
    for name in modules:
        importlib.import_module(name)
        await trio.lowlevel.checkpoint()
