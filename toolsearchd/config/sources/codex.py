"""Codex: `~/.codex/config.toml`, tables `[mcp_servers.NAME]`; no variables, names of variables instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolsearchd.config.document import Document, Place, problem_at
from toolsearchd.config.sources.base import Entries, Format, mapped, section


def _load(text: str, file: str) -> Document:
    import tomllib  # only where there is such a file

    try:
        return Document(tomllib.loads(text), [])
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = Place(int(at[1]), int(at[2])) if at else Place(text.count("\n") + 1, 0)  # at the end
        message = str(error)[: at.start()].strip() if at else str(error)
        return Document(None, [problem_at("error", f"not TOML: {message}", file, (), place)])


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
    tools = {"include": entry.get("enabled_tools"), "exclude": entry.get("disabled_tools")}
    found["tools"] = tools
    if isinstance(tools["include"], list) and isinstance(tools["exclude"], list):
        # Here the second list is taken out of the first; elsewhere the first beats the second.
        tools["include"] = [name for name in tools["include"] if name not in tools["exclude"]]
    return found


def _entries(document: Mapping[str, Any]) -> Entries:
    return mapped(section(document, "mcp_servers"), _common)


FORMAT = Format(
    name="codex",
    locations=("~/.codex/config.toml",),
    project_file=".codex/config.toml",
    rule="codex",
    entries=_entries,
    load=_load,
)
