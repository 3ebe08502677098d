"""What a server says of itself at the handshake, cut to what is used of it: a line of each.

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

from mcp_types import DiscoverResult, Implementation, InitializeResult

from toolsearchd.disclosure.sanitise import clipped
from toolsearchd.limits import Limits


def lean_initialize(result: InitializeResult, limits: Limits) -> InitializeResult:
    return InitializeResult(
        protocol_version=result.protocol_version,
        capabilities=result.capabilities,
        server_info=lean_info(result.server_info, limits),
    )


def lean_discover(result: DiscoverResult, version: str, limits: Limits) -> DiscoverResult:
    """`version`: the one that was agreed on."""
    lean = {
        "supported_versions": [version],
        "instructions": None,
        "meta": None,
    }
    return result.model_copy(update=lean)


def lean_info(info: Implementation, limits: Limits) -> Implementation:
    most = limits.own_name_chars
    return Implementation(name=clipped(info.name, most), version=clipped(info.version, most))
