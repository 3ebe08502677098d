"""Which values can meet a schema at all? A schema that no arguments can meet says nothing of them. Pure.

What is found is an upper bound: kinds of values, and of a kind the literals where only those are left. Two
things that a writer can't have meant are told: a root that no object meets, and a part in use that no value
meets by a slip, such as texts for options of an integer. `false` and `not: {}` forbid on purpose and are
none. Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

Values = Mapping[str, frozenset[bytes] | None]
"""Kind → the values of it that fit, as JSON; None: any."""

_KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")  # number: with a fraction
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ALTERNATIVES = ("anyOf", "oneOf")
_IGNORES_BESIDE_REF = ("draft-04", "draft-06", "draft-07")
_WHOLE = 2**53  # up to here a float that is whole is the integer that was written


class Takes(NamedTuple):
    """`why`: the slip that left nothing; empty: something is left, or nothing on purpose."""

    values: Values
    why: str = ""


ALL = Takes(dict.fromkeys(_KINDS))
NOTHING = Takes({})


def kinds_that_fit(root: Any, targets: Mapping[str, Any], dialect: str) -> frozenset[str]:
    """Of no other kind is any value that meets the schema."""
    return frozenset(_Reader(targets, dialect).takes(root).values)


def why_nothing_fits(root: dict[str, Any], targets: Mapping[str, Any], dialect: str) -> str:
    """Why no arguments can meet the schema, or none that hold one of its parts; empty: they can.

    `targets`: what its references lead to, by their text.
    """
    reader = _Reader(targets, dialect)
    taken = reader.takes(root)
    if "object" not in taken.values:
        if not taken.values:
            return taken.why or "its schema takes nothing at all"
        return f"its schema takes {_words(taken.values)}, and arguments are an object always"
    for node, is_choice in reader.in_use(root):
        # A choice that can't be made leaves the others, but its own words may be a slip as anywhere.
        if why := (_of_own_words(node) if is_choice else reader.takes(node)).why:
            return why
    return ""


class _Reader:
    def __init__(self, targets: Mapping[str, Any], dialect: str) -> None:
        self._targets = targets
        self._refers_only = dialect in _IGNORES_BESIDE_REF
        self._settled: dict[int, Takes] = {}

    def in_use(self, root: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
        """The parts that arguments are held against (not what stands in store, under `not` or in `if`), and
        whether each is only one choice of several."""
        seen: set[tuple[int, bool]] = set()
        waiting: list[tuple[Any, bool]] = [(root, False)]
        while waiting:
            node, is_choice = waiting.pop()
            if not isinstance(node, dict) or (id(node), is_choice) in seen:
                continue
            seen.add((id(node), is_choice))
            yield node, is_choice
            waiting += [(target, is_choice) for target in self._referred(node)]
            if not self._is_reference(node):
                waiting += [(part, is_choice) for part in _listed(node.get("allOf"))]
                waiting += [(part, True) for part in _choices(node)]
                waiting += [(part, False) for part in _parts(node)]

    def takes(self, node: Any) -> Takes:
        """Of what it refers to in a circle nothing is known: that takes all."""
        opened: set[int] = set()
        stack = [node] if isinstance(node, dict) else []
        while stack:
            top = stack[-1]
            if id(top) in self._settled:
                stack.pop()
            elif id(top) in opened:
                self._settled[id(top)] = self._settle(top)
                stack.pop()
            else:
                opened.add(id(top))
                stack += [
                    below
                    for below in (*self._in_place(top), *self._required(top).values())
                    if isinstance(below, dict) and id(below) not in opened
                ]
        return self._known(node)

    def _known(self, node: Any) -> Takes:
        if isinstance(node, dict):
            return self._settled.get(id(node), ALL)
        return NOTHING if node is False else ALL

    def _is_reference(self, node: dict[str, Any]) -> bool:
        """Is what stands beside the reference without meaning?"""
        return self._refers_only and "$ref" in node

    def _referred(self, node: dict[str, Any]) -> list[Any]:
        return [self._targets.get(node[key], True) for key in _REFERENCES if isinstance(node.get(key), str)]

    def _in_place(self, node: dict[str, Any]) -> list[Any]:
        """What judges the same value, each or some of it."""
        found = self._referred(node)
        if not self._is_reference(node):
            for key in ("allOf", *_ALTERNATIVES):
                found += _listed(node.get(key))
        return found

    def _required(self, node: dict[str, Any]) -> dict[str, Any]:
        """The names that an object must have → what their values must meet."""
        if self._is_reference(node):
            return {}
        known, patterns = _mapped(node.get("properties")), _mapped(node.get("patternProperties"))
        rest = True if patterns else node.get("additionalProperties", True)
        names = [name for name in _listed(node.get("required")) if isinstance(name, str)]
        return {name: known.get(name, rest) for name in names}

    def _settle(self, node: dict[str, Any]) -> Takes:
        """What the node takes, all below it being settled."""
        taken = ALL
        for target in self._referred(node):
            taken = _both(taken, self._known(target))
        if self._is_reference(node):
            return taken
        taken = _both(taken, _of_own_words(node))
        for branch in _listed(node.get("allOf")):
            taken = _both(taken, self._known(branch))
        for key in _ALTERNATIVES:
            branches = [self._known(branch) for branch in _listed(node.get(key))]
            if branches:
                taken = _both(taken, _either(branches))
        lacking = [name for name, value in self._required(node).items() if not self._known(value).values]
        if lacking and "object" in taken.values:
            left = {kind: some for kind, some in taken.values.items() if kind != "object"}
            why = f"its schema requires {lacking[0][:80]!r}, for which it takes no value"
            taken = Takes(left, "" if left else why)
        return taken


def _choices(node: dict[str, Any]) -> Iterator[Any]:
    for key in _ALTERNATIVES:
        yield from _listed(node.get(key))
    for key in ("then", "else"):
        yield node.get(key)
    for key in ("dependentSchemas", "dependencies"):
        yield from _mapped(node.get(key)).values()


def _parts(node: dict[str, Any]) -> Iterator[Any]:
    """What judges a member of the value."""
    for key in ("properties", "patternProperties"):
        yield from _mapped(node.get(key)).values()
    for key in ("additionalProperties", "additionalItems", "contains", "items"):
        below = node.get(key)
        yield from below if isinstance(below, list) else (below,)
    yield from _listed(node.get("prefixItems"))


def _of_own_words(node: dict[str, Any]) -> Takes:
    """By `type`, `enum`, `const` and a plain `not`."""
    kinds, named = _kinds(node.get("type"))
    taken = Takes(dict.fromkeys(kinds))
    for options in (node.get("enum"), [node["const"]] if "const" in node else None):
        if options == []:
            return Takes({}, "its schema has an enum without a value")
        if isinstance(options, list):
            why = f"its schema wants {' or '.join(named)}, of values that are none" if named else ""
            taken = _both(taken, Takes(_literals(options)), why)
    refused = node.get("not", False)
    if refused is True or refused == {}:
        return NOTHING
    if isinstance(refused, dict) and refused.keys() == {"type"}:
        gone, _ = _kinds(refused["type"])
        taken = Takes({kind: some for kind, some in taken.values.items() if kind not in gone}, taken.why)
    return taken


def _kinds(named: Any) -> tuple[Iterable[str], list[str]]:
    """The kinds, and the words for them; all and no word where none is named, or an unknown one."""
    names = [named] if isinstance(named, str) else _listed(named)
    if not names or any(name not in _KINDS for name in names):
        return _KINDS, []
    return (*names, "integer") if "number" in names else names, names


def _literals(options: Iterable[Any]) -> Values:
    found: dict[str, set[bytes]] = {}
    for value in options:
        if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
            value = int(value)  # 1.0 and 1 are one in JSON Schema
        found.setdefault(_kind_of(value), set()).add(msgspec.json.encode(value, order="deterministic"))
    return {kind: frozenset(values) for kind, values in found.items()}


_KIND_OF = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _KIND_OF[type(value)]


def _both(one: Takes, other: Takes, why: str = "") -> Takes:
    """What fits both. `why`: of nothing, if it is these two that leave nothing."""
    if one is ALL or other is ALL or not (one.values and other.values):
        return other if one is ALL or (one.values and not other.values) else one
    left: dict[str, frozenset[bytes] | None] = {}
    for kind in one.values.keys() & other.values.keys():
        ours, theirs = one.values[kind], other.values[kind]
        some = theirs if ours is None else ours if theirs is None else ours & theirs
        if some is None or some:
            left[kind] = some
    if left:
        return Takes(left)
    words = f"{_words(one.values)} and {_words(other.values)}"
    return Takes({}, why or f"its schema wants {words} at once, which is no value")


def _either(branches: list[Takes]) -> Takes:
    """What fits one of them at least; of literals, whatever is of their kind."""
    values: dict[str, frozenset[bytes] | None] = {}
    for branch in branches:
        for kind, some in branch.values.items():
            values[kind] = some if kind not in values or values[kind] is some else None
    return Takes(values, "" if values else next((branch.why for branch in branches if branch.why), ""))


def _words(values: Values) -> str:
    kinds = [kind for kind in _KINDS if kind in values and (kind != "integer" or "number" not in values)]
    return " or ".join(kinds)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
