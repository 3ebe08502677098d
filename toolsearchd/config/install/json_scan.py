"""Where the members of JSON objects stand in a text, with comments, trailing commas and the rest of JSON5."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from toolsearchd.config.install.editing import EditError, Section

TOKEN = re.compile(
    r"(?P<blank>\s++|//[^\r\n]*+|/\*.*?\*/)"
    r'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|\'[^\'\\]*+(?:\\.[^\'\\]*+)*+\'|[{}\[\]:,]|[^\s{}\[\]:,"\'/]++',
    re.DOTALL,
)
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """Of an object: where the key and the value begin and end; `comma`: where it stands, or -1."""

    key: str
    start: int
    value: int
    end: int
    comma: int


class Object(NamedTuple):
    """`open` and `close`: of its braces."""

    open: int
    close: int
    members: list[Member]


def walk(text: str, path: Section) -> tuple[Object, Section, bool]:
    """The object at `path`, or the nearest above it; the keys that are missing below; whether the first of
    those exists and is null."""
    here = _object(text, _root(text))
    for depth, key in enumerate(path):
        # Of a key that stands twice, the last one counts.
        member = next((one for one in reversed(here.members) if one.key == key), None)
        if member is None or text[member.value : member.end] == "null":
            return here, path[depth:], member is not None
        if text[member.value] != "{":
            raise EditError(f"{'.'.join(path[: depth + 1])} is no object")
        here = _object(text, member.value)
    return here, (), False


def _root(text: str) -> int:
    tokens = _Tokens(text, 0)
    try:
        start, _ = tokens.take()
    except EOFError:
        raise EditError("the text is no object") from None
    if text[start] != "{":
        raise EditError("the text is no object")
    return start


class _Tokens:
    """What is neither space nor comment, one after the other, as (start, end)."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at

    def take(self) -> tuple[int, int]:
        """Raises EOFError at the text's end."""
        while self._at < len(self._text):
            match = TOKEN.match(self._text, self._at)
            if match is None:
                raise EditError(f"character {self._at} is not JSON")
            self._at = match.end()
            if match["blank"] is None:
                return match.start(), self._at
        raise EOFError

    def take_value(self) -> tuple[int, int]:
        """A whole value."""
        start, end = self.take()
        if self._text[start] not in "{[":
            return start, end
        try:
            # Plain JSON at the decoder's speed: histories stand in these files.
            self._at = _DECODER.raw_decode(self._text, start)[1]
        except (ValueError, RecursionError):
            depth = 1
            while depth:
                one = self._text[self.take()[0]]
                depth += (one in "{[") - (one in "}]")
        return start, self._at


def _object(text: str, opened: int) -> Object:
    members: list[Member] = []
    tokens = _Tokens(text, opened + 1)
    try:
        start, end = tokens.take()
        while text[start] != "}":
            key, (colon, _), (value, stop) = _key(text[start:end]), tokens.take(), tokens.take_value()
            if text[colon] != ":":
                raise EditError(f"character {colon} is not the colon of a key")
            comma, after = tokens.take()
            is_comma = text[comma] == ","
            members.append(Member(key, start, value, stop, comma if is_comma else -1))
            start, end = tokens.take() if is_comma else (comma, after)
    except EOFError:
        raise EditError("the text ends within an object") from None
    return Object(opened, start, members)


def _key(token: str) -> str:
    if token[0] == "'":
        token = '"' + re.sub(r'(?<!\\)"', '\\"', token[1:-1].replace("\\'", "'")) + '"'
    try:
        return str(json.loads(token, strict=False)) if token[0] == '"' else token
    except ValueError as error:
        raise EditError(f"{token} is no key") from error
