"""What writers of schemas say in other words than JSON Schema's newest, and what nobody can mean. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

CHILD_MAPS = ("properties", "patternProperties")
STORES = ("$defs", "definitions")

_IS_A: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and value == value // 1,
    "number": lambda value: _is_number(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kinds(node: dict[str, Any]) -> list[Any]:
    """The types that it names; none: any."""
    kinds = node.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def _is_of(value: Any, kinds: list[Any]) -> bool:
    return any(kind not in _IS_A or _IS_A[kind](value) for kind in kinds if isinstance(kind, str))


def fold_old_words(node: dict[str, Any], dialect: str) -> None:
    """Draft 4's exclusive bounds where no draft 4 is named, and PHP's empty maps; in place."""
    for key in CHILD_MAPS:
        if node.get(key) == []:
            node[key] = {}
    if dialect == "draft-04":
        return
    for key, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(key), bool):
            excludes = node.pop(key)
            if excludes and limit in node:
                node[key] = node.pop(limit)


def fold_nullable(node: dict[str, Any]) -> None:
    """`nullable: true` (OpenAPI 3.0) becomes `null` in the type list, or an alternative; in place.

    Literals (`enum`, `const`, `default`, `examples`) are in no schema position and stay as they are. In
    drafts 6 and 7 the validator would decode texts by `contentEncoding`; here it is an annotation.
    """
    node.pop("contentEncoding", None)
    node.pop("contentMediaType", None)
    if node.get("nullable") is not True:
        return
    del node["nullable"]
    kind = node.get("type")
    if isinstance(kind, str):
        if kind != "null":
            node["type"] = [kind, "null"]
    elif isinstance(kind, list):
        if "null" not in kind:
            node["type"] = [*kind, "null"]
    elif node:
        inner = dict(node)
        kept = {
            key: inner.pop(key) for key in STORES if key in inner
        }  # pointers into them must still lead there
        node.clear()
        node.update(kept, anyOf=[inner, {"type": "null"}])


def why_nothing_fits(root: dict[str, Any], nodes: Iterable[dict[str, Any]]) -> str:
    """Why no arguments can meet the schema, so that it says nothing of them; empty: some may."""
    kinds = _kinds(root)
    if kinds and "object" not in kinds:
        return f"its schema takes {' or '.join(map(str, kinds))}, and arguments are an object always"
    for node in nodes:
        options = node.get("enum", [node["const"]] if "const" in node else None)
        if options == []:
            return "its schema has an enum without a value"
        kinds = _kinds(node)
        if isinstance(options, list) and kinds and not any(_is_of(option, kinds) for option in options):
            return f"its schema wants {' or '.join(map(str, kinds))}, of values that are none"
    return ""
