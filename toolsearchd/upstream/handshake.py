"""A server's answer to the handshake, whatever is in it: what is not used may be missing or odd. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolsearchd.errors import ToolsearchdError
from toolsearchd.upstream.answers import kind_of

SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"  # in `_meta`, MCP 2026-07-28
_USED = ("tools", "prompts", "resources", "completions", "logging")  # of what servers offer


def usable_handshake(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """What is used of it, in shape, for `initialize` and `server/discover`; any other result as it came.
    Raises BAD_RESULT, which names the field, where it can't be used."""
    shape = _SHAPES.get(method)
    return result if shape is None else shape(result)


def _initialized(result: Mapping[str, Any]) -> dict[str, Any]:
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise _unusable("initialize", "protocolVersion", result, "text")
    return {"protocolVersion": version, "serverInfo": _info(result.get("serverInfo"))} | _offered(result)


def _discovered(result: Mapping[str, Any]) -> dict[str, Any]:
    given = result.get("supportedVersions")
    versions = [given] if isinstance(given, str) else given
    if not isinstance(versions, list):
        raise _unusable("server/discover", "supportedVersions", result, "a list of texts")
    meta = result.get("_meta")
    info = meta.get(SERVER_INFO_KEY) if isinstance(meta, dict) else None
    named = {} if info is None else {"_meta": {SERVER_INFO_KEY: _info(info)}}
    said = {"supportedVersions": [one for one in versions if isinstance(one, str)]}
    frame = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return frame | said | named | _offered(result)


_SHAPES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "initialize": _initialized,
    "server/discover": _discovered,
}


def _offered(result: Mapping[str, Any]) -> dict[str, Any]:
    given, words = result.get("capabilities"), result.get("instructions")
    said = given if isinstance(given, dict) else {}
    offered = {name: _switches(said[name]) for name in _USED if said.get(name) not in (None, False)}
    return {"capabilities": offered} | ({"instructions": words} if isinstance(words, str) else {})


def _switches(part: Any) -> dict[str, bool]:
    return {key: on for key, on in part.items() if isinstance(on, bool)} if isinstance(part, dict) else {}


def _info(given: Any) -> dict[str, str]:
    said = given if isinstance(given, dict) else {"name": given}
    return {key: text if isinstance(text := said.get(key), str) else "" for key in ("name", "version")}


def _unusable(method: str, field: str, result: Mapping[str, Any], wanted: str) -> ToolsearchdError:
    what = f"is {kind_of(result[field])}, not {wanted}" if field in result else "is missing"
    return ToolsearchdError("BAD_RESULT", f"its answer to {method} can't be used: {field} {what}")
