"""Who hears what a server asks and tells, whoever speaks with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

TOOLS_CHANGED = "notifications/tools/list_changed"
# All that a session's client may have: which one that will be is not known at the handshake, and a catalog
# that depended on it would be another with each order of arrival.
CAPABILITIES: dict[str, Any] = {"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": False}}

OnAsked = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
OnTold = Callable[[str, Mapping[str, Any]], None]


class Listeners(NamedTuple):
    """In the order of arrival."""

    tools_changed: Callable[[], None]
    on_asked: OnAsked  # raises `RpcError` and UNSUPPORTED
    on_told: OnTold
