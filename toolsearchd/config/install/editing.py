"""What the editors of the three syntaxes share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Section = tuple[str, ...]
"""The keys under which a client keeps its servers: `("mcp", "servers")`."""


class EditError(Exception):
    """The text is laid out in a way that can't be edited; says which and what to do."""


class SourceText(NamedTuple):
    """An entry as it stands in a text: its comments before it, itself, the rest of its line."""

    lead: str
    body: str
    after: str = ""


class Addition(NamedTuple):
    """An entry to be written. `source`: where it should look as it once did."""

    name: str
    value: Mapping[str, Any]
    source: SourceText | None = None


class Editor(Protocol):
    """Edits well-formed texts of one syntax. Line ends and indentation follow the text's own. Each raises
    EditError."""

    def edit(
        self,
        text: str,
        section: Section,
        remove: Collection[str],
        add: Sequence[Addition],
        *,
        with_comments: bool = True,
    ) -> str:
        """Without the entries of `remove`, and without the comments right above them (`with_comments`); with
        `add` in the place of the first that went, else at the section's end. A section that does not exist is
        made."""

    def drop(self, text: str, section: Section) -> str:
        """Without the section, which holds no entry any more, and what else would be empty above it."""

    def replace(self, text: str, section: Section, name: str, key: str, value: list[str]) -> str:
        """`key` of the entry `name`, which holds a list, holds `value`."""

    def sources_of(self, text: str, section: Section) -> Mapping[str, SourceText]:
        """The entries as they stand, but those whose layout fits no other place."""

    def render(self, head: Mapping[str, str], section: Section, entries: Mapping[str, Any]) -> str:
        """A text of its own: the keys of `head` at the top, then the entries."""


class Text:
    """A text that grows: its parts are joined once."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.size = 0  # characters

    def add(self, part: str) -> None:
        self._parts.append(part)
        self.size += len(part)

    def take(self) -> str:
        """All of it; it is empty then."""
        made = "".join(self._parts)
        self._parts.clear()
        self.size = 0
        return made


def newline_of(text: str) -> str:
    """As the text's first line ends."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def nested(keys: Section, value: object) -> Any:
    """`("a", "b")`, v → `{"a": {"b": v}}`."""
    for key in reversed(keys):
        value = {key: value}
    return value


def stays(lead: str, *, with_comments: bool) -> str:
    """What is left of the space and the comments before an entry that goes."""
    if with_comments:
        return without_detached(lead)[0]
    return lead.rstrip() if lead.strip() else ""


def without_detached(lead: str) -> tuple[str, str]:
    """What stands before an entry, cut in two: comments that a blank line sets apart (they stay where they
    are), and the rest, which belongs to the entry."""
    lines = lead.splitlines(keepends=True)
    blank = [at for at, line in enumerate(lines) if at and not line.strip() and line.endswith("\n")]
    apart = "".join(lines[: blank[-1]]) if blank else ""
    return (apart, lead[len(apart) :]) if apart.strip() else ("", lead)
