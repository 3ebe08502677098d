"""VS Code: `servers` beside `inputs`, JSON with comments. What needs an input, or an `envFile`, is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.restrictions import ClientRules, NamedRule
from toolsearchd.config.sources.base import Entries, Format, ReadRules, mapping, section


def _entries(document: Mapping[str, Any]) -> Entries:
    yield from section(document, "servers")
    yield from section(document, "mcpServers")  # the portable spelling


def _rules(document: Mapping[str, Any], project: str) -> ReadRules:
    """Of its settings: whether servers are used at all, and the tools that must always be asked about."""
    found = []
    if document.get("chat.mcp.access") == "none" or document.get("chat.mcp.enabled") is False:
        found.append(ClientRules(only=()))
    eligible = document.get("chat.tools.eligibleForAutoApproval")
    rules = tuple(
        NamedRule(then="ask", name=str(name), project=project)
        for name, may in mapping(eligible).items()
        if may is False
    )
    if rules:
        found.append(ClientRules(rules=rules, prefixes=("mcp_{}_", "")))
    registry = document.get("chat.mcp.access") == "registry"
    return ReadRules(
        tuple(found), [(("chat.mcp.access",), "servers of its registry only")] if registry else ()
    )


FORMAT = Format(
    name="vscode",
    section="servers",
    locations=("$config/Code/User/mcp.json", "$config/Code - Insiders/User/mcp.json"),
    project_file=".vscode/mcp.json",
    rule="editor",
    entries=_entries,
    beside=("$config/Code/User/settings.json", "$config/Code - Insiders/User/settings.json"),
    rules=_rules,
    clients=("vscode*", "vs code*", "visual studio code*", "visual-studio-code*"),
)
