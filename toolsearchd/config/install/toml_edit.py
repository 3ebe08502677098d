"""TOML edited as text: statements are found by their keys, all others keep every byte.

The text is known to be TOML (`tomllib` read it), so the scanner only looks where statements begin and end.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, NamedTuple

from toolsearchd.config.install.editing import (
    Addition,
    EditError,
    Section,
    SourceText,
    Text,
    newline_of,
    stays,
    without_detached,
)

_BLANK = re.compile(r"(?:[\s\ufeff]++|#[^\n]*+)*+")
_KEY = re.compile(r'\s*+("[^"\\]*+(?:\\.[^"\\]*+)*+"|\'[^\']*+\'|[A-Za-z0-9_-]++)\s*+')
_VALUE = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}|\'\'\'(?:[^\']++|\'(?!\'\'))*+\'{3,5}'
    r'|"(?:[^"\\\n]++|\\.)*+"|\'[^\'\n]*+\'|#[^\n]*+|\n|[\[\]{}]|[^\[\]{}"\'#\n]++',
    re.DOTALL,
)
_REST_OF_LINE = re.compile(r"[^\n]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class _Statement(NamedTuple):
    """`lead`: what stands before it, from the end of the one before; `text`: up to the end of its last line,
    without the line's end. `path`: its whole key. `value`: where the value is in `text`."""

    lead: str
    text: str
    path: tuple[str, ...]
    header: tuple[str, ...] | None  # under which it stands; None: it is a header itself
    value: tuple[int, int] = (0, 0)


def edit(
    text: str,
    section: Section,
    remove: Collection[str],
    add: Sequence[Addition],
    *,
    with_comments: bool = True,
) -> str:
    statements, rest = _scan(text)
    if any(one.path == section and one.header is not None for one in statements):
        raise EditError(
            f"{'.'.join(section)} is one inline table; write its servers as [{'.'.join(section)}.NAME]"
        )
    depth, nl = len(section), newline_of(text)
    out, pending = Text(), Text()
    place, waits = -1, False
    begins_anew = False  # what the text began with is gone
    for one in statements:
        gone = one.path[:depth] == section and len(one.path) > depth and one.path[depth] in remove
        if gone:
            pending.add(stays(one.lead, with_comments=with_comments))
            begins_anew = begins_anew or not out.size
        # A table may begin where another does, and nowhere else: what follows it would become its own.
        waits = waits or (gone and place < 0)
        if waits and one.header is None:
            out.add(pending.take())
            place, waits = out.size, False
        if not gone:
            at_start = begins_anew and not out.size and not pending.size and place < 0
            lead = one.lead.lstrip("\r\n") if at_start else one.lead
            out.add(pending.take() + lead + one.text)
    out.add(pending.take())
    if not statements:
        out.add(rest)
        rest = ""
    place = out.size if place < 0 else place
    made = _inserted(out.take(), place, [_addition(one, section, nl) for one in add], nl) + rest
    ends = made.endswith("\n") or (text and not text.endswith("\n"))
    return made if ends else made + nl


def drop(text: str, section: Section) -> str:
    """Tables of servers need none above them: nothing was made, so nothing is dropped."""
    return text


def replace(text: str, section: Section, name: str, key: str, value: list[str]) -> str:
    statements, rest = _scan(text)
    wanted = (*section, name, key)
    if not any(one.path == wanted and one.header is not None for one in statements):
        raise EditError(f"the entry {name!r} has no {key} of its own line")
    out = []
    for one in statements:
        line = one.text
        if one.path == wanted:
            line = line[: one.value[0]] + _value(value) + line[one.value[1] :]
        out.append(one.lead + line)
    return "".join([*out, rest])


def sources_of(text: str, section: Section) -> dict[str, SourceText]:
    depth = len(section)
    own: dict[str, list[_Statement]] = {}
    for one in _scan(text)[0]:
        if one.path[:depth] == section and len(one.path) > depth:
            own.setdefault(one.path[depth], []).append(one)
    return {name: _source(statements) for name, statements in own.items() if _is_apart(statements, depth)}


def _is_apart(statements: list[_Statement], depth: int) -> bool:
    """Is an entry made of tables of its own?"""
    entry = statements[0].path[: depth + 1]
    return all(one.header is None or one.header[: depth + 1] == entry for one in statements)


def _source(statements: list[_Statement]) -> SourceText:
    head, *others = statements
    lead = without_detached(head.lead)[1].lstrip("\r\n")
    return SourceText(lead, head.text + "".join([without_detached(one.lead)[1] + one.text for one in others]))


def render(head: Mapping[str, str], section: Section, entries: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in head.items()]
    return "".join([*lines, *(f"\n{_table(section, name, value)}\n" for name, value in entries.items())])


# --- reading ------------------------------------------------------------------------------------------


def _scan(text: str) -> tuple[list[_Statement], str]:
    found: list[_Statement] = []
    header: tuple[str, ...] = ()
    at = 0
    while True:
        start = _blank_end(text, at)
        if start == len(text):
            return found, text[at:]
        if text[start] == "[":
            brackets = 2 if text.startswith("[[", start) else 1
            header, stop = _keys(text, start + brackets)
            statement_end = _line_end(text, stop)
            found.append(_Statement(text[at:start], text[start:statement_end], header, None))
        else:
            path, stop = _keys(text, start)
            value = _spaces_end(text, stop + 1)
            value_end = _value_end(text, value)
            statement_end = _line_end(text, value_end)
            span = (value - start, value_end - start)
            found.append(
                _Statement(text[at:start], text[start:statement_end], (*header, *path), header, span)
            )
        at = statement_end


def _blank_end(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _spaces_end(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    match = _REST_OF_LINE.match(text, at)
    end = match.end() if match else at
    return end - 1 if text[at:end].endswith("\r") else end


def _keys(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """A dotted key; and where what follows it stands."""
    keys: list[str] = []
    while True:
        match = _KEY.match(text, at)
        if match is None:
            raise EditError(f"character {at} begins no key")
        part = match[1]
        keys.append(tomllib.loads(f"k = {part}")["k"] if part[0] in "\"'" else part)
        at = match.end()
        if text[at : at + 1] != ".":
            return tuple(keys), at
        at += 1


def _value_end(text: str, at: int) -> int:
    """Where the value that begins at `at` ends."""
    depth, end = 0, at
    while at < len(text):
        match = _VALUE.match(text, at)
        if match is None:
            raise EditError(f"character {at} is not TOML")
        token = match[0]
        if depth == 0 and token[0] in "\n#":
            break
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token[0] != "#" and token.strip():
            end = at + len(token.rstrip())
        at = match.end()
    return end


# --- writing ------------------------------------------------------------------------------------------


def _inserted(text: str, place: int, new: Sequence[str], nl: str) -> str:
    """Each of `new` as a table of its own, a blank line before it, and one before what follows."""
    if not new:
        return text
    before, after = text[:place], text[place:]
    gap = nl * 2 if before.strip("\ufeff") else ""
    if before.endswith(nl):
        gap = "" if before.endswith(nl * 2) else nl
    return before + gap + (nl * 2).join(new) + after


def _addition(one: Addition, section: Section, nl: str) -> str:
    if one.source is not None:
        return one.source.lead + one.source.body
    return _table(section, one.name, one.value).replace("\n", nl)


def _table(section: Section, name: str, entry: Mapping[str, Any]) -> str:
    lines = [f"[{'.'.join(map(_key, (*section, name)))}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in entry.items()]
    return "\n".join(lines)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)
