"""The directory that enters an OpenClaw prompt: the trusted tools by name, in as much detail as fits.

What servers call their tools, and what they say of them, never stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolsearchd.dialects.openclaw.catalog import OpenclawEntry
from toolsearchd.dialects.openclaw.ranker import id_order
from toolsearchd.dialects.openclaw.replies import short_description
from toolsearchd.disclosure.listing import Form, Listing
from toolsearchd.disclosure.tokens import chars4_of

MOST_CHARS, LEAST_CHARS = 18_000, 768
_SHARE = 10  # a tenth of the context's tokens, as characters
_DETAIL = (180, 64, 0)  # characters of a description, for all rows alike
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_HEADER = (
    "Tools whose schemas are not loaded. Call {describe} for a schema, then {call} with the exact name or id."
)
_NOTICE = (
    "Tools of MCP servers and of the client may exist as well and are not listed: find them with {search}."
)


def budget_chars(context_length: int | None) -> int:
    """How long the directory may be; the largest where the context length is not known."""
    if context_length is None or context_length <= 0:
        return MOST_CHARS
    return min(MOST_CHARS, max(LEAST_CHARS, context_length // _SHARE))


def render_directory(
    entries: Iterable[OpenclawEntry], budget: int, *, names: tuple[str, str, str]
) -> Listing:
    """`names`: those of the bridge tools that search, describe and call."""
    header, notice = (
        text.format(search=names[0], describe=names[1], call=names[2]) for text in (_HEADER, _NOTICE)
    )
    rows = _listed(entries)
    if not rows:
        return _made([notice], "none")
    for chars in _DETAIL:
        lines = [header, *(_row(entry, chars) for entry in rows), notice]
        if len("\n".join(lines)) <= budget:
            return _made(lines, "full" if chars else "names")
    return _made(_cut([_row(entry, 0) for entry in rows], header, notice, budget), "names")


def _cut(rows: Sequence[str], header: str, notice: str, budget: int) -> list[str]:
    """As many rows from the beginning as fit, and how many did not."""
    kept = len(rows)
    while True:
        footer = f"{len(rows) - kept} more are not listed."
        lines = [header, *rows[:kept], footer, notice]
        over = len("\n".join(lines)) - budget
        if over <= 0 or not kept:
            return lines
        while over > 0 and kept:
            kept -= 1
            over -= len(rows[kept]) + 1


def _listed(entries: Iterable[OpenclawEntry]) -> list[OpenclawEntry]:
    """Trusted, with plain identifiers, each name once."""
    plain = (
        entry
        for entry in entries
        if entry.trusted and all(map(_IDENTIFIER.fullmatch, (entry.name, entry.owner)))
    )
    by_name: dict[str, OpenclawEntry] = {}
    for entry in sorted(plain, key=lambda entry: (id_order(entry.name), id_order(entry.id))):
        by_name.setdefault(entry.name, entry)
    return list(by_name.values())


def _row(entry: OpenclawEntry, chars: int) -> str:
    if not chars:
        return f"- {entry.name}"
    described = short_description(entry.tool.definition.description, chars)
    return f"- {entry.name} ({entry.owner}): {described}" if described else f"- {entry.name} ({entry.owner})"


def _made(lines: Sequence[str], form: Form) -> Listing:
    text = "\n".join(lines)
    return Listing(text, form, chars4_of(len(text)))
