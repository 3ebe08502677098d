"""Cline: `cline_mcp_settings.json`, shared by its programs; before that in VS Code's storage."""

from __future__ import annotations

from toolsearchd.config.sources.base import Format, section

_NAME = "cline_mcp_settings.json"

FORMAT = Format(
    name="cline",
    locations=(
        f"~/.cline/data/settings/{_NAME}",
        f"$config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/{_NAME}",
    ),
    entries=lambda document: section(document, "mcpServers"),
)
