"""Claude Code: `~/.claude.json` (user level, per project under `projects`), a project's `.mcp.json`.

Claude Code keeps its history in the same file and writes it every few seconds, so only what names servers is
decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolsearchd.config.document import ConfigDocument
from toolsearchd.config.json_text import parse_json
from toolsearchd.config.sources.base import Entries, Format, SectionError, section

_LONG = 256 * 1024  # a file without a history is shorter


class _Part(msgspec.Struct):
    mcpServers: msgspec.Raw = msgspec.Raw(b"null")


class _File(_Part):
    projects: dict[str, _Part] | None = None


def _load(text: str, file: str) -> ConfigDocument:
    if len(text) < _LONG:
        return parse_json(text, file)
    try:
        found = msgspec.json.decode(text, type=_File)
    except (msgspec.DecodeError, RecursionError):
        return parse_json(text, file)  # it says what is wrong, and where
    problems = []
    value: dict[str, Any] = {}
    parts = [
        (value, found),
        *((value.setdefault("projects", {}).setdefault(r, {}), p) for r, p in (found.projects or {}).items()),
    ]
    for into, part in parts:
        document = parse_json(bytes(part.mcpServers).decode(), file)
        into["mcpServers"] = document.value
        problems += document.problems
    return ConfigDocument(value, problems)


def _entries(document: Mapping[str, Any]) -> Entries:
    yield from section(document, "mcpServers")
    projects = document.get("projects")
    if projects is not None and not isinstance(projects, Mapping):
        raise SectionError(("projects",))
    for root, project in (projects or {}).items():
        if isinstance(project, Mapping):
            for path, name, entry, _ in section(project, "mcpServers"):
                yield ("projects", root, *path), name, entry, root


FORMAT = Format(
    name="claude-code",
    locations=("~/.claude.json",),
    project_file=".mcp.json",
    rule="shell",
    milliseconds=True,
    entries=_entries,
    load=_load,
)
