"""Defaults that are the time of the server's start: another each time, of a tool that is the same. Pure."""

from __future__ import annotations

import re
from typing import Any

_MARK = "\0a date or a time"  # stands for all of them in a digest
_CHARS = 64
_YEAR, _MONTH, _DAY = r"\d{4}", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_NAMED_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? )?"
_DATE = "|".join(
    (
        rf"{_YEAR}-{_MONTH}-{_DAY}",  # ISO 8601
        rf"{_YEAR}/{_MONTH}/{_DAY}|{_MONTH}/{_DAY}/{_YEAR}|{_DAY}/{_MONTH}/{_YEAR}",
        rf"{_DAY}\.{_MONTH}\.{_YEAR}",
        rf"{_WEEKDAY}{_DAY}[ -]{_NAMED_MONTH}[ -]{_YEAR}",  # RFC 9110
        rf"{_WEEKDAY}{_NAMED_MONTH} {_DAY},? {_YEAR}",
    )
)
_ZONE = r"(?: ?(?:Z|UTC|GMT)?(?:[+-]\d{2}:?(?:\d{2})?)?(?: \([a-z ]+\)|\[[a-z_/]+\])?)"
_HOURS = r"(?:[01]?\d|2[0-4])"
_TIME = rf"{_HOURS}:[0-5]\d(?::[0-6]\d(?:[.,]\d{{1,9}})?)?(?: ?[ap]m)?{_ZONE}"
_BASIC = (
    rf"\d{{4}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])T\d{{4}}(?:\d\d(?:\.\d{{1,9}})?)?{_ZONE}"  # ISO 8601
)
_MOMENT = re.compile(rf"(?:{_DATE})(?:(?:T|,? ){_TIME})?|{_TIME}|{_BASIC}", re.ASCII | re.IGNORECASE)

_DATA = frozenset(("const", "enum", "examples", "example"))  # what stands below is no schema
_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))


def is_moment(text: str) -> bool:
    """It is a date, a time or both, and nothing else."""
    return len(text) <= _CHARS and _MOMENT.fullmatch(text) is not None


def mask_moments(schema: Any) -> None:
    """Puts one mark in the place of each `default` of a JSON Schema that is such a text. No recursion."""
    left: list[tuple[Any, bool]] = [(schema, False)]  # with whether its keys are names, not keywords
    while left:
        one, is_map = left.pop()
        if isinstance(one, list):
            left += [(item, False) for item in one]
        elif isinstance(one, dict):
            for key, item in one.items():
                if is_map:
                    left.append((item, False))
                elif key == "default":
                    if isinstance(item, str) and is_moment(item):
                        one[key] = _MARK
                elif key not in _DATA:
                    left.append((item, key in _MAPS))
