"""An input schema in a form that the providers of models take. Pure.

They refuse a whole request for one definition whose root is not `type: object` with a map of `properties`, or
has `anyOf`, `oneOf` or `allOf`, which says `exclusiveMinimum: true` as draft 4 does, a list without `items`.
A schema that has nothing of it is given back as it is. Arguments are judged by the schema as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

JsonSchema = dict[str, Any]

_BRANCHES = ("anyOf", "oneOf", "allOf")
_REFUSED = (*_BRANCHES, "not", "enum", "const", "if", "then", "else", "$ref")  # at the top
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LIMITS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
_HOPS = 8  # of references at the top


def for_providers(schema: JsonSchema, *, to_client: bool = False) -> JsonSchema:
    """The same object where nothing has to change; nothing of `schema` is changed. `to_client`: a client puts
    it in its provider's form itself, as far as lists without `items` go; MCP takes them."""
    found = schema if to_client and not _is_refused(schema) else _mended(schema)
    if found.get("type") != "object" or any(key in found for key in _REFUSED):
        found = _as_object(found, schema)
    return found


def _is_refused(schema: JsonSchema) -> bool:
    """Is anything in it that is amiss beside lists without `items`?"""
    return _mended(schema, adds_items=False) is not schema


def _mended(node: JsonSchema, *, adds_items: bool = True) -> JsonSchema:
    """The node and everything below in newer words."""
    found: JsonSchema = {}

    def put(key: str, value: Any) -> None:
        if value is not node[key]:
            found[key] = value

    for key in _MAPS:
        below = node.get(key)
        if isinstance(below, Mapping):
            put(key, _each(below, adds_items))
        elif key in node:  # [] is how PHP writes an empty map
            found[key] = {}
    for key in _LISTS:
        if isinstance(node.get(key), list):
            put(key, _list(node[key], adds_items))
    for key in _SINGLE:
        if isinstance(node.get(key), dict):
            put(key, _mended(node[key], adds_items=adds_items))
    dropped = {key for key, _ in _LIMITS if isinstance(node.get(key), bool)}
    for key, limit in _LIMITS:
        if node.get(key) is True and limit in node:
            found[key] = node[limit]
            dropped = (dropped - {key}) | {limit}
    if "required" in node and not isinstance(node["required"], list):
        dropped.add("required")
    if adds_items and node.get("type") == "array" and not node.keys() & {"items", "prefixItems", "$ref"}:
        found["items"] = {}
    if not found and not dropped:
        return node
    return {key: value for key, value in (node | found).items() if key not in dropped}


def _each(below: Mapping[str, Any], adds_items: bool) -> Mapping[str, Any]:
    changed = {
        key: mended
        for key, value in below.items()
        if isinstance(value, dict) and (mended := _mended(value, adds_items=adds_items)) is not value
    }
    return {**below, **changed} if changed else below


def _list(below: list[Any], adds_items: bool) -> list[Any]:
    mended = [_mended(value, adds_items=adds_items) if isinstance(value, dict) else value for value in below]
    return below if all(one is other for one, other in zip(mended, below, strict=True)) else mended


def _as_object(node: JsonSchema, root: JsonSchema) -> JsonSchema:
    """An object's schema that takes whatever objects `node` takes, and says in words what it can't hold."""
    node = _referred(node, root)
    kinds = node.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        told: JsonSchema = {key: node[key] for key in ("description",) if key in node}
        return {"type": "object", "properties": {}} | told
    kept = {key: value for key, value in node.items() if key not in _REFUSED and key != "type"}
    properties = dict(kept.pop("properties", {}))
    required = [name for name in kept.pop("required", ()) if isinstance(name, str)]
    notes: list[str] = []
    for key in _BRANCHES:
        branches = [_referred(branch, root) for branch in _listed(node.get(key)) if isinstance(branch, dict)]
        _add_properties(properties, branches)
        wanted = [_listed(branch.get("required")) for branch in branches]
        if key == "allOf":
            required += [name for names in wanted for name in names if name not in required]
        elif wanted:
            required += [n for n in wanted[0] if n not in required and all(n in names for names in wanted)]
            notes += _note(wanted, required)
    words = " ".join(filter(None, (str(kept.pop("description", "")), *notes)))
    found: JsonSchema = {"type": "object", "properties": properties}
    if required:
        found["required"] = required
    found |= kept
    return found | {"description": words} if words else found


def _add_properties(properties: dict[str, Any], branches: Iterable[JsonSchema]) -> None:
    """Those of the branches; one that several have in different words takes either."""
    seen: dict[str, list[Any]] = {}
    for branch in branches:
        below = branch.get("properties")
        for name, value in below.items() if isinstance(below, Mapping) else ():
            if value not in seen.setdefault(name, []):
                seen[name].append(value)
    for name, values in seen.items():
        if name not in properties:
            properties[name] = values[0] if len(values) == 1 else {"anyOf": values}


def _note(wanted: list[list[Any]], required: list[str]) -> Iterable[str]:
    choices = [" and ".join(name for name in names if name not in required) for names in wanted]
    if sum(map(bool, choices)) > 1:
        yield f"Give {', or '.join(filter(None, dict.fromkeys(choices)))}."


def _referred(node: JsonSchema, root: JsonSchema) -> JsonSchema:
    """The node with what its reference leads to in this schema in its place."""
    for _ in range(_HOPS):
        target = node.get("$ref")
        if not isinstance(target, str) or not target.startswith("#/"):
            break
        found: Any = root
        for part in target[2:].split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        if not isinstance(found, dict):
            break
        node = _mended(found) | {key: value for key, value in node.items() if key != "$ref"}
    return node


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
