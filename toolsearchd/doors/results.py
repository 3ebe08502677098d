"""A reply of the session as MCP's `CallToolResult`.

A tool's own result passes as it came. What is ours, errors included, is a text that a model can read and
the same as structured content, so that no failure is a protocol error that a client hides from its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolsearchd.disclosure.gate import clean_error
from toolsearchd.errors import ToolsearchdError

_BINARY = ("image", "audio")


def reply_result(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A reply of search or describe; where its dialect has a text for the model, that."""
    text = reply.get("text")
    if not isinstance(text, str):
        return {"content": [_text(reply)], "structuredContent": dict(reply)}
    structured = {key: value for key, value in reply.items() if key != "text"}
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def error_result(error: ToolsearchdError) -> dict[str, Any]:
    return _failed(clean_error(error).as_fields())


def named_as_called(reply: dict[str, Any], real: str, called: str) -> dict[str, Any]:
    """The reply of one call with the name by which it was called in the place of the tool's real one."""
    slots = [slot | {"name": called} for slot in reply["results"]]
    for slot in slots:
        if (error := slot.get("error")) is not None:
            slot["error"] = error | {"message": error["message"].replace(real, called)}
            if error.get("tool") == real:
                slot["error"]["tool"] = called
    return reply | {"results": slots}


def call_result(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A call's reply: the one entry's own result, or the whole batch where there are several."""
    slots = reply["results"]
    return _slot_result(slots[0]) if len(slots) == 1 else _batch_result(reply)


def told_result(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A call as its dialect tells it, `{result, status?}`: the text, then the result's images and audio."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    told = dict(value)
    if isinstance(told["result"], Mapping):
        told["result"] = _hoisted({"response": told["result"]}, content)["response"]
    return {"content": content, "structuredContent": told, "isError": "status" in told}


def _slot_result(slot: Mapping[str, Any]) -> dict[str, Any]:
    if "error" not in slot:
        return dict(slot["response"])
    error = slot["error"]
    own = error.get("response")
    return dict(own) if own is not None else _failed(error)


def _batch_result(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The reply as JSON; its images and audio stand behind it as content, where a client shows them."""
    content: list[dict[str, Any]] = []
    slots = [_hoisted(slot, content) for slot in reply["results"]]
    structured = dict(reply) | {"results": slots}
    return {
        "content": [_text(structured), *content],
        "structuredContent": structured,
        "isError": reply["error_count"] == reply["total_count"],
    }


def _hoisted(slot: dict[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    """The slot with its binary blocks moved to `content`; each leaves behind its place there."""
    response = slot.get("response")
    if not response or not any(block.get("type") in _BINARY for block in response.get("content", ())):
        return slot
    blocks = []
    for block in response["content"]:
        if block.get("type") in _BINARY:
            content.append(block)
            # The JSON text is the first block, so the first image is the second.
            block = {"type": block["type"], "mimeType": block.get("mimeType"), "content_index": len(content)}
        blocks.append(block)
    return slot | {"response": response | {"content": blocks}}


def _failed(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": [_text(fields)], "structuredContent": dict(fields), "isError": True}


def _text(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": msgspec.json.encode(value).decode()}
