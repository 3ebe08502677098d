"""What a server's answer comes to, whatever its shape. Pure.

A request that was answered ends at once, with the words of the server: what is JSON and no valid JSON-RPC
is put in shape where it has one reading, and an error that says what came where it has none. The result of
what was carried out reaches the caller: what no wire can hold costs that value, and a note says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolsearchd.values import find_fault, representable, shown

# Codes of error answers made here. JSON-RPC leaves -32000 to -32099 to implementations.
TOO_LARGE_CODE = -32_090
BAD_LINE_CODE = -32_091
REFUSED_CODE = -32_092  # by HTTP; `data` has `status` and `retry_after_s`
SESSION_ENDED_CODE = -32_093  # … and `grounds`, `server_code`; without a status an answer says so
_NO_SERVERS_OWN = (REFUSED_CODE, SESSION_ENDED_CODE)  # by them a call is sent again: ours to say
GIVEN_UP = ""
_HANDSHAKE = ("initialize", "server/discover")  # their answers are read by the SDK, which takes no odd text
_NO_CODE = -32_603  # of a server whose error has no usable code: JSON-RPC's internal error
_EXCERPT_CHARS = 300
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}

RequestId = int | str


def note_sent(fields: Mapping[str, Any], open_requests: dict[RequestId, str]) -> None:
    """Of a message to the server: a request is open, one that it is to cancel is waited for no longer."""
    method, params = fields.get("method"), fields.get("params")
    if method is not None and "id" in fields:
        open_requests[fields["id"]] = method
    elif method == "notifications/cancelled" and params and params.get("requestId") in open_requests:
        open_requests[params["requestId"]] = GIVEN_UP


def put_in_shape(fields: Mapping[str, Any], open_requests: Mapping[RequestId, str]) -> dict[str, Any] | None:
    """The JSON-RPC answer that is meant; None where it answers nothing that is open: `id` → method, or
    `GIVEN_UP` for what is waited for no longer."""
    request_id = _id_meant(fields, open_requests)
    if request_id is None:
        return None
    head = {"jsonrpc": "2.0", "id": request_id}
    if fields.get("error") is not None:
        return head | {"error": _error(fields["error"])}
    method = open_requests[request_id]
    if method == GIVEN_UP:
        return head | {"result": {}}
    if "result" not in fields:
        what = f"its answer to {method} holds neither result nor error: {_excerpt(fields)}"
    elif isinstance(result := fields["result"], dict):
        return head | {"result": representable(result) if method in _HANDSHAKE else result}
    elif method == "tools/call":
        return head | {"result": call_result(result)}
    else:
        what = f"its answer to {method} is {kind_of(result)}, not an object: {_excerpt(result)}"
    return head | {"error": {"code": BAD_LINE_CODE, "message": what}}


def usable_answer(fields: Mapping[str, Any], open_requests: Mapping[RequestId, str]) -> dict[str, Any] | None:
    """As `put_in_shape`, and with nothing in it that JSON can't hold."""
    shaped = put_in_shape(fields, open_requests)
    if shaped is None or find_fault(shaped) is None:
        return shaped
    if open_requests[shaped["id"]] == "tools/call" and "result" in shaped:
        return shaped | {"result": call_result(shaped["result"])}
    return representable(shaped)  # type: ignore[no-any-return]


def call_result(value: Any) -> dict[str, Any]:
    """MCP's `CallToolResult` of whatever a call came to: `content` is a list of maps, and everything in it
    can cross the wires. A note stands behind the content where something had to be put in another form."""
    notes = []
    result = dict(value) if isinstance(value, dict) else {"content": value}
    if not isinstance(value, dict):
        notes.append(f"the server's result was {kind_of(value)}, not an object")
    result["content"] = _blocks(result.get("content"))
    if "isError" in result:
        result["isError"] = bool(result["isError"])
    if (fault := find_fault(result)) is not None:
        path, what = fault
        result = representable(result)
        notes.append(
            f"the server's result held what can't be passed on, at {'.'.join(map(shown, path))} {what}: half "
            "characters are U+FFFD, large integers their digits as text, numbers that are none null"
        )
    result["content"] += [{"type": "text", "text": f"[toolsearchd: {note}]"} for note in notes]
    return result


def _blocks(content: Any) -> list[dict[str, Any]]:
    """As content blocks: an object is one, a text or anything else the text of one."""
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [item if isinstance(item, dict) else {"type": "text", "text": _words(item)} for item in items]


def _id_meant(fields: Mapping[str, Any], open_requests: Mapping[RequestId, str]) -> RequestId | None:
    """The id itself; one that only differs in its JSON type; or, where none is given, the only open one, but
    no handshake's: a server that is still starting says things that answer nothing."""
    given = fields.get("id")
    if isinstance(given, int | str) and not isinstance(given, bool) and given in open_requests:
        return given
    if given is None:
        waiting = [item for item in open_requests.items() if item[1] != GIVEN_UP]
        if len(waiting) != 1 or not ("error" in fields or "result" in fields):
            return None
        ((only, method),) = waiting
        return only if "error" in fields or method.startswith("tools/") else None
    alike = f"{given:.0f}" if isinstance(given, float) and given.is_integer() else shown(given)
    return next((known for known in open_requests if str(known) == alike), None)


def _error(error: Any) -> dict[str, Any]:
    """A JSON-RPC error with the server's words, wherever in it they stand."""
    if not isinstance(error, dict):
        return {"code": _NO_CODE, "message": _words(error)}
    code, error = error.get("code"), representable(error)
    message = error.get("message")
    words = message if isinstance(message, str) and message.strip() else _excerpt(error)
    if code in _NO_SERVERS_OWN:
        code = _NO_CODE
    elif not isinstance(code, int) or isinstance(code, bool):
        words = words if code is None else f"{_words(code)}: {words}"
        code = _NO_CODE
    return {"code": code, "message": words} | ({"data": error["data"]} if "data" in error else {})


def _words(value: Any) -> str:
    value = representable(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _excerpt(value: Any) -> str:
    words = _words(value)
    return words if len(words) <= _EXCERPT_CHARS else words[:_EXCERPT_CHARS] + "…"


def kind_of(value: Any) -> str:
    """As what JSON has it, in words."""
    return _KINDS.get(type(value), "a number")
