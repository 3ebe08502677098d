"""Zed: `context_servers` in its settings, JSON with comments; `command` was an object once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.sources.base import Entries, Format, mapped, renamed, section


def _common(entry: dict[str, Any]) -> Mapping[str, Any]:
    if isinstance(entry.get("command"), Mapping):
        old = renamed(dict(entry.pop("command")), command="path")
        entry = old | entry
    return entry


def _entries(document: Mapping[str, Any]) -> Entries:
    """An entry of an extension has settings only, and is the extension's business."""
    for path, name, entry, root in mapped(section(document, "context_servers"), _common):
        if not isinstance(entry, Mapping) or "command" in entry or "url" in entry:
            yield path, name, entry, root


FORMAT = Format(
    name="zed",
    locations=("$config/zed/settings.json",),
    project_file=".zed/settings.json",
    milliseconds=True,
    entries=_entries,
)
