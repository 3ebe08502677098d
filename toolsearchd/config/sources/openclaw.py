"""OpenClaw: `mcp.servers` in `openclaw.json`, which is JSON5; `${VAR}`.

An entry's `toolFilter` (what it excludes stays out, whatever it includes) and `codex` approvals;
`tools.allow` and `tools.deny` over all tools, which are `server__tool` there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.entry import MODES
from toolsearchd.config.json_text import parse_json5
from toolsearchd.config.restrictions import ClientRules, NamedRule
from toolsearchd.config.sources.base import Entries, Format, ReadRules, at, mapped, section, texts
from toolsearchd.config.sources.codex import approval_modes

_ALL_MCP = ("*", "bundle-mcp", "group:plugins", "group:mcp")
_DEFAULT_MODES = ("defaultToolsApprovalMode", "default_tools_approval_mode")


def _common(entry: dict[str, Any]) -> Mapping[str, Any]:
    modes: list[Any] = []
    filter_ = entry.get("toolFilter")
    if isinstance(filter_, Mapping):
        include, exclude = filter_.get("include"), filter_.get("exclude")
        entry["tools"] = {"include": include, "exclude": exclude}
        modes += [(name, "deny") for name in texts(exclude)] if include is not None else []
    codex = entry.get("codex")
    if isinstance(codex, Mapping):
        modes += [mode for key in _DEFAULT_MODES if key in codex for mode in approval_modes(codex, key)]
    return entry | {MODES: tuple(modes)}


def _entries(document: Mapping[str, Any]) -> Entries:
    return mapped(section(document, "mcp", "servers"), _common)


def _rules(document: Mapping[str, Any], _project: str) -> ReadRules:
    allow, more = at(document, "tools", "allow"), texts(at(document, "tools", "alsoAllow"))
    shown = tuple(map(_meant, (*texts(allow), *more))) if isinstance(allow, list) and allow else None
    denied = tuple(NamedRule(then="deny", name=_meant(name)) for name in texts(at(document, "tools", "deny")))
    agents = at(document, "agents", "list")
    lost = [
        (("agents", "list", number, "tools", key), "what it holds for one of its agents")
        for number, agent in enumerate(agents if isinstance(agents, list) else ())
        for key in ("allow", "deny", "profile")
        if at(agent, "tools", key)
    ]
    if shown is None and not denied:
        return ReadRules(lost=lost)
    return ReadRules((ClientRules(shown=shown, rules=denied, prefixes=("{}__",)),), lost)


def _meant(name: str) -> str:
    return "*" if name in _ALL_MCP else name


FORMAT = Format(
    name="openclaw",
    section="mcp.servers",
    locations=("~/.openclaw/openclaw.json",),
    homes=(
        ("OPENCLAW_CONFIG_PATH", "~/.openclaw/openclaw.json", ""),
        ("OPENCLAW_STATE_DIR", "~/.openclaw", ""),
    ),
    rule="plain",
    load=parse_json5,
    entries=_entries,
    rules=_rules,
    clients=("openclaw*", "nemoclaw*", "clawd*"),
)
