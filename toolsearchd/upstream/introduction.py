"""What a server says of itself at the handshake, cut to what is used of it.

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
        instructions=_lean_instructions(result.instructions, limits),
    )


def lean_discover(result: DiscoverResult, version: str, limits: Limits) -> DiscoverResult:
    """`version`: the one that was agreed on."""
    lean = {
        "supported_versions": [version],
        "instructions": _lean_instructions(result.instructions, limits),
        "meta": None,
    }
    return result.model_copy(update=lean)


def _lean_instructions(words: str | None, limits: Limits) -> str | None:
    return clipped(words, limits.instructions_chars) if words else None


def lean_info(info: Implementation, limits: Limits) -> Implementation:
    most = limits.own_name_chars
    return Implementation(name=clipped(info.name, most), version=clipped(info.version, most))
