"""Values a model wrote in a near form, turned into what the schema takes: at every depth, never lossy.

Only a value whose kind its position can't take is touched, and only where it has one reading there: text
that is a number, `true`, `false` or `null`; JSON text of a container; one item for a list. Null, and empty
text where no text is taken, is left out where its parameter may be. Nothing becomes text: an id sent as a
number may have lost its zeros (the error shows the correction). A value that is valid is never changed, since
every kind that any alternative takes is left alone.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from toolsearchd.dispatch.jsontext import JsonFault, read_json, same
from toolsearchd.dispatch.schema import Schema

_MAX_DEPTH = 64  # levels of arguments; below, values stay as they are (recursion is bounded by this)
_MAX_STEPS = 50_000  # subschemas looked at for one set of arguments; afterwards values stay as they are
_MAX_PASSES = 4  # a coerced discriminator can settle which alternative is meant
_MAX_NUMBER_CHARS = 300
_EXACT_INTEGER = 2**53  # beyond, a JSON number may have lost digits on its way here

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_SCALARS = frozenset({"null", "boolean", "integer", "number", "string"})
_KINDS = _SCALARS | {"array", "object"}

Kinds = frozenset[str] | None  # None: any


def coerce(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """`arguments` as the schema takes them, as far as there is one reading; the given object is not changed.

    Idempotent. The result may still be invalid: the validator decides.
    """
    value: Any = arguments
    coercion = _Coercion(schema)
    for _ in range(_MAX_PASSES):
        made = coercion.value(schema.root, value, 0)
        if made is value:
            break
        value = made
    return value if isinstance(value, dict) else arguments


def kind_of(value: Any) -> str:
    """JSON Schema's kind of a value; `2.0` is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


class _Coercion:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._steps = _MAX_STEPS

    def value(self, node: Any, value: Any, depth: int, *, may_wrap: bool = True) -> Any:
        """The value as `node` takes it; the same object where nothing changes."""
        if depth > _MAX_DEPTH or self._steps <= 0 or not isinstance(node, dict):
            return value
        kinds = self._kinds(node, value)
        if kinds is None or kind_of(value) in kinds:
            return self._inside(node, value, depth)
        made = self._converted(node, value, kinds, depth)
        if made is value and may_wrap and "array" in kinds and not isinstance(value, list):
            return self._wrapped(node, value, depth)
        return made

    def _inside(self, node: dict[str, Any], value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            made = {}
            for key, given in value.items():
                member = self._member(node, value, key)
                one = self.value(member, given, depth + 1)
                if not self._is_left_out(node, key, member, one):
                    made[key] = one
            is_same = len(made) == len(value) and all(made[key] is given for key, given in value.items())
            return value if is_same else made
        if isinstance(value, list):
            items = [self.value(self._item(node, value, at), v, depth + 1) for at, v in enumerate(value)]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def _is_left_out(self, node: dict[str, Any], key: str, member: Any, value: Any) -> bool:
        """Null or empty text for a parameter that takes neither and may be left out: so it was meant."""
        if (value is not None and value != "") or not isinstance(member, dict):
            return False
        required = node.get("required")
        if isinstance(required, list) and key in required:
            return False
        kinds = self._kinds(member, value)
        return kinds is not None and kind_of(value) not in kinds

    def _converted(self, node: dict[str, Any], value: Any, kinds: frozenset[str], depth: int) -> Any:
        if isinstance(value, str):
            made = _read_scalar(value, kinds)
            if made is not value:
                return made
            container = self._read_container(node, value, kinds)
            return value if container is value else self._inside(node, container, depth)
        return value

    def _read_container(self, node: dict[str, Any], text: str, kinds: frozenset[str]) -> Any:
        start = text.lstrip()[:1]
        if not start and "object" in kinds and "array" not in kinds:
            return text if node.get("required") or "$ref" in node else {}
        if not ((start == "[" and "array" in kinds) or (start == "{" and "object" in kinds)):
            return text
        try:
            return read_json(text)
        except JsonFault:
            return text

    def _wrapped(self, node: dict[str, Any], value: Any, depth: int) -> Any:
        """`[value]`, where the value alone is what an item may be. Text with a comma may mean several."""
        if value is None:
            return value
        items = self._item(node, [value], 0)
        item = self.value(items, value, depth + 1, may_wrap=False)
        if isinstance(item, str) and ("," in item or not item.strip() or item.lstrip()[0] in "[{"):
            return value
        kinds = self._kinds(items, item) if isinstance(items, dict) else None
        return [item] if kinds is None or kind_of(item) in kinds else value

    def _kinds(self, node: Any, value: Any) -> Kinds:
        """The kinds of value that `node` can take; where it lists literals and `value` is none of them,
        the kinds of those. Wider than the truth where in doubt."""
        self._steps -= 1
        if self._steps <= 0 or not isinstance(node, dict):
            return None
        kinds = _meet(_type_kinds(node.get("type")), self._literal_kinds(node, value))
        for key in ("allOf", "anyOf", "oneOf"):
            branches = node.get(key)
            if isinstance(branches, list) and branches:
                found = [self._kinds(branch, value) for branch in branches]
                for one in found if key == "allOf" else [_join(found)]:
                    kinds = _meet(kinds, one)
        target = self._schema.resolve(node)
        return kinds if target is None else _meet(kinds, self._kinds(target, value))

    def _literal_kinds(self, node: dict[str, Any], value: Any) -> Kinds:
        if "const" in node:
            options = [node["const"]]
        elif isinstance(node.get("enum"), list):
            options = node["enum"]
        else:
            return None
        self._steps -= len(options) // 8
        kinds = frozenset(map(kind_of, options))
        if any(same(option, value) for option in options):
            return kinds
        return kinds - {kind_of(value)} or kinds

    def _member(self, node: Any, value: dict[str, Any], key: str) -> Any:
        """The schema for one property, made of all parts of `node` that speak of it; None: nothing does."""
        return self._below(node, value, lambda part: _own_member(part, key))

    def _item(self, node: Any, value: list[Any], at: int) -> Any:
        return self._below(node, value, lambda part: _own_item(part, at))

    def _below(self, node: Any, value: Any, own: Any) -> Any:
        self._steps -= 1
        if self._steps <= 0 or not isinstance(node, dict):
            return None
        parts = [part for part in [own(node)] if isinstance(part, dict)]
        for branch in _listed(node.get("allOf")):
            part = self._below(branch, value, own)
            if part is not None:
                parts.append(part)
        for key in ("anyOf", "oneOf"):
            branches = self._plausible(_listed(node.get(key)), value)
            found = [self._below(branch, value, own) for branch in branches]
            if found and all(part is not None for part in found):
                alike = list({id(part): part for part in found}.values())
                parts.append(alike[0] if len(alike) == 1 else {"anyOf": alike})
        target = self._schema.resolve(node)
        if target is not None:
            part = self._below(target, value, own)
            if part is not None:
                parts.append(part)
        if len(parts) > 1:
            return {"allOf": parts}
        return parts[0] if parts else None

    def _plausible(self, branches: list[Any], value: Any) -> list[Any]:
        """Alternatives that the value does not contradict by its kind or by a literal (a discriminator)."""
        left = [branch for branch in branches if not self._contradicts(branch, value)]
        return left or branches

    def _contradicts(self, branch: Any, value: Any) -> bool:
        if isinstance(branch, dict) and (target := self._schema.resolve(branch)) is not None:
            branch = target
        if not isinstance(branch, dict):
            return branch is False
        self._steps -= 1
        kinds = _type_kinds(branch.get("type"))
        if kinds is not None and kind_of(value) not in kinds:
            return True
        properties = branch.get("properties")
        if not isinstance(value, dict) or not isinstance(properties, dict):
            return False
        for key, prop in properties.items():
            if key in value and isinstance(prop, dict) and ("const" in prop or "enum" in prop):
                options = [prop["const"]] if "const" in prop else _listed(prop["enum"])
                self._steps -= 1 + len(options) // 8
                if not any(same(option, value[key]) for option in options):
                    return True
        return False


def _own_member(node: dict[str, Any], key: str) -> Any:
    properties = node.get("properties")
    if isinstance(properties, dict) and key in properties:
        return properties[key]
    return None if "patternProperties" in node else node.get("additionalProperties")


def _own_item(node: dict[str, Any], at: int) -> Any:
    items = node.get("items")
    first = _listed(node.get("prefixItems")) or _listed(items)
    if at < len(first):
        return first[at]
    return node.get("additionalItems") if isinstance(items, list) else items


def _type_kinds(named: Any) -> Kinds:
    names = [named] if isinstance(named, str) else named
    if (
        not isinstance(names, list)
        or not names
        or not all(name in _KINDS for name in names if isinstance(name, str))
    ):
        return None
    kinds = frozenset(name for name in names if isinstance(name, str))
    return kinds | {"integer"} if "number" in kinds else kinds


def _meet(one: Kinds, other: Kinds) -> Kinds:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _join(all_kinds: list[Kinds]) -> Kinds:
    joined: frozenset[str] = frozenset()
    for kinds in all_kinds:
        if kinds is None:
            return None
        joined |= kinds
    return joined


def _read_scalar(text: str, kinds: frozenset[str]) -> Any:
    word = text.strip()
    folded = word.lower() if len(word) <= len("false") else ""
    if folded == "null" and "null" in kinds:
        return None
    if folded in ("true", "false") and "boolean" in kinds:
        return folded == "true"
    if ("integer" in kinds or "number" in kinds) and len(word) <= _MAX_NUMBER_CHARS and _NUMBER.match(word):
        return _read_number(text, word, whole=None if "number" in kinds else True)
    return text


def _read_number(text: str, word: str, *, whole: bool | None) -> Any:
    """The number that `word` is, exactly; `text` where a JSON number would lose digits or be no whole one."""
    try:
        exact = Decimal(word)
    except InvalidOperation:
        return text
    if exact == exact.to_integral_value() and abs(exact) <= _EXACT_INTEGER:
        return int(exact)
    if word.lstrip("+-").isdigit():
        return int(word)
    number = float(exact)
    return text if whole or Decimal(repr(number)) != exact else number


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
