"""What may be handed to a validator: counted without recursion before the validator is touched.

The validator has no step budget, holds the GIL, and recurses: a schema or an argument that is deep, large or
branches too much would stall or end the process. A schema outside the bounds is `unvalidatable`, with the
reason; the server decides then.
"""

from __future__ import annotations

from typing import Any

from toolsearchd.limits import Limits

_COMBINERS = ("anyOf", "oneOf", "allOf")
_MAX_REF_HOPS = 64


def measure(value: Any, limits: Limits) -> str:
    """Why the value is too deep or too large; empty where it is neither."""
    nodes = 0
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > limits.validation_depth:
            return f"nested deeper than {limits.validation_depth} levels"
        below: list[Any] = []
        for item in level:
            nodes += 1
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            if nodes + len(below) > limits.validation_nodes:
                return f"more than {limits.validation_nodes} values"
        level = below
    return ""


def schema_fault(schema: Any, size: int, limits: Limits) -> str:
    """Why a schema (of `size` bytes) can't be used to validate; empty where it can."""
    if size > limits.validation_bytes:
        return f"its schema has {size} bytes, at most {limits.validation_bytes} are validated with"
    if not isinstance(schema, dict):
        return "its schema is no object"
    too_much = measure(schema, limits)
    if too_much:
        return f"its schema is {too_much}" if too_much.startswith("nested") else f"its schema has {too_much}"
    return _reference_fault(schema) or _branch_fault(schema, limits)


def _reference_fault(schema: dict[str, Any]) -> str:
    """Only references within the document are followed, and each must lead somewhere."""
    for node in _objects(schema):
        if "$ref" not in node:
            continue
        target = node["$ref"]
        if not isinstance(target, str):
            return "its schema has a $ref that is no text"
        if not target.startswith("#"):
            return f"its schema refers to {target[:80]!r}, outside of itself; nothing is fetched"
        if target.startswith("#/") and _at(schema, target) is None:
            return f"its schema refers to {target[:80]!r}, which it does not hold"
    if any(isinstance(node.get("$id"), str) for node in _objects(schema) if node is not schema):
        return "its schema moves its own base ($id in a part of it)"
    return ""


def _branch_fault(schema: dict[str, Any], limits: Limits) -> str:
    """Nested alternatives multiply: each level of `anyOf` in `anyOf`, through references too."""
    cost = _Branches(schema, limits.validation_branches).of(schema)
    if cost > limits.validation_branches:
        return f"its schema branches into more than {limits.validation_branches} alternatives"
    return ""


class _Branches:
    """Alternatives below a node, references followed, each definition counted once (bounded recursion)."""

    def __init__(self, root: dict[str, Any], most: int) -> None:
        self._root = root
        self._most = most
        self._known: dict[str, int] = {}
        self._open: set[str] = set()

    def of(self, node: Any) -> int:
        """Depth is bounded by `measure` and by `_open`: recursion stays within a few hundred frames."""
        if not isinstance(node, dict):
            return max((self.of(item) for item in node), default=1) if isinstance(node, list) else 1
        cost = 1
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                cost = cost * self._of_reference(value)
            elif key in _COMBINERS and isinstance(value, list):
                cost *= max(1, sum(self.of(item) for item in value))
            elif key not in ("enum", "const", "default", "examples", "$defs", "definitions"):
                cost = max(cost, self.of(value)) if key in ("properties", "items") else cost * self.of(value)
            if cost > self._most:
                return cost
        return cost

    def _of_reference(self, target: str) -> int:
        if target in self._known:
            return self._known[target]
        if target in self._open or len(self._open) > _MAX_REF_HOPS:
            return 1  # a cycle: the instance's depth bounds it
        self._open.add(target)
        self._known[target] = self.of(_at(self._root, target))
        self._open.discard(target)
        return self._known[target]


def _objects(schema: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            found.append(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return found


def _at(root: Any, pointer: str) -> Any:
    """What a local JSON pointer (`#/a/0/b`) leads to, or None."""
    value = root
    for part in pointer.removeprefix("#").strip("/").split("/") if pointer not in ("#", "#/") else ():
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
