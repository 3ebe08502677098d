"""OpenClaw: `mcp.servers` in `openclaw.json`, which is JSON5; `${VAR}`."""

from __future__ import annotations

from toolsearchd.config.json_text import parse_json5
from toolsearchd.config.sources.base import Format, section

FORMAT = Format(
    name="openclaw",
    locations=("~/.openclaw/openclaw.json",),
    rule="plain",
    load=parse_json5,
    entries=lambda document: section(document, "mcp", "servers"),
)
