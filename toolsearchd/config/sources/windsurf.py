"""Windsurf: `mcpServers` as in Cursor; a remote server's address is `serverUrl`."""

from __future__ import annotations

from toolsearchd.config.sources.base import Format, mapped, renamed, section
from toolsearchd.config.sources.cline import allowed

FORMAT = Format(
    name="windsurf",
    locations=("~/.codeium/windsurf/mcp_config.json",),
    rule="editor",
    entries=lambda document: mapped(
        section(document, "mcpServers"), lambda entry: allowed(renamed(entry, url="serverUrl"))
    ),
    clients=("windsurf*", "codeium*", "cascade*"),
)
