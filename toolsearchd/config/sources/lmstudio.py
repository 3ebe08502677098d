"""LM Studio: `mcpServers` in Cursor's notation."""

from __future__ import annotations

from toolsearchd.config.sources.base import Format, section

FORMAT = Format(
    name="lmstudio",
    locations=("~/.lmstudio/mcp.json",),
    entries=lambda document: section(document, "mcpServers"),
    clients=("lmstudio*", "lm studio*", "lm-studio*"),
)
