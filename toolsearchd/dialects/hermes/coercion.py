"""The reference's coercion: top-level text into what `type` names; inside, only containers are parsed."""

from __future__ import annotations

from typing import Any

from toolsearchd.dispatch.jsontext import JsonFault, read_json

_MAX_DEPTH = 64  # below, containers in text stay text


def coerce_hermes(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A copy of `arguments`, coerced by the schema's own `properties`. Unsure values stay as they are."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return arguments
    made = dict(arguments)
    for name, value in arguments.items():
        prop = properties.get(name)
        if isinstance(prop, dict):
            made[name] = _parse_inside(_coerce(value, prop), prop, 0)
    return made


def _coerce(value: Any, prop: dict[str, Any]) -> Any:
    kind = prop.get("type")
    if kind == "array" and value is not None and not isinstance(value, list):
        read = _from_text(value, kind, prop) if isinstance(value, str) else value
        return [value] if read is value else read
    if not isinstance(value, str) or (not kind and not _allows_null(prop)):
        return value
    return _from_text(value, kind, prop)


def _from_text(text: str, kind: Any, prop: dict[str, Any]) -> Any:
    """What the text says as `kind` (a name or a list of names: the first that changes it); else the text."""
    if text.strip().lower() == "null" and _allows_null(prop):
        return None
    for name in kind if isinstance(kind, list) else [kind]:
        made = _as_kind(text, name, prop)
        if made is not text:
            return made
    return text


def _as_kind(text: str, kind: Any, prop: dict[str, Any]) -> Any:
    if kind in ("integer", "number"):
        return _number(text, integer=kind == "integer")
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if kind == "object" and not text.strip():
        return text if prop.get("required") else {}
    if kind in ("array", "object"):
        return _container(text, list if kind == "array" else dict)
    return text


def _number(text: str, *, integer: bool) -> Any:
    try:
        number = float(text)
        whole = int(number)
    except (ValueError, OverflowError):  # no number, or inf, or nan
        return text
    if number == whole:
        return whole
    return text if integer else number


def _container(text: str, kind: type) -> Any:
    try:
        value = read_json(text)
    except JsonFault:
        return text
    return value if isinstance(value, kind) else text


def _parse_inside(value: Any, schema: Any, depth: int) -> Any:
    """Containers given as text inside containers, where the position takes them; nothing else changes."""
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return value
        return {key: _inside(item, properties.get(key), depth) for key, item in value.items()}
    if isinstance(value, list):
        return [_inside(item, schema.get("items"), depth) for item in value]
    return value


def _inside(value: Any, schema: Any, depth: int) -> Any:
    if isinstance(value, str) and isinstance(schema, dict):
        for kind, name in ((list, "array"), (dict, "object")):
            if value.lstrip()[:1] in ("[", "{") and _accepts(schema, name, 0):
                read = _container(value, kind)
                value = read if read is not value else value
                if not isinstance(value, str):
                    break
    return _parse_inside(value, schema, depth + 1)


def _accepts(schema: Any, kind: str, depth: int) -> bool:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return False
    named = schema.get("type")
    if named == kind or (isinstance(named, list) and kind in named):
        return True
    branches = [branch for key in ("anyOf", "oneOf", "allOf") for branch in _listed(schema.get(key))]
    return any(_accepts(branch, kind, depth + 1) for branch in branches)


def _allows_null(prop: dict[str, Any]) -> bool:
    kind = prop.get("type")
    if prop.get("nullable") is True or kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    branches = [branch for key in ("anyOf", "oneOf") for branch in _listed(prop.get(key))]
    return any(isinstance(branch, dict) and branch.get("type") == "null" for branch in branches)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
