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
    Source,
    nested,
    newline_of,
    stays,
    without_detached,
)
from toolsearchd.config.install.json_scan import TOKEN, Object, walk

_AFTER = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=[\r\n]))")  # the rest of an entry's line
_LIST = re.compile(r"\[(?P<lead>\s*)(?:.*[^\s])?(?P<tail>\s*)\]", re.DOTALL)
_INDENT = re.compile(r"[ \t]*")
_BLANK_LINE = re.compile(r"[ \t]*[\r\n]")


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


def source_of(text: str, section: Section, name: str) -> Source | None:
    found, missing, _ = walk(text, section)
    chunks = [] if missing else _chunks(text, found)[0]
    chunk = next((one for one in chunks if one.key == name), None)
    if chunk is None:
        return None
    gap = chunk.gap if chunk.gap.strip() else ""
    return Source(without_detached(chunk.lead)[1], chunk.body + gap, chunk.after)


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
    pending, place = "", None
    for chunk in chunks:
        if chunk.key in remove:
            pending = _joined(pending, stays(chunk.lead, with_comments=with_comments), layout)
            if place is None:
                place = len(kept)
                kept += _additions(layout, add, pending, place)
                pending = "" if add else pending
            continue
        _prepend(pending, chunk, layout)
        pending = ""
        kept.append(chunk)
    if place is None:
        kept += _additions(layout, add, pending, len(kept))
    inside = _joined(pending, rest + "}", layout)[:-1]
    if not kept:
        inside = inside if inside.strip() else ""
    elif not chunks:
        inside = layout.last_line(inside)
        kept[0].lead = rest.rstrip() + kept[0].lead
    body = ""
    for at, chunk in enumerate(kept):
        comma = "," if at < len(kept) - 1 or ends_with_comma else ""
        body = _joined(body, chunk.lead + chunk.body + chunk.gap + comma + chunk.after, layout)
    return text[: found.open + 1] + _joined(body, inside + text[found.close :], layout)


def _joined(before: str, after: str, layout: _Layout) -> str:
    """With a line end between them where what comes after would be in a comment."""
    last = before.rpartition("\n")[2]
    if after and "//" in last and not _BLANK_LINE.match(after) and _ends_in_line_comment(last):
        return before + layout.newline_lead + after.lstrip()
    return before + after


def _prepend(before: str, chunk: _Chunk, layout: _Layout) -> None:
    chunk.lead = _joined(before, chunk.lead + chunk.body, layout).removesuffix(chunk.body)


def _ends_in_line_comment(line: str) -> bool:
    return any(match[0].startswith("//") for match in TOKEN.finditer(line))


def _additions(layout: _Layout, add: Sequence[Addition], before: str, place: int) -> list[_Chunk]:
    new = [layout.chunk(one, is_first=not (place + at)) for at, one in enumerate(add)]
    if new:
        _prepend(before, new[0], layout)
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
        self._text = text
        self._nl = newline_of(text)
        leads = [chunk.lead for chunk in chunks]
        broken = next((lead for lead in leads if "\n" in lead), None)
        self.is_block = broken is not None or (not leads and "\n" in text.strip())
        outer = _indent_at(text, found.open)
        self._outer = outer
        self._indent = outer + _unit(text) if broken is None else re.split(r"[^ \t]", broken)[-1]
        self.newline_lead = self._nl + self._indent
        self._inline_lead = leads[1] if len(leads) > 1 else ("" if _is_dense(text) else " ")
        self._first_lead = leads[0] if leads else ""

    def chunk(self, one: Addition, *, is_first: bool) -> _Chunk:
        if one.source is not None:
            lead, body, after = one.source
            return _Chunk(one.name, lead, body, after=after)
        key = json.dumps(one.name, ensure_ascii=False)
        if self.is_block:
            return _Chunk(
                one.name, self.newline_lead, f"{key}: {_block(one.value, self._text, self._indent)}"
            )
        dense = _is_dense(self._text)
        value = json.dumps(one.value, ensure_ascii=False, separators=(",", ":") if dense else None)
        lead = self._first_lead if is_first else self._inline_lead
        return _Chunk(one.name, lead if not lead.strip() else " ", f"{key}:{'' if dense else ' '}{value}")

    def last_line(self, inside: str) -> str:
        """What stands before the closing brace of an object that was empty."""
        return self._nl + self._outer if self.is_block else ""


def _block(value: object, text: str, indent: str) -> str:
    made = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return made.replace("\n", newline_of(text) + indent)


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
