"""Cursor: `~/.cursor/mcp.json` and a project's `.cursor/mcp.json`; `${env:VAR}` and the editor's places.

`permissions.json` lists the tools that run without a question, `cli-config.json` permits and forbids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolsearchd.config.restrictions import ClientRules, NamedRule, Then
from toolsearchd.config.sources.base import Format, ReadRules, at, section, texts

_MCP = re.compile(r"Mcp\((?P<name>[^()]+)\)")


def _rules(document: Mapping[str, Any], project: str) -> ReadRules:
    listed = document.get("mcpAllowlist")
    rules = [NamedRule(then="allow", name=_whole(name), project=project) for name in texts(listed)]
    words: tuple[Then, ...] = ("deny", "allow")
    for then in words:
        rules += [
            NamedRule(then=then, name=_whole(match["name"]), project=project)
            for rule in texts(at(document, "permissions", then))
            if (match := _MCP.fullmatch(rule)) is not None
        ]
    unlisted = isinstance(listed, list)
    if not rules and not unlisted:
        return ReadRules()
    found = ClientRules(rules=tuple(rules), prefixes=("{}:",), unlisted="ask" if unlisted else "")
    return ReadRules((found,))


def _whole(name: str) -> str:
    """`server` alone means all of its tools."""
    return name if ":" in name else f"{name}:*"


FORMAT = Format(
    name="cursor",
    locations=("~/.cursor/mcp.json",),
    project_file=".cursor/mcp.json",
    rule="editor",
    entries=lambda document: section(document, "mcpServers"),
    beside=("~/.cursor/permissions.json", "~/.cursor/cli-config.json"),
    rules=_rules,
    clients=("cursor*",),
)
