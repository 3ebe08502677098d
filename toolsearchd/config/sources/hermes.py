"""Hermes: `~/.hermes/config.yaml`, section `mcp_servers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.config.document import ConfigDocument
from toolsearchd.config.sources.base import Entries, Format, mapped, section


def _common(entry: dict[str, Any]) -> Mapping[str, Any]:
    """`idle_timeout_seconds` may stand under `lifecycle`; `lazy` is a way to start."""
    lifecycle = entry.get("lifecycle")
    within = lifecycle if isinstance(lifecycle, Mapping) else {}
    idle = entry.get("idle_timeout_seconds", within.get("idle_timeout_seconds"))
    if idle is not None:
        entry["idle_timeout"] = idle
    if entry.get("lazy") is True:
        entry.setdefault("start", "lazy")
    return entry


def _entries(document: Mapping[str, Any]) -> Entries:
    return mapped(section(document, "mcp_servers"), _common)


def _load(text: str, file: str) -> ConfigDocument:
    from toolsearchd.config.yaml_text import parse_yaml  # PyYAML only where there is such a file

    return parse_yaml(text, file)


FORMAT = Format(
    name="hermes",
    section="mcp_servers",
    locations=("~/.hermes/config.yaml",),
    homes=(("HERMES_HOME", "~/.hermes", ""),),
    rule="hermes",
    entries=_entries,
    load=_load,
    clients=("hermes*", "nemoclaw-hermes*", "nemohermes*"),
)
