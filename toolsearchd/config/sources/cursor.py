"""Cursor: `~/.cursor/mcp.json` and a project's `.cursor/mcp.json`; `${env:VAR}` and the editor's places."""

from __future__ import annotations

from toolsearchd.config.sources.base import Format, section

FORMAT = Format(
    name="cursor",
    locations=("~/.cursor/mcp.json",),
    project_file=".cursor/mcp.json",
    rule="editor",
    entries=lambda document: section(document, "mcpServers"),
)
