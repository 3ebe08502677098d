"""What may be handed to a validator: counted without recursion before the validator is touched.

The validator has no step budget, holds the GIL, and recurses: arguments that are deep or large, or that meet
a schema whose alternatives multiply with their depth, would stall or end the process.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from toolsearchd.dispatch.schema import IN_PLACE, IN_PLACE_LISTS, IN_PLACE_MAPS, Schema, is_backtracking
from toolsearchd.limits import Limits

_ODD_STEP_COST = 10  # a step of the backtracking engine, or a division in big numbers
_QUADRATIC_CHARS = 10_000  # a look-ahead scans the text from each position: chars² / this are steps

_LEAST, _MOST = -(2**63), 2**64 - 1  # an integer of MessagePack


def measure(value: Any, limits: Limits) -> str:
    """Why a value is too deep or too large; empty where it is neither."""
    nodes = size = depth = 0
    level = [value]
    while level:
        depth += 1
        if depth > limits.validation_depth:
            return f"nested deeper than {limits.validation_depth} levels"
        below: list[Any] = []
        for item in level:
            nodes += 1
            if isinstance(item, dict):
                below.extend(item.values())
                size += sum(len(key) for key in item if isinstance(key, str))
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, str):
                size += len(item)
            if nodes + len(below) > limits.validation_nodes:
                return f"more than {limits.validation_nodes} values"
        if size > limits.validation_bytes:
            return f"more than {limits.validation_bytes} bytes"
        level = below
    return ""


def count_nodes(value: Any, most: int) -> int:
    """Values in `value`, itself included; counting ends past `most`."""
    nodes, waiting = 0, [value]
    while waiting and nodes <= most:
        item = waiting.pop()
        nodes += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return nodes


def is_json(value: Any) -> bool:
    """Can JSON carry all of it? For values of any size, at the encoders' speed; `foreign_part` has the place.

    One that nests too deeply to be looked at counts as JSON: no encoder takes it, and the send says so.
    """
    try:
        msgspec.msgpack.encode(value)  # has no number past 64 bits
        return bool(msgspec.json.decode(msgspec.json.encode(value)) == value)
    except RecursionError:
        return True
    except (ValueError, TypeError, OverflowError):
        return False


def foreign_part(value: Any, most: int | None = None) -> tuple[tuple[str | int, ...], str] | None:
    """Path and name of a part that JSON can't carry: MessagePack has bytes, times, any key, NaN; text may
    hold half a surrogate pair, and an integer more digits than MessagePack and most servers take. Gives up
    after `most` values; without it, for measured ones."""
    waiting: list[tuple[Any, Any]] = [(value, ())]
    while waiting and most != 0:
        most = None if most is None else most - 1
        item, path = waiting.pop()
        what = ""
        if isinstance(item, dict):
            odd = [key for key in item if not isinstance(key, str) or not _is_text(key)]
            what = f"a key that is not text ({type(odd[0]).__name__})" if odd else ""
            waiting.extend((below, (path, key)) for key, below in item.items())
        elif isinstance(item, list):
            waiting.extend((below, (path, at)) for at, below in enumerate(item))
        elif isinstance(item, str):
            what = "" if _is_text(item) else "half of a surrogate pair"
        elif isinstance(item, float):
            what = "" if isfinite(item) else f"{item}"
        elif isinstance(item, int):
            what = "" if _LEAST <= item <= _MOST else "an integer past 64 bits"
        elif item is not None:
            what = f"a value of type {type(item).__name__}"
        if what:
            return _unlinked(path), what
    return None


def _is_text(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _unlinked(path: Any) -> tuple[str | int, ...]:
    keys: list[str | int] = []
    while path:
        path, key = path
        keys.append(key)
    return tuple(reversed(keys))


def count_steps(schema: Schema, value: Any, most: int, limits: Limits) -> int:
    """Extra judgements of one value that validating `value` may take: one per member of a combinator, at each
    spot, along each path; counting ends past `most`.

    Walks what the validator would walk, every alternative included, so it is an upper bound.
    """
    steps = tasks = 0
    waiting: list[tuple[Any, Any]] = [(schema.root, value)]
    while waiting:
        node, item = waiting.pop()
        tasks += 1
        if tasks > limits.validation_nodes + most:
            return most + 1
        if not isinstance(node, dict):
            continue
        steps += _own_cost(node, item)
        target = schema.resolve(node)
        if target is not None:
            waiting.append((target, item))
        members = _members(node)
        steps += len(members)
        if steps > most:
            return steps
        waiting.extend((member, item) for member in members)
        if isinstance(item, dict):
            steps += _enter_object(node, item, waiting, most - steps)
        elif isinstance(item, list):
            steps += _enter_list(node, item, waiting)
        if steps > most:
            return steps
    return steps


def _members(node: dict[str, Any]) -> list[Any]:
    members: list[Any] = []
    for key in IN_PLACE_LISTS:
        if isinstance(node.get(key), list):
            members += node[key]
    members += [node[key] for key in IN_PLACE if key in node]
    for key in IN_PLACE_MAPS:
        if isinstance(node.get(key), dict):
            members += node[key].values()
    return members


def _own_cost(node: dict[str, Any], item: Any) -> int:
    options = node.get("enum")
    if isinstance(item, dict | list):
        return len(options) if isinstance(options, list) else 0
    if isinstance(item, str):
        if is_backtracking(node.get("pattern")):
            return _ODD_STEP_COST + len(item) ** 2 // _QUADRATIC_CHARS
    elif "multipleOf" in node and not isinstance(node["multipleOf"], int):
        return _ODD_STEP_COST
    return 0


def _enter_object(
    node: dict[str, Any], item: dict[str, Any], waiting: list[tuple[Any, Any]], most: int
) -> int:
    """Queues the members' judgements; the number of those beyond one per member. Of more than `most` such
    none is queued."""
    properties = node.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    patterns = node.get("patternProperties")
    by_pattern = list(patterns.values()) if isinstance(patterns, dict) else []
    rest = [node[key] for key in ("additionalProperties", "unevaluatedProperties") if key in node]
    names = node.get("propertyNames")
    extra = 0
    if names is not None or by_pattern:
        extra = len(item) * (len(by_pattern) + (names is not None))
        if extra > most:
            return extra
        waiting.extend((names, key) for key in item)
    if properties or by_pattern or rest:
        for key, value in item.items():
            if key in properties:
                waiting.append((properties[key], value))
            elif rest:
                waiting.extend((schema, value) for schema in rest)
            waiting.extend((schema, value) for schema in by_pattern)
    return extra


def _enter_list(node: dict[str, Any], item: list[Any], waiting: list[tuple[Any, Any]]) -> int:
    first = node.get("prefixItems", node["items"] if isinstance(node.get("items"), list) else None)
    first = first if isinstance(first, list) else []
    rest = [
        node[key]
        for key in ("items", "additionalItems", "unevaluatedItems")
        if isinstance(node.get(key), dict)
    ]
    waiting.extend(zip(first, item, strict=False))
    for schema in rest:
        waiting.extend((schema, value) for value in item[len(first) :])
    if "contains" in node:
        waiting.extend((node["contains"], value) for value in item)
        return len(item)
    return 0
