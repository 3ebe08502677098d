"""A tool's input schema, read once: references resolved, bounds counted, `nullable` said in JSON Schema.

Nothing here recurses: a schema comes from a server and may be anything. What is out of bounds, or leads
outside of itself, is `unvalidatable` with the reason; the tool stays and its server judges the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from toolsearchd.catalog.pointers import value_at
from toolsearchd.dispatch.schema_words import (
    CHILD_MAPS,
    STORES,
    fold_nullable,
    fold_old_words,
)
from toolsearchd.dispatch.takes import why_nothing_fits
from toolsearchd.errors import Code
from toolsearchd.limits import Limits

IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
IN_PLACE = ("not", "if", "then", "else")
IN_PLACE_MAPS = ("dependentSchemas", "dependencies")  # the latter up to draft 7, where lists may stand in it
CHILDREN = (
    "additionalProperties",
    "additionalItems",
    "items",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_MAX_REF_HOPS = 64  # references and combinators in place, one inside the other, at one spot of the arguments
_MAX_PATTERNS = 200  # compiling one costs up to 10 ms
_MAX_PATTERN_CHARS = 64 * 1024
# A string that never ends goes to the end of the text.
_STRUCTURE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_DIALECT = re.compile(r"\Ahttps?://json-schema\.org/(?:draft/)?(draft-0[467]|2019-09|2020-12)/schema#?\Z")


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """`root` is ours alone and already rewritten for the validator; `fault` says why it can't be used."""

    root: dict[str, Any]
    dialect: str = "2020-12"
    targets: dict[str, Any] = msgspec.field(default_factory=dict)  # reference text → subschema
    combines: bool = False  # holds keywords whose cost multiplies: count before validating
    widest: tuple[int, int] = (0, 0)  # the longest `required` and the longest `enum`: both swell an error
    code: Code = "UNVALIDATABLE"  # of the fault
    fault: str = ""
    readable: bool = True  # False: `data` is no JSON object of bounded depth and size

    def resolve(self, node: dict[str, Any]) -> Any:
        """What the node's reference leads to; None where it has none."""
        for key in REFERENCES:
            if key in node:
                return self.targets.get(node[key])
        return None


class _Fault(Exception):
    def __init__(self, reason: str, code: Code = "UNVALIDATABLE") -> None:
        super().__init__(reason)
        self.code = code


def read_schema(data: bytes, limits: Limits) -> Schema:
    """The schema that `data` (JSON text) holds, with its fault if it has one. Never raises."""
    readable = False
    try:
        root = _decode(data, limits)
        readable = True
        return _Reader(root, limits).read()
    except _Fault as fault:
        return Schema(root={}, code=fault.code, fault=str(fault), readable=readable)


def subschemas(node: dict[str, Any]) -> Iterator[Any]:
    """Everything in schema position directly below the node; not what `$ref` leads to."""
    for key in IN_PLACE_LISTS:
        yield from _listed(node.get(key))
    yield from _listed(node.get("prefixItems"))
    for key in IN_PLACE_MAPS + CHILD_MAPS + STORES:
        below = node.get(key)
        if isinstance(below, dict):
            yield from below.values()
    for key in IN_PLACE + CHILDREN:
        if key in node:
            below = node[key]
            yield from below if isinstance(below, list) else (below,)


def in_place(schema: Schema, node: dict[str, Any]) -> Iterator[Any]:
    """The subschemas that judge the same value as the node does, references followed."""
    for key in IN_PLACE_LISTS:
        yield from _listed(node.get(key))
    for key in IN_PLACE:
        if key in node:
            yield node[key]
    for key in IN_PLACE_MAPS:
        below = node.get(key)
        if isinstance(below, dict):
            yield from below.values()
    for key in REFERENCES:
        if key in node:
            yield schema.targets.get(node[key])


def missing_names(node: dict[str, Any], value: dict[str, Any]) -> list[str]:
    """The names that the node's own `required` asks for and `value` lacks."""
    return [name for name in _listed(node.get("required")) if isinstance(name, str) and name not in value]


def too_deep(data: bytes, most: int) -> bool:
    """True where JSON text nests deeper than `most` levels."""
    depth = 0
    for match in _STRUCTURE.finditer(data):
        mark = match[0]
        if mark in (b"[", b"{"):
            depth += 1
            if depth > most:
                return True
        elif mark in (b"]", b"}"):
            depth -= 1
    return False


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _decode(data: bytes, limits: Limits) -> dict[str, Any]:
    if len(data) > limits.validation_bytes:
        raise _Fault(
            f"its schema has {len(data)} bytes, at most {limits.validation_bytes} are validated with"
        )
    if too_deep(data, limits.validation_depth):
        raise _Fault(f"its schema is nested deeper than {limits.validation_depth} levels")
    try:
        root = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _Fault(f"its schema can't be read: {error}") from None
    if root is True:
        return {}
    if not isinstance(root, dict):
        raise _Fault("its schema is not an object")
    return root


class _Reader:
    """Walks the schema's nodes once, then its in-place graph once."""

    def __init__(self, root: dict[str, Any], limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._targets: dict[str, Any] = {}
        self._anchors: dict[str, Any] = {}
        self._combines = False
        self._patterns = 0
        self._pattern_chars = 0

    def read(self) -> Schema:
        self._count_nodes()
        dialect = self._take_dialect()
        nodes = self._nodes()
        for node in nodes:
            fold_nullable(node)
            fold_old_words(node, dialect)
        if why := why_nothing_fits(self._root, self._targets, dialect):
            raise _Fault(why)
        widest = (_longest(nodes, "required"), _longest(nodes, "enum"))
        schema = Schema(
            root=self._root, dialect=dialect, targets=self._targets, combines=self._combines, widest=widest
        )
        self._count_branches(schema, nodes)
        return schema

    def _count_nodes(self) -> None:
        nodes, waiting = 0, [self._root]
        while waiting:
            item: Any = waiting.pop()
            nodes += 1
            if isinstance(item, dict):
                waiting.extend(item.values())
            elif isinstance(item, list):
                waiting.extend(item)
            if nodes + len(waiting) > self._limits.validation_nodes:
                raise _Fault(f"its schema has more than {self._limits.validation_nodes} values")

    def _take_dialect(self) -> str:
        """The draft by `$schema`, unknown ones as the newest. `$schema` and the root's own id are taken out,
        so that nothing can be resolved against them."""
        named = self._root.pop("$schema", None)
        match = _DIALECT.match(named) if isinstance(named, str) else None
        self._root.pop("$id", None)
        if match and match[1] == "draft-04":
            self._root.pop("id", None)
        return match[1] if match else "2020-12"

    def _nodes(self) -> list[dict[str, Any]]:
        """Every subschema object, those that references lead to included; each checked by itself."""
        seen: dict[int, dict[str, Any]] = {}
        waiting: list[Any] = [self._root]
        references: list[str] = []
        while waiting:
            node = waiting.pop()
            if isinstance(node, dict) and id(node) not in seen:
                seen[id(node)] = node
                self._check(node)
                waiting.extend(subschemas(node))
                references += [self._reference(node[key]) for key in REFERENCES if key in node]
            if not waiting:  # all anchors of what was read are known now
                waiting.extend(self._follow(references))
                references.clear()
        return list(seen.values())

    def _check(self, node: dict[str, Any]) -> None:
        if isinstance(node.get("$id"), str):
            raise _Fault("its schema moves its own base ($id in a part of it)")
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(key), str):
                self._anchors[node[key]] = node
        patterns = [node["pattern"]] if isinstance(node.get("pattern"), str) else []
        if isinstance(node.get("patternProperties"), dict):
            patterns += node["patternProperties"]
        self._patterns += len(patterns)
        self._pattern_chars += sum(map(len, patterns))
        if self._patterns > _MAX_PATTERNS or self._pattern_chars > _MAX_PATTERN_CHARS:
            raise _Fault("its schema has too many patterns")
        if not self._combines:
            self._combines = _is_costly(node)

    def _reference(self, target: Any) -> str:
        if not isinstance(target, str):
            raise _Fault("its schema has a $ref that is not text")
        if not target.startswith("#"):
            raise _Fault(f"its schema refers to {target[:80]!r}, outside of itself; nothing is fetched")
        return target

    def _follow(self, references: list[str]) -> Iterator[Any]:
        for reference in references:
            if reference in self._targets:
                continue
            if reference == "#":
                found: Any = self._root
            elif reference.startswith("#/"):
                found = value_at(self._root, reference[2:])
            else:
                found = self._anchors.get(reference[1:])
            if not isinstance(found, dict | bool):
                raise _Fault(f"its schema refers to {reference[:80]!r}, where it holds no schema")
            self._targets[reference] = found
            yield found

    def _count_branches(self, schema: Schema, nodes: list[dict[str, Any]]) -> None:
        """Paths through combinators and references at one spot: they multiply level by level, and a cycle
        among them would never end. Depth first without recursion; each node is settled once."""
        settled: dict[int, tuple[int, int]] = {}  # id(node) → (paths, depth)
        opened: set[int] = set()
        for start in nodes:
            stack = [start]
            while stack:
                node = stack[-1]
                if id(node) in settled:
                    stack.pop()
                    continue
                below = [item for item in in_place(schema, node) if isinstance(item, dict)]
                waiting = [item for item in below if id(item) not in settled]
                if not waiting:
                    opened.discard(id(node))
                    settled[id(node)] = self._settle([settled[id(item)] for item in below])
                    stack.pop()
                    continue
                opened.add(id(node))
                if any(id(item) in opened for item in waiting):
                    raise _Fault("its schema refers to itself without end")
                stack.extend(waiting)

    def _settle(self, below: list[tuple[int, int]]) -> tuple[int, int]:
        paths = 1 + sum(paths for paths, _ in below)
        depth = 1 + max((depth for _, depth in below), default=0)
        if paths > self._limits.validation_branches:
            raise _Fault(
                f"its schema branches into more than {self._limits.validation_branches} alternatives",
                "VALIDATION_BUDGET",
            )
        if depth > _MAX_REF_HOPS:
            raise _Fault(
                f"its schema nests more than {_MAX_REF_HOPS} references and alternatives in one place"
            )
        return paths, depth


def _longest(nodes: list[dict[str, Any]], key: str) -> int:
    return max((len(_listed(node.get(key))) for node in nodes), default=0)


def _is_costly(node: dict[str, Any]) -> bool:
    """True where a value may be judged more than once, or once at a price."""
    combining = (*IN_PLACE_LISTS, *IN_PLACE, *IN_PLACE_MAPS, "patternProperties", "propertyNames", "contains")
    if any(key in node for key in combining):
        return True
    options = node.get("enum")
    return (
        (isinstance(options, list) and any(isinstance(option, dict | list) for option in options))
        or is_backtracking(node.get("pattern"))
        or "multipleOf" in node
    )


_BACKTRACKING = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9k]")


def is_backtracking(pattern: Any) -> bool:
    """True where a pattern needs the backtracking engine: look-around, atomic groups, back-references."""
    return isinstance(pattern, str) and _backtracks(pattern)


@lru_cache(maxsize=_MAX_PATTERNS)  # one pattern is asked about for each text that it is to judge
def _backtracks(pattern: str) -> bool:
    return _BACKTRACKING.search(pattern) is not None
