"""Codex: `~/.codex/config.toml`, tables `[mcp_servers.NAME]`; no variables, names of variables instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolsearchd.config.entry import MODES
from toolsearchd.config.restrictions import ClientRules
from toolsearchd.config.sources.base import Entries, Format, ReadRules, at, mapped, section
from toolsearchd.config.toml_text import parse_toml


def _common(entry: dict[str, Any]) -> Mapping[str, Any]:
    named = entry.get("env_http_headers")
    headers = dict(entry.get("http_headers") or {}) if isinstance(entry.get("http_headers"), Mapping) else {}
    if isinstance(named, Mapping):
        headers |= {header: f"${{env_var:{variable}}}" for header, variable in named.items()}
    if isinstance(entry.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{env_var:{entry['bearer_token_env_var']}}}"
    found = entry | {"headers": headers or None}
    if isinstance(entry.get("env_vars"), list):
        found["pass_env"] = [name for name in entry["env_vars"] if isinstance(name, str)]
    if "startup_timeout_ms" in entry and isinstance(entry["startup_timeout_ms"], int):
        found["connect_timeout"] = entry["startup_timeout_ms"] / 1000
    for new, old in (("connect_timeout", "startup_timeout_sec"), ("timeout", "tool_timeout_sec")):
        if old in entry:
            found[new] = entry[old]
    found[MODES] = tuple(approval_modes(entry))
    tools = {"include": entry.get("enabled_tools"), "exclude": entry.get("disabled_tools")}
    found["tools"] = tools
    if isinstance(tools["include"], list) and isinstance(tools["exclude"], list):
        # Here the second list is taken out of the first; elsewhere the first beats the second.
        out = {name for name in tools["exclude"] if isinstance(name, str)}
        tools["include"] = [name for name in tools["include"] if not isinstance(name, str) or name not in out]
    return found


def approval_modes(entry: Mapping[str, Any], default: str = "default_tools_approval_mode") -> Iterator[Any]:
    """What it asks about: per tool, then the rest. `auto` is the daemon's own way; a word that is not known
    asks."""
    tools = entry.get("tools")
    for name in tools if isinstance(tools, Mapping) else ():
        if (mode := at(tools, name, "approval_mode")) is not None:
            yield name, _MODES.get(mode, "ask") if isinstance(mode, str) else "ask"
    if (mode := entry.get(default)) is not None:
        yield "*", _MODES.get(mode, "ask") if isinstance(mode, str) else "ask"


_MODES = {"auto": "", "approve": "allow", "prompt": "ask"}


def _entries(document: Mapping[str, Any]) -> Entries:
    return mapped(section(document, "mcp_servers"), _common)


def _rules(document: Mapping[str, Any], _project: str) -> ReadRules:
    """Of `requirements.toml`, which names the only servers in use, each with what it is."""
    entries = document.get("mcp_servers")
    named = {
        name: identity
        for name, entry in (entries.items() if isinstance(entries, Mapping) else ())
        if isinstance(identity := at(entry, "identity"), Mapping)
    }
    lost = [(("mcp_servers", name, "identity"), f"{name}, by what it is") for name in named]
    return ReadRules((ClientRules(only=tuple(named)),), lost) if named else ReadRules()


FORMAT = Format(
    name="codex",
    section="mcp_servers",
    locations=("~/.codex/config.toml",),
    homes=(("CODEX_HOME", "~/.codex", ""),),
    project_file=".codex/config.toml",
    rule="codex",
    entries=_entries,
    load=parse_toml,
    beside=("/etc/codex/requirements.toml", "~/.codex/requirements.toml"),
    rules=_rules,
    clients=("codex*",),
)
