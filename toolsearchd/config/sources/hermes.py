"""Hermes: `~/.hermes/config.yaml`, section `mcp_servers`."""

from __future__ import annotations

from typing import Any

from toolsearchd.config.model import Problem
from toolsearchd.config.sources.base import Format, section
from toolsearchd.config.yaml_nodes import parse_yaml


def _load(text: str, file: str) -> tuple[Any, list[Problem]]:
    document = parse_yaml(text, file)
    return document.value, document.problems


FORMAT = Format(
    name="hermes",
    locations=("~/.hermes/config.yaml",),
    rule="hermes",
    entries=lambda document: section(document, "mcp_servers"),
    load=_load,
)
