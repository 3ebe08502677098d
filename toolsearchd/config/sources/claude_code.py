"""Claude Code: `~/.claude.json` (user level, per project under `projects`), a project's `.mcp.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.sources.base import Entries, Format, section


def _entries(document: Mapping[str, Any]) -> Entries:
    yield from section(document, "mcpServers")
    projects = document.get("projects")
    if isinstance(projects, Mapping):
        for root, project in projects.items():
            if isinstance(project, Mapping):
                for path, name, entry, _ in section(project, "mcpServers"):
                    yield f"projects[{root}].{path}", name, entry, str(root)


FORMAT = Format(
    name="claude-code",
    locations=("~/.claude.json",),
    project_file=".mcp.json",
    rule="shell",
    entries=_entries,
)
