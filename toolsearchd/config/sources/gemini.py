"""Gemini CLI: `~/.gemini/settings.json`; an address under `httpUrl` is Streamable HTTP, under `url` SSE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.sources.base import Entries, Format, mapped, renamed, section


def _common(entry: dict[str, Any]) -> Mapping[str, Any]:
    entry.pop("trust", None)  # there it means: ask nothing
    if "type" not in entry and "url" in entry:
        entry["type"] = "sse"
    if "httpUrl" in entry:
        entry = renamed(entry, url="httpUrl") | {"type": "http"}
    tools = {"include": entry.get("includeTools"), "exclude": entry.get("excludeTools")}
    if isinstance(tools["include"], list) and isinstance(tools["exclude"], list):
        # Here what is excluded stays out, whatever is included.
        tools["include"] = [name for name in tools["include"] if name not in tools["exclude"]]
    return entry | {"tools": tools}


def _entries(document: Mapping[str, Any]) -> Entries:
    return mapped(section(document, "mcpServers"), _common)


FORMAT = Format(
    name="gemini",
    locations=("~/.gemini/settings.json",),
    project_file=".gemini/settings.json",
    rule="braces",
    milliseconds=True,
    entries=_entries,
)
