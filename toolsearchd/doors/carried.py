"""A tool's result as a protocol revision carries it: what was carried out is never called failed.

A part that the revision refuses takes another form, or is left out where it has none, and a note says so.
Imports the SDK: import it through `McpDoor` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from mcp_types.methods import serialize_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

_COMPLETE = {"resultType": "complete"}  # required since 2026-07-28; older revisions drop it


def carried_result(result: dict[str, Any], version: str) -> dict[str, Any]:
    """MCP's `CallToolResult`."""
    complete = result | _COMPLETE
    if complete.get("structuredContent") is None and version not in MODERN_PROTOCOL_VERSIONS:
        complete.pop("structuredContent", None)  # some clients take null for a value of the wrong type
    return complete if _is_carried(complete, version) else _mended(complete, version)


def _is_carried(result: dict[str, Any], version: str) -> bool:
    try:
        carried = serialize_server_result("tools/call", version, result)
        if "content" not in carried:  # taken for a result of another kind, all of whose fields are optional
            serialize_server_result("tools/call", LATEST_HANDSHAKE_VERSION, result)
    except ValidationError:
        return False
    return True


def _mended(result: dict[str, Any], version: str) -> dict[str, Any]:
    notes: list[str] = []
    mended: dict[str, Any] = {"content": [], "isError": bool(result.get("isError"))} | _COMPLETE
    content = result.get("content")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    for at, block in enumerate(blocks):
        form = next(form for form in _forms(block) if _is_carried(mended | {"content": [form]}, version))
        mended["content"].append(form)
        if form is not block:
            notes.append(f"content.{at} is given in another form")
    for key in result.keys() - mended.keys():
        value = result[key]
        if _is_carried(mended | {key: value}, version):
            mended[key] = value
        elif key == "structuredContent":
            mended[key] = {"result": value}
            notes.append("structuredContent is no object and stands under `result`")
            if not mended["content"]:
                mended["content"].append(_as_text(value))
        else:
            notes.append(f"{key} is left out")
    if not notes:
        return mended
    words = f"[toolsearchd: MCP {version} can't carry all of the result as it is: {'; '.join(notes)}]"
    mended["content"].append({"type": "text", "text": words})
    return mended


def _forms(block: Any) -> Iterator[dict[str, Any]]:
    """The block, then what may stand for it; the last form is carried by every revision."""
    if isinstance(block, dict):
        yield block
        yield {key: value for key, value in block.items() if key not in ("annotations", "_meta")}
    yield _as_text(block)


def _as_text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else msgspec.json.encode(value).decode()}
