"""A client's config as text and as what it says. Every edit of it is read back before it is given out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolsearchd.config.install.clients import InstallTarget
from toolsearchd.config.install.editing import Addition, EditError, Section, SourceText
from toolsearchd.errors import ToolsearchdError

_BOM = "\ufeff"


class ClientText:
    """`text` is without the byte order mark that the file may begin with. Raises BAD_CONFIG for what can't be
    read."""

    def __init__(self, client: InstallTarget, file: str, data: bytes | None) -> None:
        self._client = client
        self._file = file
        try:
            text = (data or b"").decode()
        except UnicodeDecodeError as error:
            raise self.bad(f"it is not UTF-8 (byte {error.start})") from error
        self._mark = _BOM if text.startswith(_BOM) else ""
        self.text = text.removeprefix(_BOM)
        self.value = self._loaded(self.text)
        self.entries = self._entries(self.value)

    @property
    def has_section(self) -> bool:
        here: object = self.value
        for key in self._client.section:
            if not isinstance(here, Mapping) or key not in here:
                return False
            here = here[key]
        return True

    def edited(
        self,
        remove: Collection[str],
        add: Sequence[Addition],
        *,
        with_comments: bool = True,
        drop: bool = False,
    ) -> bytes:
        """With other entries; with or without the comments above those that go. `drop`: a section that holds
        none any more goes too. Raises BAD_CONFIG."""
        left = {name: entry for name, entry in self.entries.items() if name not in remove}
        wanted = left | {one.name: one.value for one in add}
        section = self._client.section
        try:
            text = self._client.editor.edit(self.text, section, remove, add, with_comments=with_comments)
            if drop and not wanted:
                text = self._client.editor.drop(text, section)
        except EditError as error:
            raise self.bad(str(error)) from error
        return self._checked(text, wanted)

    def with_args(self, name: str, args: list[str]) -> bytes:
        """With other words for one entry's command. Raises BAD_CONFIG."""
        text, entry = self.text, self.entries[name]
        if args != entry.get("args"):
            try:
                text = self._client.editor.replace(text, self._client.section, name, "args", args)
            except EditError as error:
                raise self.bad(str(error)) from error
        return self._checked(text, {**self.entries, name: {**entry, "args": args}})

    @cached_property
    def sources(self) -> Mapping[str, SourceText]:
        """The entries as they stand, but those whose layout fits no other place."""
        return self._client.editor.sources_of(self.text, self._client.section)

    def bad(self, why: str) -> ToolsearchdError:
        return ToolsearchdError("BAD_CONFIG", f"{self._file}: {why}; nothing was changed")

    def _checked(self, text: str, wanted: Mapping[str, Any]) -> bytes:
        """The text says what it said, and its entries are `wanted`. A difference is a layout that the editor
        does not understand."""
        section, got = self._client.section, self._loaded(text)
        if _with_entries(section, got, self._entries(got)) != _with_entries(section, self.value, wanted):
            raise self.bad("it is laid out in a way that can't be edited without a loss")
        return (self._mark + text).encode()

    def _loaded(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        document = self._client.load(text, self._file)
        for problem in document.problems:
            if problem.level == "error":
                raise ToolsearchdError("BAD_CONFIG", f"{problem}; nothing was changed")
        if document.value is None:
            return {}
        if not isinstance(document.value, dict):
            raise self.bad("it is no mapping")
        return document.value

    def _entries(self, value: Mapping[str, Any]) -> dict[str, Any]:
        here: object = value
        for key in self._client.section:
            here = here.get(key) if isinstance(here, Mapping) else None
        return dict(here) if isinstance(here, Mapping) else {}


def _with_entries(section: Section, value: object, entries: Mapping[str, Any]) -> dict[str, Any]:
    """The document with other entries. What holds none is left out, since it says nothing."""
    made = dict(value) if isinstance(value, Mapping) else {}
    key, *below = section
    inner = _with_entries(tuple(below), made.get(key), entries) if below else dict(entries)
    made.pop(key, None)
    return {**made, key: inner} if inner else made
