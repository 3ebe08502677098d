"""What writers of schemas say in other words than JSON Schema's newest. Pure."""

from __future__ import annotations

from typing import Any

CHILD_MAPS = ("properties", "patternProperties")
STORES = ("$defs", "definitions")


def fold_old_words(node: dict[str, Any], dialect: str) -> None:
    """Draft 4's exclusive bounds where no draft 4 is named, and PHP's empty maps; in place."""
    for key in (*CHILD_MAPS, "items", "additionalProperties"):
        if node.get(key) == []:
            node[key] = {}
    for key in CHILD_MAPS:
        below = node.get(key)
        if isinstance(below, dict):
            below |= {name: {} for name, value in below.items() if value == []}
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
