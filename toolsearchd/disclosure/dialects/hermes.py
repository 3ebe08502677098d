"""Hermes (September 2026): its names, its caps, its counting, its ranker."""

from __future__ import annotations

from toolsearchd.catalog.model import Tool
from toolsearchd.catalog.naming import hermes_name
from toolsearchd.disclosure.dialects.base import Dialect


def _name(tool: Tool) -> str:
    return hermes_name(tool.server, tool.name) if tool.kind == "mcp" else tool.public_name


def _source_name(tool: Tool) -> str:
    return f"mcp-{tool.server}" if tool.kind == "mcp" else tool.server


HERMES = Dialect(
    name="hermes",
    ranker="hermes",
    name_of=_name,
    source_name_of=_source_name,
    max_queries=7,  # its connector gateway answers 502 from 8 up
    max_names=10,
    argument_rules="hermes",
    exact_names=True,
    count_by_chars=True,
    reevaluates=True,
    shows_near=False,
)
