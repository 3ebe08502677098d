"""Claude Desktop: `claude_desktop_config.json`, no variables."""

from __future__ import annotations

from toolsearchd.config.sources.base import Format, section

FORMAT = Format(
    name="claude-desktop",
    locations=("$config/Claude/claude_desktop_config.json",),
    entries=lambda document: section(document, "mcpServers"),
    clients=("claude-ai*", "claude-desktop*", "claude desktop*"),
)
