"""VS Code: `servers` beside `inputs`, JSON with comments. What needs an input, or an `envFile`, is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.sources.base import Entries, Format, section


def _entries(document: Mapping[str, Any]) -> Entries:
    yield from section(document, "servers")
    yield from section(document, "mcpServers")  # the portable spelling


FORMAT = Format(
    name="vscode",
    locations=("$config/Code/User/mcp.json", "$config/Code - Insiders/User/mcp.json"),
    project_file=".vscode/mcp.json",
    rule="editor",
    entries=_entries,
)
