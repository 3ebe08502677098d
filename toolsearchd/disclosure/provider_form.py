"""An input schema in a form that the providers of models take. Pure.

They refuse a whole request for one definition whose root is not `type: object` with a map of `properties`
or has `anyOf`, `oneOf` or `allOf`, and for one that holds `exclusiveMinimum: true` as draft 4 does, a list
without `items` or with a list of them, or `[]` where a schema belongs. A schema with nothing of it is given
back as it is. Arguments are judged by the schema as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.disclosure.one_object import REFUSED, as_object

JsonSchema = dict[str, Any]

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("additionalItems", "unevaluatedItems", "unevaluatedProperties"),
)
_LIMITS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def for_providers(schema: JsonSchema, *, to_client: bool = False) -> JsonSchema:
    """The same object where nothing has to change; nothing of `schema` is changed. `to_client`: a client puts
    it in its provider's form itself, as far as lists without `items` go; MCP takes them."""
    found = schema if to_client and not _is_refused(schema) else _mended(schema)
    if found.get("type") != "object" or any(key in found for key in REFUSED):
        found = as_object(found, schema, _mended)
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
        if key in node:
            put(key, _each(node[key], adds_items))
    if "dependencies" in node:  # where lists of names may stand as well
        put("dependencies", _each(node["dependencies"], adds_items, are_lists_kept=True))
    for key in _LISTS:
        if isinstance(node.get(key), list):
            put(key, _list(node[key], adds_items))
    for key in _SINGLE:
        if key in node and not (key == "items" and isinstance(node[key], list)):
            put(key, _schema(node[key], adds_items))
    dropped = {key for key in ("anyOf", "oneOf", "allOf") if node.get(key) == []}
    dropped |= {key for key, _ in _LIMITS if isinstance(node.get(key), bool)}
    for key, limit in _LIMITS:
        if node.get(key) is True and limit in node:
            found[key] = node[limit]
            dropped = (dropped - {key}) | {limit}
    if "required" in node and not isinstance(node["required"], list):
        dropped.add("required")
    if isinstance(node.get("items"), list):
        found |= _places(node, adds_items)
        dropped.add("additionalItems")
    if adds_items and _takes_lists(node) and not node.keys() & {"items", "prefixItems", "$ref"}:
        found["items"] = {}
    if not found and not dropped & node.keys():
        return node
    return {key: value for key, value in (node | found).items() if key not in dropped}


def _takes_lists(node: JsonSchema) -> bool:
    kinds = node.get("type")
    return kinds == "array" or (isinstance(kinds, list) and "array" in kinds)


def _places(node: JsonSchema, adds_items: bool) -> JsonSchema:
    """A list of `items`, one a place, in the newest draft's words."""
    rest = _schema(node.get("additionalItems", {}), adds_items)
    if not node["items"] or "prefixItems" in node:  # the empty one is PHP's map
        return {"items": rest}
    return {"prefixItems": _list(node["items"], adds_items), "items": rest}


def _schema(value: Any, adds_items: bool) -> Any:
    """In schema position: what is none, such as PHP's `[]` for an empty map, says nothing."""
    if isinstance(value, dict):
        return _mended(value, adds_items=adds_items)
    return value if isinstance(value, bool) else {}


def _each(below: Any, adds_items: bool, *, are_lists_kept: bool = False) -> Any:
    if not isinstance(below, Mapping):  # [] is how PHP writes an empty map
        return {}
    changed = {
        key: mended
        for key, value in below.items()
        if not (are_lists_kept and isinstance(value, list))
        and (mended := _schema(value, adds_items)) is not value
    }
    return {**below, **changed} if changed else below


def _list(below: list[Any], adds_items: bool) -> list[Any]:
    mended = [_schema(value, adds_items) for value in below]
    return below if all(one is other for one, other in zip(mended, below, strict=True)) else mended
