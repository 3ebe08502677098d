"""Which words a key may be: msgspec names the one that was given, and not those that it accepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

import msgspec

_GIVEN = re.compile(r"Invalid enum value (.+)", re.DOTALL)


def with_choices(message: str, kind: Any, where: Sequence[str | int]) -> str:
    """msgspec's message about the value at `where` in a `kind`, with what is accepted there."""
    given = _GIVEN.fullmatch(message)
    choices = _choices(kind, where) if given else ()
    return f"{given[1]} is none of {', '.join(choices)}" if given and choices else message


def _choices(kind: Any, where: Sequence[str | int]) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return () if where else get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        return _choices(fields[str(where[0])], where[1:]) if where and where[0] in fields else ()
    rest = where[1:] if where and isinstance(where[0], int) else where
    return next((found for part in get_args(kind) if (found := _choices(part, rest))), ())
