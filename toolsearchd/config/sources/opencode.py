"""OpenCode: `mcp` in `opencode.json`; `command` is a list, the variables are under `environment`.

`tools` switches tools off by their names there, `server_tool`; `permission` asks or denies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.restrictions import ClientRules, NamedRule
from toolsearchd.config.sources.base import Format, ReadRules, mapped, mapping, renamed, section


def _rules(document: Mapping[str, Any], project: str) -> ReadRules:
    rules: list[NamedRule] = []
    lost: list[tuple[tuple[str | int, ...], str]] = []
    tools, permission = document.get("tools"), document.get("permission")
    for name, used in mapping(tools).items():
        if used is False:
            rules.append(NamedRule(then="deny", name=str(name), project=project))
    if isinstance(permission, str):
        permission = {"*": permission}
    for name, then in mapping(permission).items():
        if then in ("allow", "ask", "deny"):
            rules.append(NamedRule(then=then, name=str(name), project=project))
        elif isinstance(then, Mapping) and str(name) not in _BUILT_IN:
            lost.append((("permission", str(name)), f"{name}, by its arguments"))
    return ReadRules((ClientRules(rules=tuple(rules), prefixes=("{}_",)),) if rules else (), lost)


_BUILT_IN = (
    "edit",
    "bash",
    "webfetch",
    "read",
    "glob",
    "grep",
    "list",
    "task",
    "skill",
    "external_directory",
)


FORMAT = Format(
    name="opencode",
    section="mcp",
    locations=("$config/opencode/opencode.json", "$config/opencode/opencode.jsonc"),
    homes=(
        ("OPENCODE_CONFIG", "$config/opencode/opencode.json", ""),
        ("OPENCODE_CONFIG_DIR", "$config/opencode", ""),
    ),
    project_file="opencode.json",
    rule="opencode",
    milliseconds=True,
    entries=lambda document: mapped(
        section(document, "mcp"), lambda entry: renamed(entry, env="environment", connect_timeout="timeout")
    ),
    rules=_rules,
    clients=("opencode*",),
)
