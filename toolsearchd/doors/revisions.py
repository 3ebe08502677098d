"""What a protocol revision can carry, by the SDK's own tables: checked here one by one, in our words.

The SDK checks a whole answer at once and hides what was wrong with it from the client.
"""

from __future__ import annotations

from typing import Any

from mcp_types.methods import serialize_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from toolsearchd.doors.tools import open_tool
from toolsearchd.errors import ToolsearchdError

# What the 2026-07-28 revision requires around a list of tools; no tool's own.
_FRAME = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def carried_tool(tool: dict[str, Any], version: str) -> dict[str, Any]:
    """The tool as the revision lists it; without the parts that the revision refuses, if need be."""
    try:
        result = serialize_server_result("tools/list", version, _FRAME | {"tools": [tool]})
    except ValidationError:
        result = serialize_server_result("tools/list", version, _FRAME | {"tools": [open_tool(tool)]})
    carried: dict[str, Any] = result["tools"][0]
    return carried


def carried_result(result: dict[str, Any], version: str, tool: str) -> dict[str, Any]:
    """A `CallToolResult` that the revision can carry. Raises BAD_RESULT."""
    complete = {"resultType": "complete"} | result  # required since 2026-07-28; older revisions drop it
    try:
        carried = serialize_server_result("tools/call", version, complete)
        if "content" not in carried:  # taken for a result of another kind, all of whose fields are optional
            serialize_server_result("tools/call", LATEST_HANDSHAKE_VERSION, result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ToolsearchdError(
            "BAD_RESULT", f"{tool} answered with what can't be passed on: {where}: {first['msg']}"
        ) from error
    return complete
