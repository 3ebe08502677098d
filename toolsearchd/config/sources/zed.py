"""Zed: `context_servers` in its settings, JSON with comments; `command` was an object once.

`agent.tool_permissions` asks or denies by name, `mcp:SERVER:TOOL`; the profile in use may leave tools out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.restrictions import ClientRules, NamedRule, Then
from toolsearchd.config.sources.base import Entries, Format, ReadRules, at, mapped, mapping, renamed, section


def _common(entry: dict[str, Any]) -> Mapping[str, Any]:
    if isinstance(entry.get("command"), Mapping):
        old = renamed(dict(entry.pop("command")), command="path")
        entry = old | entry
    return entry


def _entries(document: Mapping[str, Any]) -> Entries:
    """An entry of an extension has settings only, and is the extension's business."""
    for path, name, entry, root in mapped(section(document, "context_servers"), _common):
        if not isinstance(entry, Mapping) or "command" in entry or "url" in entry:
            yield path, name, entry, root


_WORDS: dict[object, Then] = {"deny": "deny", "confirm": "ask", "allow": "allow"}


def _rules(document: Mapping[str, Any], project: str) -> ReadRules:
    permissions = at(document, "agent", "tool_permissions")
    rules: list[NamedRule] = []
    lost: list[tuple[tuple[str | int, ...], str]] = []
    if (then := _WORDS.get(at(permissions, "default"))) not in (None, "allow"):
        rules.append(NamedRule(then=then, name="*", project=project))
    tools = at(permissions, "tools")
    for name, said in mapping(tools).items():
        if (then := _WORDS.get(at(said, "default"))) is not None:
            rules.append(NamedRule(then=then, name=str(name), project=project))
        if str(name).startswith("mcp:"):
            path = ("agent", "tool_permissions", "tools", str(name))
            lost += [
                ((*path, key), "by its arguments")
                for key in ("always_deny", "always_confirm")
                if at(said, key)
            ]
    shown = None
    profile = at(document, "agent", "profiles", str(at(document, "agent", "default_profile") or "write"))
    servers = at(profile, "context_servers")
    chosen = [
        (f"mcp:{server}:{tool}", used)
        for server in mapping(servers)
        for tool, used in mapping(at(servers, server, "tools")).items()
    ]
    rules += [NamedRule(then="deny", name=name, project=project) for name, used in chosen if used is False]
    if at(profile, "enable_all_context_servers") is False:
        shown = tuple(name for name, used in chosen if used is True)
    if not rules and shown is None:
        return ReadRules(lost=lost)
    return ReadRules((ClientRules(shown=shown, rules=tuple(rules), prefixes=("mcp:{}:",)),), lost)


FORMAT = Format(
    name="zed",
    section="context_servers",
    locations=("$config/zed/settings.json",),
    project_file=".zed/settings.json",
    milliseconds=True,
    entries=_entries,
    rules=_rules,
    clients=("zed*",),
)
