"""A trusted tool's refused input in OpenClaw's words: problems, misspelt names, what is expected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from toolsearchd.dialects.openclaw.catalog import OpenclawEntry
from toolsearchd.dialects.openclaw.signature import signature
from toolsearchd.disclosure.sanitise import plain_line

_NAMES = 8  # misspelt ones that are looked at
_LONGEST_NAME = 64
_KNOWN = 200


def explained(entry: OpenclawEntry, given: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, Any]:
    """The error with a message from which the next call can be written."""
    expected = signature(entry.tool.definition.input_schema)
    problems = [str(error["message"]).partition(";")[0], *map(str, error.get("problems", ()))]
    near = misspelt(given, entry.tool.definition.input_schema)
    meant = "".join(f" Did you mean {known} instead of {name}?" for name, known in near.items())
    message = f"Invalid input for {entry.id}: {'; '.join(problems)}.{meant} Expected: {expected}"
    return {**error, "message": message}


def misspelt(given: Mapping[str, Any], schema: bytes) -> dict[str, str]:
    """Properties that came and are not known → the known one that each may have meant."""
    properties = msgspec.json.decode(schema).get("properties")
    known = list(properties)[:_KNOWN] if isinstance(properties, dict) else []
    unknown = [name for name in given if name not in known and len(name) <= _LONGEST_NAME][:_NAMES]
    free = [plain_line(name) for name in known if name not in given and len(name) <= _LONGEST_NAME]
    found = {plain_line(name): _nearest(name, free) for name in unknown}
    return {name: near for name, near in found.items() if near}


def _nearest(name: str, known: Iterable[str]) -> str:
    """The known name at the least distance that a slip explains; empty where there is none."""
    bound = min(3, max(1, math.ceil(len(name) / 3)))
    distances = [(distance(name.lower(), other.lower(), bound), other) for other in known]
    near = [pair for pair in distances if pair[0] <= bound]
    return min(near)[1] if near else ""


def distance(one: str, other: str, bound: int) -> int:
    """Levenshtein's distance; anything above `bound` where it is larger than that."""
    if abs(len(one) - len(other)) > bound:
        return bound + 1
    row = list(range(len(other) + 1))
    for at, character in enumerate(one, 1):
        before, row[0] = row[0], at
        for to, wanted in enumerate(other, 1):
            before, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, before + (character != wanted))
        if min(row) > bound:
            return bound + 1
    return row[-1]
