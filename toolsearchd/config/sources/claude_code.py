"""Claude Code: `~/.claude.json` (user level, per project under `projects`), a project's `.mcp.json`; what it
permits in `~/.claude/settings.json` and the machine's managed settings.

Claude Code keeps its history in the same file and writes it every few seconds, so only what names servers is
decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolsearchd.config.document import ConfigDocument
from toolsearchd.config.json_text import parse_json
from toolsearchd.config.restrictions import ClientRules, NamedRule, Then
from toolsearchd.config.sources.base import (
    Entries,
    Format,
    ReadRules,
    SectionError,
    at,
    mapping,
    section,
    texts,
)

_LONG = 256 * 1024  # a file without a history is shorter


_OFF = ("disabledMcpServers", "disabledMcpjsonServers")  # names of servers that are not used


class _Part(msgspec.Struct):
    mcpServers: msgspec.Raw = msgspec.Raw(b"null")
    disabledMcpServers: Any = None
    disabledMcpjsonServers: Any = None


class _File(_Part):
    projects: dict[str, _Part] | None = None


def _load(text: str, file: str) -> ConfigDocument:
    if len(text) < _LONG:
        return parse_json(text, file)
    try:
        found = msgspec.json.decode(text, type=_File)
    except (msgspec.DecodeError, RecursionError):
        return parse_json(text, file)  # it says what is wrong, and where
    problems = []
    value: dict[str, Any] = {}
    parts = [
        (value, found),
        *((value.setdefault("projects", {}).setdefault(r, {}), p) for r, p in (found.projects or {}).items()),
    ]
    for into, part in parts:
        document = parse_json(bytes(part.mcpServers).decode(), file)
        into["mcpServers"] = document.value
        into |= {key: getattr(part, key) for key in _OFF}
        problems += document.problems
    return ConfigDocument(value, problems)


def _entries(document: Mapping[str, Any]) -> Entries:
    yield from section(document, "mcpServers")
    projects = document.get("projects")
    if projects is not None and not isinstance(projects, Mapping):
        raise SectionError(("projects",))
    for root, project in (projects or {}).items():
        if isinstance(project, Mapping):
            for path, name, entry, _ in section(project, "mcpServers"):
                yield ("projects", root, *path), name, entry, root


def _rules(document: Mapping[str, Any], project: str) -> ReadRules:
    off = [(name, project) for key in _OFF for name in texts(document.get(key))]
    off += [(name, project) for name in _named(document.get("deniedMcpServers"))]
    for root, said in mapping(document.get("projects")).items():
        off += [(name, str(root)) for key in _OFF for name in texts(at(said, key))]
    allowed = document.get("allowedMcpServers")
    rules: list[NamedRule] = []
    lost: list[tuple[tuple[str | int, ...], str]] = []
    words: tuple[Then, ...] = ("deny", "ask", "allow")
    for then in words:
        for number, rule in enumerate(texts(at(document, "permissions", then))):
            if "(" in rule and rule.startswith("mcp__"):
                lost.append((("permissions", then, number), f"{then} {rule}, by its arguments"))
            elif rule.startswith(("mcp__", "*")):
                rules.append(NamedRule(then=then, name=rule, project=project))
                rules.append(NamedRule(then=then, name=f"{rule}__*", project=project))
    lost += _hooks(document)
    lost += [
        ((key,), "servers named by command or address") for key in _UNNAMED if _unnamed(document.get(key))
    ]
    shown = None
    if at(document, "permissions", "defaultMode") == "dontAsk":  # what is not allowed is denied
        shown = tuple(rule.name for rule in rules if rule.then == "allow")
    if not (off or rules) and shown is None and not isinstance(allowed, list):
        return ReadRules(lost=lost)
    only = tuple(_named(allowed)) if isinstance(allowed, list) and not _unnamed(allowed) else None
    found = ClientRules(only=only, off=tuple(off), shown=shown, rules=tuple(rules), prefixes=("mcp__{}__",))
    return ReadRules((found,), lost)


_UNNAMED = ("allowedMcpServers", "deniedMcpServers")


def _named(servers: object) -> list[str]:
    found = servers if isinstance(servers, list) else []
    return [one["serverName"] for one in found if isinstance(at(one, "serverName"), str)]


def _unnamed(servers: object) -> bool:
    return isinstance(servers, list) and any(at(one, "serverName") is None for one in servers)


def _hooks(document: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    """Its own hooks on names of MCP tools: it sees the door's tools only."""
    return [
        (("hooks", str(event), number), f"the hook on {matcher}")
        for event, groups in mapping(document.get("hooks")).items()
        for number, group in enumerate(groups if isinstance(groups, list) else ())
        if isinstance(matcher := at(group, "matcher"), str) and "mcp__" in matcher
    ]


FORMAT = Format(
    name="claude-code",
    locations=("~/.claude.json",),
    homes=(("CLAUDE_CONFIG_DIR", "~/.claude.json", "/.claude.json"), ("CLAUDE_CONFIG_DIR", "~/.claude", "")),
    project_file=".mcp.json",
    rule="shell",
    milliseconds=True,
    entries=_entries,
    load=_load,
    beside=("~/.claude/settings.json", "/etc/claude-code/managed-settings.json"),
    rules=_rules,
    clients=("claude-code*", "claude code*"),
)
