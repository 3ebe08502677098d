"""OpenCode: `mcp` in `opencode.json`; `command` is a list, the variables are under `environment`."""

from __future__ import annotations

from toolsearchd.config.sources.base import Format, mapped, renamed, section

FORMAT = Format(
    name="opencode",
    locations=("$config/opencode/opencode.json", "$config/opencode/opencode.jsonc"),
    project_file="opencode.json",
    rule="opencode",
    milliseconds=True,
    entries=lambda document: mapped(
        section(document, "mcp"), lambda entry: renamed(entry, env="environment", connect_timeout="timeout")
    ),
)
