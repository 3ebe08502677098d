"""The decoder's messages in our words: what a key may be, which one was meant, what kind of value it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args, get_origin

import msgspec

_GIVEN = re.compile(r"Invalid enum value (.+)", re.DOTALL)


def with_choices(message: str, kind: Any, where: Sequence[str | int]) -> str:
    """msgspec's message about the value at `where` in a `kind`, with what is accepted there."""
    given = _GIVEN.fullmatch(message)
    choices = _choices(kind, where) if given else ()
    return f"{given[1]} is none of {', '.join(choices)}" if given and choices else message


def nearest(key: str, known: Iterable[str]) -> str:
    """`, did you mean X?`, or nothing."""
    import difflib  # mistakes are seldom: not at every start

    near = difflib.get_close_matches(str(key), list(known), n=1)
    return f", did you mean {near[0]}?" if near else ""


def in_words(message: str) -> str:
    """`expected str | null, got int` as a person says it."""
    missing = _MISSING.fullmatch(message)
    if missing is not None:
        return f"{missing[1]} is missing"
    if not message.startswith("expected "):
        return message
    wanted, got, given = message.removeprefix("expected ").partition(", got ")
    told = _AT_LEAST.sub(lambda match: f"{_SHORT[match[1]]} of {_bound(match)}", wanted)
    told = " or ".join(_KINDS.get(part.strip(), part.strip()) for part in told.split(" | "))
    return f"expected {told}, not {_KINDS.get(given, given)}" if got else f"expected {told}"


_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
_SHORT = _KINDS | {"str": "a text"}
_MISSING = re.compile(r"Object missing required field (\S+)")
_AT_LEAST = re.compile(r"(str|array|object|int|float)(?: of length)? ([<>]=) ([\d.e+-]+)")


def _bound(match: re.Match[str]) -> str:
    what = {"str": " characters", "array": " entries", "object": " keys"}.get(match[1], "")
    return f"{'at least' if match[2] == '>=' else 'at most'} {match[3].removesuffix('.0')}{what}"


def _choices(kind: Any, where: Sequence[str | int]) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return () if where else get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        return _choices(fields[str(where[0])], where[1:]) if where and where[0] in fields else ()
    rest = where[1:] if where and isinstance(where[0], int) else where
    return next((found for part in get_args(kind) if (found := _choices(part, rest))), ())
