"""Which arguments of a server's tools go into HTTP headers too (MCP 2026-07-28, `x-mcp-header`).

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.client.session import ClientSession
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from toolsearchd.disclosure.sanitise import plain_line


class ParamHeaders:
    """Of one listing, tool by tool."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._maps: dict[str, dict[tuple[str, ...], str]] = {}

    def refused(self, tool: Mapping[str, Any]) -> str:
        """Why the revision has a client leave the tool out, if it has; else its headers are noted."""
        schema = tool.get("inputSchema")
        if (reason := find_invalid_x_mcp_header(schema)) is not None:
            return plain_line(reason)
        if headers := x_mcp_header_map(schema):
            self._maps[tool["name"]] = headers
        return ""

    def bind(self) -> None:
        """The session's calls send them from now on. The SDK notes them in its own typed listing only, which
        refuses a whole list for one bad tool."""
        self._session._x_mcp_header_maps = self._maps
