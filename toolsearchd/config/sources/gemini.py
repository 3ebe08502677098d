"""Gemini CLI: `~/.gemini/settings.json`; an address under `httpUrl` is Streamable HTTP, under `url` SSE.

Its settings name the servers in use (`mcp.allowed`, `mcp.excluded`) and tools that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.restrictions import ClientRules, NamedRule
from toolsearchd.config.sources.base import (
    Entries,
    Format,
    ReadRules,
    at,
    mapped,
    renamed,
    section,
    texts,
)


def _common(entry: dict[str, Any]) -> Mapping[str, Any]:
    entry.pop("trust", None)  # there it means: ask nothing
    if "type" not in entry and "url" in entry:
        entry["type"] = "sse"
    if "httpUrl" in entry:
        entry = renamed(entry, url="httpUrl") | {"type": "http"}
    tools = {"include": entry.get("includeTools"), "exclude": entry.get("excludeTools")}
    if isinstance(tools["include"], list) and isinstance(tools["exclude"], list):
        # Here what is excluded stays out, whatever is included.
        tools["include"] = [name for name in tools["include"] if name not in tools["exclude"]]
    return entry | {"tools": tools}


def _entries(document: Mapping[str, Any]) -> Entries:
    return mapped(section(document, "mcpServers"), _common)


def _rules(document: Mapping[str, Any], project: str) -> ReadRules:
    """The older names at the top, too."""
    lists = [document.get("allowMCPServers"), at(document, "mcp", "allowed")]
    only = [texts(names) for names in lists if isinstance(names, list)]
    off = [*texts(document.get("excludeMCPServers")), *texts(at(document, "mcp", "excluded"))]
    denied = [*texts(document.get("excludeTools")), *texts(at(document, "tools", "exclude"))]
    found = [ClientRules(only=tuple(names)) for names in only]
    if at(document, "admin", "mcp", "enabled") is False:
        found.append(ClientRules(only=()))
    if off or denied:
        rules = tuple(
            NamedRule(then="deny", name=name, project=project) for name in denied if "(" not in name
        )
        found.append(
            ClientRules(
                off=tuple((name, project) for name in off), rules=rules, prefixes=("mcp_{}_", "{}__", "")
            )
        )
    return ReadRules(tuple(found))


FORMAT = Format(
    name="gemini",
    locations=("~/.gemini/settings.json",),
    homes=(("GEMINI_CLI_HOME", "~/.gemini", "/.gemini"),),
    project_file=".gemini/settings.json",
    rule="braces",
    milliseconds=True,
    entries=_entries,
    beside=("/etc/gemini-cli/settings.json",),
    rules=_rules,
    clients=("gemini*", "qwen*"),
)
