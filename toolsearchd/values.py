"""Which values can cross the wires, and what stands for one that can't. Pure, linear, without recursion.

What both MessagePack and JSON hold: null, booleans, integers of 64 bits, finite numbers, text of Unicode
scalar values, lists, and maps with text for keys.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from toolsearchd.records import WireRecord

MAX_DEPTH = 200  # msgspec's encoders fail near 1,000, with the interpreter's stack
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 64) - 1
_CUT = "…"  # for what nests deeper
_SHOWN_CHARS = 40
_MAX_BITS = 14_000  # `str` refuses integers of more than 4,300 digits
_HOLDERS = frozenset((dict, list, tuple))

Path = tuple[str | int, ...]


def find_fault(value: Any) -> tuple[Path, str] | None:
    """Where something stands that can't cross, and what it is, in words; None where all can."""
    if not isinstance(value, dict | list | tuple):
        fault = _leaf_fault(value)
        return ((), fault) if fault else None
    left: list[tuple[Path, Any]] = [((), value)]
    while left:
        path, holder = left.pop()
        if len(path) >= MAX_DEPTH:
            return path[:1], f"nested deeper than {MAX_DEPTH} levels"
        is_map = type(holder) is dict
        for key, item in holder.items() if is_map else enumerate(holder):
            if is_map and (fault := _key_fault(key)):
                return path, fault
            if type(item) in _HOLDERS:
                left.append(((*path, key), item))
            elif fault := _leaf_fault(item):
                return (*path, key), fault
    return None


def representable(value: Any) -> Any:
    """The value with a stand-in for each part that can't cross: U+FFFD for a lone surrogate, the digits of a
    large integer, null for what is no finite number, text for any other thing, an ellipsis for what nests too
    deep. What can cross comes back equal."""
    found: list[Any] = [None]
    left: list[tuple[Any, Any, Any, int]] = [(found, 0, value, 0)]  # (where to, at, what, how deep)
    while left:
        holder, at, one, depth = left.pop()
        one = one.members() if isinstance(one, WireRecord) else one
        if isinstance(one, dict | list | tuple) and depth >= MAX_DEPTH:
            holder[at] = _CUT
        elif isinstance(one, dict):
            made: dict[str, Any] = {}
            holder[at] = made
            numbers: dict[str, int] = {}
            for key, item in one.items():
                name = _free(made, _text(key) if isinstance(key, str) else shown(key), numbers)
                made[name] = None
                left.append((made, name, item, depth + 1))
        elif isinstance(one, list | tuple):
            made_list: list[Any] = [None] * len(one)
            holder[at] = made_list
            left += [(made_list, place, item, depth + 1) for place, item in enumerate(one)]
        else:
            holder[at] = _leaf(one)
    return found[0]


def shown(value: Any) -> str:
    """A value that is none of the wires', as a short text."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > _MAX_BITS:
            return f"{'-' if value < 0 else ''}{abs(value) >> (value.bit_length() - 128):#x}…"
        return str(value)
    if isinstance(value, str):
        text = _text(value[: _SHOWN_CHARS + 1])
        return text if len(value) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + _CUT
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, bytes):
        return repr(value[:_SHOWN_CHARS])
    return f"<{type(value).__name__}>"


def _key_fault(key: Any) -> str:
    if type(key) is not str:
        return f"a key that is no text: {shown(key)}"
    return "" if key.isascii() or _is_text(key) else "a key with a lone surrogate (half a character)"


def _leaf_fault(one: Any) -> str:
    kind = type(one)
    if kind is str:
        return "" if one.isascii() or _is_text(one) else "text with a lone surrogate (half a character)"
    if kind is int:
        return "" if _INT_MIN <= one <= _INT_MAX else f"an integer past 64 bits: {shown(one)}"
    if kind is float:
        return "" if isfinite(one) else f"no finite number: {one}"
    return "" if one is None or kind is bool else f"no JSON value: {shown(one)}"


def _leaf(one: Any) -> Any:
    if one is None or isinstance(one, bool):
        return one
    if isinstance(one, str):
        return _text(one)
    if isinstance(one, int):
        return one if _INT_MIN <= one <= _INT_MAX else shown(one)
    if isinstance(one, float):
        return one if isfinite(one) else None
    return shown(one)


def _text(text: str) -> str:
    """With U+FFFD for each lone surrogate."""
    return (
        text
        if text.isascii() or _is_text(text)
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _free(taken: dict[str, Any], name: str, numbers: dict[str, int]) -> str:
    """The name, or one like it that is free: two keys must not become one. `numbers`: of each name, those up
    to which all are taken."""
    free = name
    while free in taken:
        number = numbers[name] = numbers.get(name, 1) + 1
        free = f"{name} ({number})"
    return free
