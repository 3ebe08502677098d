"""Cline: `cline_mcp_settings.json`, shared by its programs; before that in VS Code's storage.

`autoApprove` (`alwaysAllow` once, and in its descendants) names tools that it does not ask about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.entry import MODES
from toolsearchd.config.sources.base import Entries, Format, mapped, section, texts

_NAME = "cline_mcp_settings.json"


def allowed(entry: dict[str, Any]) -> Mapping[str, Any]:
    """With the tools that the client does not ask about, and without those that it hides."""
    if hidden := texts(entry.get("disabledTools")):
        entry["tools"] = {"exclude": hidden}
    names = [name for key in ("autoApprove", "alwaysAllow") for name in texts(entry.get(key))]
    return entry | {MODES: tuple((name, "allow") for name in dict.fromkeys(names))}


def _entries(document: Mapping[str, Any]) -> Entries:
    return mapped(section(document, "mcpServers"), allowed)


FORMAT = Format(
    name="cline",
    locations=(
        f"~/.cline/data/settings/{_NAME}",
        f"$config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/{_NAME}",
    ),
    entries=_entries,
    clients=("cline*", "roo*", "kilo*"),
)
