"""The clients that the daemon can be installed into: where each keeps its servers, and what its entry of the
daemon looks like."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

from toolsearchd.config.document import ConfigDocument
from toolsearchd.config.install.editing import Editor, Section
from toolsearchd.config.json_text import parse_json
from toolsearchd.config.sources import FORMATS, Format


class InstallTarget(msgspec.Struct, frozen=True, kw_only=True):
    """`door`: what its entries say besides command and args.
    `patience`: the key by which an entry says how long its calls may take. `login`: keys that say that the
    client logs in to a server itself. `allowed`: where it may list the only servers that it starts. `search`:
    where it has a tool search of its own, which would hide the bridge.
    `locks`: it takes `FILE.lock`, a folder, while it writes."""

    name: str
    title: str
    door: Mapping[str, Any] = {}
    patience: str = "timeout"
    login: tuple[str, ...] = ("oauth", "auth", "authProviderType", "headersHelper")
    allowed: Section = ()
    search: Section = ()
    locks: bool = False
    syntax: Literal["json_edit", "toml_edit", "yaml_edit"] = "json_edit"

    @property
    def format(self) -> Format:
        return FORMATS[self.name]

    @property
    def section(self) -> Section:
        """The keys above its servers."""
        return tuple(self.format.section.split("."))

    @property
    def editor(self) -> Editor:
        # Loaded by who edits: the daemon, which only reads, never needs one.
        return cast(Editor, importlib.import_module(f"toolsearchd.config.install.{self.syntax}"))

    def load(self, text: str, file: str) -> ConfigDocument:
        """The whole document, whatever it costs: what is written back must say all that it said."""
        return (parse_json if self.name == "claude-code" else self.format.load)(text, file)


CLIENTS: dict[str, InstallTarget] = {
    client.name: client
    for client in (
        InstallTarget(
            name="claude-code",
            title="Claude Code",
            door={"type": "stdio"},
            locks=True,
        ),
        InstallTarget(name="claude-desktop", title="Claude Desktop"),
        InstallTarget(name="cursor", title="Cursor"),
        InstallTarget(name="vscode", title="VS Code", door={"type": "stdio"}),
        InstallTarget(
            name="codex",
            title="Codex",
            patience="tool_timeout_sec",
            login=("oauth", "auth", "scopes", "oauth_resource"),
            syntax="toml_edit",
        ),
        InstallTarget(name="gemini", title="Gemini CLI", allowed=("mcp", "allowed")),
        InstallTarget(
            name="hermes",
            title="Hermes",
            search=("tools", "tool_search"),
            syntax="yaml_edit",
        ),
        InstallTarget(name="openclaw", title="OpenClaw", search=("tools", "toolSearch")),
    )
}
"""By the names of their formats."""
