"""JSON, with comments, trailing commas and the rest of JSON5, edited as text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from toolsearchd.config.install.editing import (
    Addition,
    EditError,
    Section,
    SourceText,
    Text,
    nested,
    newline_of,
    stays,
    without_detached,
)
from toolsearchd.config.install.json_scan import Object, walk

# The rest of an entry's line, where it is comments.
_AFTER = re.compile(r"[ \t]*+(?://[^\r\n]*+|(?:/\*(?:[^*\r\n]|\*(?!/))*+\*/[ \t]*+)++(?=[\r\n]))")
_LIST = re.compile(r"\[(?P<lead>\s*)(?:.*[^\s])?(?P<tail>\s*)\]", re.DOTALL)
_INDENT = re.compile(r"[ \t]*")
_BLANK_LINE = re.compile(r"[ \t]*+[\r\n]")
# What is no line comment; a string or a comment that the piece cuts ends with it.
_BESIDE_LINE_COMMENTS = re.compile(
    r'(?:[^"\'/]++|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|\'[^\'\\]*+(?:\\.[^\'\\]*+)*+(?:\'|\\?\Z)'
    r"|/\*.*?(?:\*/|\Z)|/(?!/))*+",
    re.DOTALL,
)


class _Chunk(msgspec.Struct):
    """A member with what belongs to it: comments before it, before its comma, and after it on its line."""

    key: str
    lead: str
    body: str
    gap: str = ""
    after: str = ""


def edit(
    text: str,
    section: Section,
    remove: Collection[str],
    add: Sequence[Addition],
    *,
    with_comments: bool = True,
) -> str:
    if not text.strip():
        made = nested(section, {one.name: one.value for one in add})
        return json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    found, missing, null = walk(text, section)
    if missing:
        add = [Addition(missing[0], nested(missing[1:], {one.name: one.value for one in add}))]
        remove = {missing[0]} if null else ()
    return _rewritten(text, found, remove, add, with_comments=with_comments)


def drop(text: str, section: Section) -> str:
    for depth in range(len(section), 0, -1):
        found, missing, _ = walk(text, section[:depth])
        if missing or found.members:
            return text
        above, _, _ = walk(text, section[: depth - 1])
        text = _rewritten(text, above, {section[depth - 1]}, (), with_comments=False)
    return text


def replace(text: str, section: Section, name: str, key: str, value: list[str]) -> str:
    found, missing, _ = walk(text, (*section, name))
    member = next((one for one in reversed(found.members) if one.key == key), None)
    if missing or member is None:
        raise EditError(f"the entry {name!r} has no {key}")
    old = text[member.value : member.end]
    layout = _LIST.fullmatch(old)
    if layout is None:
        raise EditError(f"{key} of the entry {name!r} is no list")
    between = layout["lead"] if "\n" in layout["lead"] else "" if _is_dense(text) else " "
    items = ("," + between).join(json.dumps(one, ensure_ascii=False) for one in value)
    return text[: member.value] + f"[{layout['lead']}{items}{layout['tail']}]" + text[member.end :]


def sources_of(text: str, section: Section) -> dict[str, SourceText]:
    found, missing, _ = walk(text, section)
    sources: dict[str, SourceText] = {}
    for chunk in [] if missing else _chunks(text, found)[0]:
        gap = chunk.gap if chunk.gap.strip() else ""
        sources.setdefault(
            chunk.key, SourceText(without_detached(chunk.lead)[1], chunk.body + gap, chunk.after)
        )
    return sources


def render(head: Mapping[str, str], section: Section, entries: Mapping[str, Any]) -> str:
    return json.dumps({**head, **nested(section, entries)}, indent=2, ensure_ascii=False) + "\n"


# --- writing ------------------------------------------------------------------------------------------


def _rewritten(
    text: str, found: Object, remove: Collection[str], add: Sequence[Addition], *, with_comments: bool
) -> str:
    chunks, rest = _chunks(text, found)
    ends_with_comma = bool(found.members) and found.members[-1].comma >= 0
    layout = _Layout(text, found, chunks)
    kept: list[_Chunk] = []
    pending, place = _Joined(layout), None
    for chunk in chunks:
        if chunk.key in remove:
            pending.add(stays(chunk.lead, with_comments=with_comments))
            if place is None:
                place = len(kept)
                kept += _additions(layout, add, pending, place)
            continue
        _prepend(pending, chunk)
        kept.append(chunk)
    if place is None:
        kept += _additions(layout, add, pending, len(kept))
    pending.add(rest + "}")
    inside = pending.take()[:-1]
    if not kept:
        inside = inside if inside.strip() else ""
    elif not chunks:
        inside = layout.last_line(inside)
        kept[0].lead = rest.rstrip() + kept[0].lead
    body = _Joined(layout)
    for at, chunk in enumerate(kept):
        comma = "," if at < len(kept) - 1 or ends_with_comma else ""
        body.add(chunk.lead + chunk.body + chunk.gap + comma + chunk.after)
    body.add(inside + text[found.close :])
    return text[: found.open + 1] + body.take()


class _Joined:
    """Pieces one after the other, with a line end between two where the second would be in a comment."""

    def __init__(self, layout: _Layout) -> None:
        self._newline_lead = layout.newline_lead
        self._text = Text()
        self._is_comment = False  # what it ends with is a line comment

    def add(self, piece: str) -> None:
        if piece and self._is_comment and not _BLANK_LINE.match(piece):
            piece = self._newline_lead + piece.lstrip()
        _, line_end, line = piece.rpartition("\n")
        self._is_comment = (self._is_comment and not line_end) or _ends_in_line_comment(line)
        self._text.add(piece)

    def take(self) -> str:
        """All of it; it is empty then."""
        self._is_comment = False
        return self._text.take()


def _prepend(before: _Joined, chunk: _Chunk) -> None:
    """What waits in `before` stands before the chunk."""
    before.add(chunk.lead + chunk.body)
    chunk.lead = before.take().removesuffix(chunk.body)


def _ends_in_line_comment(line: str) -> bool:
    if "//" not in line:
        return False
    match = _BESIDE_LINE_COMMENTS.match(line)
    return match is not None and match.end() < len(line)


def _additions(layout: _Layout, add: Sequence[Addition], before: _Joined, place: int) -> list[_Chunk]:
    new = [layout.chunk(one, is_first=not (place + at)) for at, one in enumerate(add)]
    if new:
        _prepend(before, new[0])
    return new


def _chunks(text: str, found: Object) -> tuple[list[_Chunk], str]:
    """The object's members with all that stands between its braces; and what follows the last."""
    chunks = []
    at = found.open + 1
    for member in found.members:
        chunk = _Chunk(member.key, text[at : member.start], text[member.start : member.end])
        at = member.end
        if member.comma >= 0:
            chunk.gap, at = text[at : member.comma], member.comma + 1
        after = _AFTER.match(text, at, found.close)
        if after:
            chunk.after, at = after[0], after.end()
        chunks.append(chunk)
    return chunks, text[at : found.close]


class _Layout:
    """How the members of an object are set, for those that come in."""

    def __init__(self, text: str, found: Object, chunks: list[_Chunk]) -> None:
        self._nl = newline_of(text)
        self._unit = _unit(text)
        self._is_dense = _is_dense(text)
        leads = [chunk.lead for chunk in chunks]
        broken = next((lead for lead in leads if "\n" in lead), None)
        self.is_block = broken is not None or (not leads and "\n" in text.strip())
        outer = _indent_at(text, found.open)
        self._outer = outer
        self._indent = outer + self._unit if broken is None else broken[len(broken.rstrip(" \t")) :]
        self.newline_lead = self._nl + self._indent
        self._inline_lead = leads[1] if len(leads) > 1 else ("" if self._is_dense else " ")
        self._first_lead = leads[0] if leads else ""

    def chunk(self, one: Addition, *, is_first: bool) -> _Chunk:
        if one.source is not None:
            lead, body, after = one.source
            return _Chunk(one.name, lead, body, after=after)
        key = json.dumps(one.name, ensure_ascii=False)
        if self.is_block:
            return _Chunk(one.name, self.newline_lead, f"{key}: {self._block(one.value)}")
        dense = self._is_dense
        value = json.dumps(one.value, ensure_ascii=False, separators=(",", ":") if dense else None)
        lead = self._first_lead if is_first else self._inline_lead
        return _Chunk(one.name, lead if not lead.strip() else " ", f"{key}:{'' if dense else ' '}{value}")

    def last_line(self, inside: str) -> str:
        """What stands before the closing brace of an object that was empty."""
        return self._nl + self._outer if self.is_block else ""

    def _block(self, value: object) -> str:
        made = json.dumps(value, indent=self._unit, ensure_ascii=False)
        return made.replace("\n", self._nl + self._indent)


def _indent_at(text: str, at: int) -> str:
    """The indentation of the line on which `at` is."""
    line = text.rfind("\n", 0, at) + 1
    match = _INDENT.match(text, line)
    return match[0] if match else ""


def _unit(text: str) -> str:
    """One step of indentation: as the first indented line has it."""
    match = re.search(r'\n([ \t]+)["\'\w]', text)
    return match[1] if match else "  "


def _is_dense(text: str) -> bool:
    return re.search(r"[\"'\w]\s*:\s", text) is None
