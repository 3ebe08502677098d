"""A trusted tool's schema as one line in the manner of TypeScript: `{ path: string; limit?: number }`."""

from __future__ import annotations

from typing import Any

import msgspec

from toolsearchd.disclosure.sanitise import clean

LONGEST = 600
_DEPTH = 4
_MEMBERS = 24
_OPTIONS = 12
_NAMES = {"integer": "number", "null": "null", "string": "string", "number": "number", "boolean": "boolean"}


def signature(schema: bytes) -> str:
    """`unknown` for what has no plain reading; what would be longer than `LONGEST` says so with `…`."""
    text = clean(_type(msgspec.json.decode(schema), _DEPTH))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _type(schema: Any, depth: int) -> str:
    if not isinstance(schema, dict) or depth < 0:
        return "unknown"
    if "const" in schema:
        return _literal(schema["const"])
    if isinstance(schema.get("enum"), list):
        return _union([_literal(option) for option in schema["enum"]])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return _union([_type(option, depth - 1) for option in schema[key][: _OPTIONS + 1]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([_type(schema | {"type": one}, depth - 1) for one in kind[: _OPTIONS + 1]])
    if kind == "array":
        inner = _type(schema.get("items"), depth - 1)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object" or isinstance(schema.get("properties"), dict):
        return _object(schema, depth)
    return _NAMES.get(kind, "unknown") if isinstance(kind, str) else "unknown"


def _object(schema: dict[str, Any], depth: int) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return "{}" if schema.get("additionalProperties") is False else "object"
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    members = [
        f"{_name(name)}{'' if name in needed else '?'}: {_type(part, depth - 1)}"
        for name, part in list(properties.items())[:_MEMBERS]
    ]
    more = ["…"] if len(properties) > _MEMBERS else []
    return "{ " + "; ".join(members + more) + " }"


def _name(name: str) -> str:
    return name if name.isidentifier() else _literal(name)


def _literal(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _union(options: list[str]) -> str:
    distinct = list(dict.fromkeys(options))
    more = ["…"] if len(distinct) > _OPTIONS else []
    return " | ".join(distinct[:_OPTIONS] + more) or "unknown"
