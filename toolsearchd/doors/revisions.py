"""What a protocol revision can carry, by the SDK's own tables: checked here one by one, in our words.

The SDK checks a whole answer at once and hides what was wrong with it from the client.
"""

from __future__ import annotations

import logging
from typing import Any

from mcp_types.methods import serialize_server_result
from pydantic import ValidationError

from toolsearchd.doors.offers import Kind
from toolsearchd.doors.tools import open_tool
from toolsearchd.errors import ToolsearchdError

log = logging.getLogger(__name__)

# What the 2026-07-28 revision requires around a list; no item's own.
_FRAME = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def serialised_tool(tool: dict[str, Any], version: str) -> dict[str, Any]:
    """The tool as the revision lists it; a part that the revision refuses costs itself."""
    carried = _carried_tool(tool, version)
    if carried is None:
        kept = open_tool(tool)
        for key, part in tool.items():
            if _carried_tool(kept | {key: part}, version) is not None:
                kept[key] = part
        carried = _carried_tool(kept, version)
    assert carried is not None
    return carried


def _carried_tool(tool: dict[str, Any], version: str) -> dict[str, Any] | None:
    try:
        result = serialize_server_result("tools/list", version, _FRAME | {"tools": [tool]})
    except ValidationError:
        return None
    carried: dict[str, Any] = result["tools"][0]
    for part in tool.keys() & carried.keys() & {"inputSchema", "outputSchema"}:  # keys in the server's order
        schema = carried[part]
        carried[part] = {key: schema[key] for key in tool[part] if key in schema} | schema
    return carried


def serialised_item(kind: Kind, item: dict[str, Any], version: str) -> dict[str, Any] | None:
    """The prompt, resource or template as the revision lists it; None where it can't be listed."""
    try:
        result = serialize_server_result(kind.method, version, _FRAME | {kind.field: [item]})
    except ValidationError as error:
        log.warning("%s: %.200s is left out: %s", kind.method, item[kind.key], _first(error))
        return None
    carried: dict[str, Any] = result[kind.field][0]
    return carried


def serialised_answer(method: str, result: dict[str, Any], version: str) -> dict[str, Any]:
    """The answer as the revision carries it. Raises BAD_RESULT."""
    complete = {"resultType": "complete"} | result
    try:
        serialize_server_result(method, version, _FRAME | complete)
    except ValidationError as error:
        raise ToolsearchdError(
            "BAD_RESULT", f"the answer to {method} can't be passed on: {_first(error)}"
        ) from error
    return complete


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
