"""JSON as editors write it: comments, trailing commas, a byte order mark; errors with line and column.

A text is decoded at the decoder's full speed; where a part of it stands is looked up only when there is
something to say about that part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from toolsearchd.config.document import NOWHERE, ConfigDocument, Lines, Path, Place, problem_at
from toolsearchd.config.model import Problem

# Strings first, so that what looks like a comment inside one is left alone. What never ends is one token up
# to the text's end: else each quote in it would begin another search for the same end.
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
SINGLE_QUOTED = r"'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)"
COMMENT = r"//[^\n]*+|/\*.*?(?:\*/|\Z)"
_TOKEN = re.compile(f"{STRING}|(?P<comment>{COMMENT})", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({STRING})|,(?=\s*[}}\]])", re.DOTALL)
_NO_LINE_END = re.compile(r"[^\n]")
_SPACE = re.compile(r"\s*")
_MAX_DEPTH = 8  # where servers are named
_TOLD_DOUBLES = 20  # keys that stand twice which are told one by one
_MAX_CHARS = 4 * 1024 * 1024  # beyond it nothing is stripped or looked up: no hand-written file is so long


def parse_json(text: str, file: str) -> ConfigDocument:
    """Never raises."""
    text = text.removeprefix("\ufeff")
    doubles: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) != len(items):
            doubles.append("")
        return made

    decoder = json.JSONDecoder(object_pairs_hook=pairs)
    try:
        try:
            value = decoder.decode(text)
        except json.JSONDecodeError:
            if len(text) > _MAX_CHARS:
                raise
            doubles.clear()
            text = _plain(text)
            value = decoder.decode(text)
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno)
        return ConfigDocument(None, [problem_at("error", f"not JSON: {error.msg}", file, (), place)])
    except RecursionError:
        return ConfigDocument(None, [problem_at("error", "nested too deeply", file)])
    except ValueError as error:  # a number of more than 4,300 digits
        return ConfigDocument(None, [problem_at("error", f"not readable as JSON: {error}", file)])
    return ConfigDocument(value, _doubles(text, file) if doubles else [], _Places(text).place)


# A string of either kind, a comment, or a word, which is a key where a colon follows.
_JSON5 = re.compile(
    f"{STRING}|(?P<single>{SINGLE_QUOTED})|{COMMENT}" r"|(?P<word>[A-Za-z_$][\w$]*+)(?P<colon>\s*+:)?+",
    re.DOTALL,
)


def parse_json5(text: str, file: str) -> ConfigDocument:
    """As `parse_json`, with unquoted keys and single quotes too. Columns shift where those stand."""
    document = parse_json(text, file)
    if document.is_readable or len(text) > _MAX_CHARS:
        return document
    quoted = parse_json(_JSON5.sub(_quoted, text), file)
    return quoted if quoted.is_readable else document


def _quoted(match: re.Match[str]) -> str:
    if match["colon"] is not None:
        return f'"{match["word"]}"{match["colon"]}'
    if (single := match["single"]) is not None and len(single) > 1 and single[-1] == "'":
        inner = single[1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', '\\"', inner) + '"'
    return match[0]


def _plain(text: str) -> str:
    """The same text with comments and trailing commas blanked out, so that positions stay true."""
    return _TRAILING_COMMA.sub(lambda match: match[1] or " ", _TOKEN.sub(_blanked, text))


def _blanked(match: re.Match[str]) -> str:
    comment = match["comment"]
    if comment is None or (comment.startswith("/*") and not (len(comment) > 3 and comment.endswith("*/"))):
        return match[0]
    return _NO_LINE_END.sub(" ", comment)


class _Places:
    """Where the parts of a well-formed text stand. Each object that was asked about is gone through once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = Lines(text)
        self._members: dict[int, dict[str | int, tuple[int, int]]] = {}

    def place(self, path: Path) -> Place:
        """Of `path`, or of the nearest part above it that exists."""
        if len(self._text) > _MAX_CHARS:
            return NOWHERE
        at = found = _skip(self._text, 0)
        for part in path:
            hit = self._members_at(at).get(part)
            if hit is None:
                break
            found, at = hit
        return self._lines.place(found)

    def _members_at(self, at: int) -> dict[str | int, tuple[int, int]]:
        """Key or index → where it stands and its value begins; of a key that stands twice, the last one."""
        members = self._members.get(at)
        if members is None:
            found = _members(self._text, at)
            members = self._members[at] = {key: (key_at, value_at) for key, key_at, value_at in found}
        return members


def _members(text: str, at: int) -> Iterator[tuple[str | int, int, int]]:
    """(key or index, where it stands, where its value begins) of the object or array at `at`."""
    opened = text[at]
    if opened not in "{[":
        return
    decoder = json.JSONDecoder()
    index = 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        key: str | int
        key_at = at
        if opened == "{":
            key, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        else:
            key, index = index, index + 1
        yield key, key_at, at
        at = _skip(text, decoder.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)


def _doubles(text: str, file: str) -> list[Problem]:
    """Keys that stand twice. Every client takes the last one, so it is only said."""
    if len(text) > _MAX_CHARS:
        return []
    lines = Lines(text)
    found: list[Problem] = []
    untold = 0

    def walk(at: int, path: Path) -> None:
        nonlocal untold
        seen: set[str | int] = set()
        for key, key_at, value_at in _members(text, at):
            if key in seen and len(found) < _TOLD_DOUBLES:
                message = "the key stands twice; the last one counts"
                found.append(problem_at("warning", message, file, (*path, key), lines.place(key_at)))
            elif key in seen:
                untold += 1
            seen.add(key)
            if len(path) < _MAX_DEPTH:
                walk(value_at, (*path, key))

    walk(_skip(text, 0), ())
    if untold:
        found.append(problem_at("warning", f"{untold} further keys stand twice; the last ones count", file))
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
