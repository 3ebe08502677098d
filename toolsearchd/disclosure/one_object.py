"""A schema whose root refers, combines or chooses, as one object's schema without any of that. Pure.

It takes whatever objects the written one takes: parts that all hold give their properties and what they
require, alternatives their properties, what each of them requires, and words for the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from toolsearchd.catalog.pointers import value_at

JsonSchema = dict[str, Any]

_BRANCHES = ("allOf", "anyOf", "oneOf")
_CONDITIONS = ("then", "else")
REFUSED = (*_BRANCHES, *_CONDITIONS, "not", "enum", "const", "if", "$ref")  # at the top
_HELD = (
    "properties",
    "required",
    *_BRANCHES,
    "if",
    *_CONDITIONS,
)  # of which a node and its reference have both
_DEPTH = 16  # of references and combinations at the top, one inside the other


class _Parts(NamedTuple):
    properties: dict[str, Any]
    required: dict[str, None]
    notes: list[str]


def as_object(node: JsonSchema, root: JsonSchema, mended: Callable[[JsonSchema], JsonSchema]) -> JsonSchema:
    """`node` is the mended root, `root` as it was written; `mended` is asked about what is referred to."""
    flattening = _Flattening(root, mended)
    node = flattening.referred(node)
    if not _takes_objects(node):
        told: JsonSchema = {key: node[key] for key in ("description",) if key in node}
        return {"type": "object", "properties": {}} | told
    parts = flattening.parts(node, _DEPTH)
    kept = {key: value for key, value in node.items() if key not in (*REFUSED, "type")}
    for key in ("properties", "required"):
        kept.pop(key, None)
    words = " ".join(filter(None, (str(kept.pop("description", "")), *parts.notes)))
    found: JsonSchema = {"type": "object", "properties": parts.properties}
    if parts.required:
        found["required"] = list(parts.required)
    found |= kept
    return found | {"description": words} if words else found


class _Flattening:
    """Each part is looked at once, however often it is referred to; in a circle it adds nothing more."""

    def __init__(self, root: JsonSchema, mended: Callable[[JsonSchema], JsonSchema]) -> None:
        self._root = root
        self._mended = mended
        self._targets: dict[str, JsonSchema | None] = {}
        self._known: dict[int, tuple[JsonSchema, _Parts]] = {}  # with the part, whose id must stay its own

    def referred(self, node: JsonSchema) -> JsonSchema:
        """The node with what its reference leads to in this schema in its place."""
        for _ in range(_DEPTH):
            reference = node.get("$ref")
            target = self._target(reference) if isinstance(reference, str) else None
            if target is None:
                break
            node = _joined(target, {key: value for key, value in node.items() if key != "$ref"})
        return node

    def parts(self, node: JsonSchema, depth: int) -> _Parts:
        """Of a node without a reference."""
        properties = dict(_mapped(node.get("properties")))
        required = {name: None for name in _listed(node.get("required")) if isinstance(name, str)}
        notes: list[str] = []
        for key in _BRANCHES:
            branches = self._branches(node.get(key), depth, are_all=key == "allOf")
            _add_properties(properties, branches)
            if key == "allOf":
                for branch in branches:
                    required |= branch.required
                    notes += branch.notes
            elif branches:
                wanted = [branch.required for branch in branches]
                required |= {name: None for name in wanted[0] if all(name in names for names in wanted)}
                notes += _note(wanted, required)
        _add_properties(properties, self._branches([node.get(key) for key in _CONDITIONS], depth))
        return _Parts(properties, required, notes)

    def _branches(self, branches: Any, depth: int, *, are_all: bool = False) -> list[_Parts]:
        """Of those an object can meet, unless it has to meet them all."""
        found = []
        for branch in _listed(branches) if depth else ():
            if not isinstance(branch, dict):
                continue
            if id(branch) not in self._known:
                self._known[id(branch)] = branch, _Parts({}, {}, [])
                node = self.referred(branch)
                parts = self.parts(node, depth - 1) if are_all or _takes_objects(node) else None
                if parts is None:
                    del self._known[id(branch)]
                    continue
                self._known[id(branch)] = branch, parts
            found.append(self._known[id(branch)][1])
        return found

    def _target(self, reference: str) -> JsonSchema | None:
        if reference not in self._targets:
            found = None
            if reference.startswith("#/"):
                found = value_at(self._root, reference[2:])
            elif reference.startswith("#"):
                found = self._anchored(reference[1:])
            self._targets[reference] = self._mended(found) if isinstance(found, dict) else None
        return self._targets[reference]

    def _anchored(self, anchor: str) -> Any:
        stores = [_mapped(self._root.get(key)) for key in ("$defs", "definitions")]
        parts = (part for store in stores for part in store.values() if isinstance(part, dict))
        return next((part for part in parts if anchor and part.get("$anchor") == anchor), None)


def _joined(target: JsonSchema, node: JsonSchema) -> JsonSchema:
    """Both at once; where they differ in a plain word, the node's."""
    if not node.keys() & set(_HELD):
        return target | node
    below = {key: value for key, value in target.items() if key in _HELD}
    plain = {key: value for key, value in target.items() if key not in _HELD}
    return plain | node | {"allOf": [*_listed(node.get("allOf")), below]}


def _takes_objects(node: JsonSchema) -> bool:
    kinds = node.get("type", "object")
    return kinds == "object" or (isinstance(kinds, list) and "object" in kinds)


def _add_properties(properties: dict[str, Any], branches: Iterable[_Parts]) -> None:
    """Those of the branches; one that several have in different words takes either."""
    seen: dict[str, list[Any]] = {}
    for branch in branches:
        for name, value in branch.properties.items():
            if value not in seen.setdefault(name, []):
                seen[name].append(value)
    for name, values in seen.items():
        if name not in properties:
            properties[name] = values[0] if len(values) == 1 else {"anyOf": values}


def _note(wanted: list[dict[str, None]], required: Mapping[str, None]) -> Iterable[str]:
    choices = [" and ".join(name for name in names if name not in required) for names in wanted]
    if sum(map(bool, choices)) > 1:
        yield f"Give {', or '.join(filter(None, dict.fromkeys(choices)))}."


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
