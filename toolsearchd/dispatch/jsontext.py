"""JSON that a model wrote as text: strict reading, one narrow repair, faults with their position.

The repair adds or drops closing brackets at the very end, outside any entry's arguments: there the text has
one reading. A cut inside arguments has many (the rest may have held anything), so it is never mended.
"""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = "```"
_FENCE_LINE = re.compile(r"\s*+```[A-Za-z0-9]*+[ \t]*+\n")
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|"|[\[\]{}]', re.DOTALL)
_CLOSERS_ONLY = re.compile(r"[\]}\s]*+\Z")
_CLOSER = {"[": "]", "{": "}"}
_CALLS = re.compile(r'\s*\{\s*"calls"')
_AROUND = ("", "[", "{", "[{")  # what may stand open around an entry's arguments: the list, the entry
_AROUND_IN_CALLS = ("", "{", "{[", "{{", "{[{")
_EXCERPT = 24  # characters shown on each side of a fault


class JsonFault(ValueError):
    """Text that is not JSON. `position` is a 0-based character offset; the message shows the place."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def read_json(text: str) -> Any:
    """The value that `text` holds, by RFC 8259: no NaN, nothing beyond a double's range. Raises JsonFault."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise JsonFault(_words(error.msg, error.pos, text), error.pos) from None
    except RecursionError:
        raise JsonFault("nested too deep", 0) from None
    except ValueError as error:  # a number: NaN, 1e999, thousands of digits
        raise JsonFault(str(error), 0) from None


def read_json_leniently(text: str) -> Any:
    """As `read_json`, after taking off a code fence, one more layer of JSON text, and miscounted brackets."""
    text = _without_fence(text)
    try:
        value = read_json(text)
    except JsonFault:
        mended = mend_brackets(text)
        if mended is None:
            raise
        value = read_json(mended)
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        return read_json(value)
    return value


def _without_fence(text: str) -> str:
    head = _FENCE_LINE.match(text)
    body = text.rstrip()
    if head is None or not body.endswith(_FENCE) or head.end() > len(body) - len(_FENCE):
        return text
    return body[head.end() : -len(_FENCE)].rstrip()


def mend_brackets(text: str) -> str | None:
    """`text` with the closing brackets at its end put right, or None where there is more than one reading."""
    around = _AROUND_IN_CALLS if _CALLS.match(text) else _AROUND
    stack: list[str] = []
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == '"':
            return None  # cut inside a string
        if mark in _CLOSER:
            stack.append(mark)
        elif mark[0] != '"' and not (stack and _CLOSER[stack[-1]] == mark):
            return (
                _close(text[: token.start()], stack, around) if _only_closers(text, token.start()) else None
            )
        elif mark[0] != '"':
            stack.pop()
    return _close(text, stack, around)


def _close(text: str, stack: list[str], around: tuple[str, ...]) -> str | None:
    text = text.rstrip()
    if "".join(stack) not in around or text[-1:] not in ("]", "}"):
        return None
    return text + "".join(_CLOSER[mark] for mark in reversed(stack))


def _only_closers(text: str, start: int) -> bool:
    return _CLOSERS_ONLY.match(text, start) is not None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:40]} is beyond the range of a number")
    return number


def _words(reason: str, position: int, text: str) -> str:
    before = text[max(0, position - _EXCERPT) : position]
    after = text[position : position + _EXCERPT]
    if not after:
        return f"{reason} at character {position}, the end of the text, after …{before!r}"
    return f"{reason} at character {position}, between …{before!r} and {after!r}…"


def same(one: Any, other: Any) -> bool:
    """Equality as JSON has it: `true` is not `1`, `2.0` is `2`."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
