"""JSON as editors write it: comments, trailing commas, a byte order mark; errors with line and column.

A text is decoded at the decoder's full speed; where a part of it stands is looked up only when there is
something to say about that part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from toolsearchd.config.document import NOWHERE, Document, Path, Place, problem_at
from toolsearchd.config.model import Problem

# Strings first, so that what looks like a comment inside one is left alone.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_SPACE = re.compile(r"\s*")
_MAX_DEPTH = 8  # where servers are named
_MAX_CHARS = 4 * 1024 * 1024  # beyond it nothing is stripped or looked up: no hand-written file is so long


def parse_json(text: str, file: str) -> Document:
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
        return Document(None, [problem_at("error", f"not JSON: {error.msg}", file, (), place)])
    except RecursionError:
        return Document(None, [problem_at("error", "nested too deeply", file)])
    except ValueError as error:  # a number of more than 4,300 digits
        return Document(None, [problem_at("error", f"not readable as JSON: {error}", file)])
    return Document(value, _doubles(text, file) if doubles else [], _Places(text).place)


# A string of either kind, a comment, or a key without quotes.
_JSON5 = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?P<single>(?:\\.|[^'\\])*)'|//[^\n]*|/\*.*?\*/"
    r"|(?P<key>[A-Za-z_$][\w$]*)(?=\s*:)",
    re.DOTALL,
)


def parse_json5(text: str, file: str) -> Document:
    """As `parse_json`, with unquoted keys and single quotes too. Columns shift where those stand."""
    document = parse_json(text, file)
    if document.is_readable or len(text) > _MAX_CHARS:
        return document
    quoted = parse_json(_JSON5.sub(_quoted, text), file)
    return quoted if quoted.is_readable else document


def _quoted(match: re.Match[str]) -> str:
    if match["key"] is not None:
        return f'"{match["key"]}"'
    if match["single"] is not None:
        inner = match["single"].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', '\\"', inner) + '"'
    return match[0]


def _plain(text: str) -> str:
    """The same text with comments and trailing commas blanked out, so that positions stay true."""
    text = _TOKEN.sub(lambda m: m[0] if m[0].startswith('"') else re.sub(r"[^\n]", " ", m[0]), text)
    return _TRAILING_COMMA.sub(lambda m: m[1] or " ", text)


class _Places:
    """Where the parts of a well-formed text stand."""

    def __init__(self, text: str) -> None:
        self._text = text

    def place(self, path: Path) -> Place:
        """Of `path`, or of the nearest part above it that exists."""
        if len(self._text) > _MAX_CHARS:
            return NOWHERE
        at = found = _skip(self._text, 0)
        for part in path:
            hits = [(key_at, value_at) for key, key_at, value_at in _members(self._text, at) if key == part]
            if not hits:
                break
            found, at = hits[-1]  # of a key that stands twice, the last one counts
        return _line_and_column(self._text, found)


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
    found: list[Problem] = []

    def walk(at: int, path: Path) -> None:
        seen: set[str | int] = set()
        for key, key_at, value_at in _members(text, at):
            if key in seen:
                place = _line_and_column(text, key_at)
                found.append(
                    problem_at(
                        "warning", "the key stands twice; the last one counts", file, (*path, key), place
                    )
                )
            seen.add(key)
            if len(path) < _MAX_DEPTH:
                walk(value_at, (*path, key))

    if len(text) <= _MAX_CHARS:
        walk(_skip(text, 0), ())
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _line_and_column(text: str, at: int) -> Place:
    return Place(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
