"""Gemini CLI: `~/.gemini/settings.json`; an address under `httpUrl` is Streamable HTTP, under `url` SSE.

Its settings name the servers in use (`mcp.allowed`, `mcp.excluded`) and tools that it leaves out; its
policies are rules, files of TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.document import Path
from toolsearchd.config.restrictions import ClientRules, NamedRule, Then
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
    policies, lost = _policies(document, project)
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
    if policies:
        found.append(ClientRules(rules=policies, prefixes=("mcp_{}_", "{}__", "")))
    return ReadRules(tuple(found), lost)


_DECISIONS: Mapping[object, Then] = {"deny": "deny", "ask_user": "ask", "allow": "allow"}
_PARTIAL = ("argsPattern", "modes", "commandPrefix", "commandRegex")


def _policies(
    document: Mapping[str, Any], project: str
) -> tuple[tuple[NamedRule, ...], list[tuple[Path, str]]]:
    """Of a policy file; where several rules fit the strictest counts here, whatever their priorities."""
    rules: list[NamedRule] = []
    lost: list[tuple[Path, str]] = []
    listed = document.get("rule")
    for number, rule in enumerate(listed if isinstance(listed, list) else ()):
        then, server = _DECISIONS.get(at(rule, "decision")), at(rule, "mcpName")
        named = at(rule, "toolName")
        tools = texts(named) if isinstance(named, list) else [named] if isinstance(named, str) else ["*"]
        if isinstance(server, str):
            names = [f"{server}__{tool}" for tool in tools]
        else:
            names = [tool for tool in tools if tool == "*" or tool.startswith("mcp_") or "__" in tool]
        if then is None or not names:
            continue
        if any(key in rule for key in _PARTIAL):
            if then != "allow":
                lost.append((("rule", number), f"{', '.join(names)}, by its arguments or mode"))
            continue
        rules += [NamedRule(then=then, name=name, project=project) for name in names]
    return tuple(rules), lost


FORMAT = Format(
    name="gemini",
    locations=("~/.gemini/settings.json",),
    homes=(("GEMINI_CLI_HOME", "~/.gemini", "/.gemini"),),
    project_file=".gemini/settings.json",
    rule="braces",
    milliseconds=True,
    entries=_entries,
    beside=(
        "/etc/gemini-cli/settings.json",
        "~/.gemini/policies/*.toml",
        "/etc/gemini-cli/policies/*.toml",
    ),
    rules=_rules,
    clients=("gemini*", "qwen*"),
)
