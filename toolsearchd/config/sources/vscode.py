"""VS Code: `servers` beside `inputs`, JSON with comments. Entries that need an input can't start here."""

from __future__ import annotations

from toolsearchd.config.sources.base import Format, section

FORMAT = Format(
    name="vscode",
    locations=("$config/Code/User/mcp.json",),
    project_file=".vscode/mcp.json",
    rule="editor",
    entries=lambda document: section(document, "servers"),
)
