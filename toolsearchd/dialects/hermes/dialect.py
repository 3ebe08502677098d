"""Hermes (September 2026): its names, its caps, its counting, its ranker, its words."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from toolsearchd.catalog.model import Tool
from toolsearchd.catalog.naming import mcp_name
from toolsearchd.dialects.base import Dialect, Interpreter
from toolsearchd.dialects.hermes.names import keepers
from toolsearchd.dialects.hermes.routing import check_name
from toolsearchd.dialects.hermes.rules import HermesRules
from toolsearchd.disclosure.bridge import TEXTS, BridgeTexts

if TYPE_CHECKING:
    from toolsearchd.disclosure.view import View

_mcp_name = lru_cache(maxsize=32 * 1024)(mcp_name)  # every view asks for every name


class HermesInterpreter(Interpreter):
    direct_toolsets = frozenset(("desktop_ui", "project", "setup"))

    def check_name(self, view: View, name: str, known: Collection[str]) -> None:
        check_name(name, deferrable=known, session=view.tools_by_name)


def _name(tool: Tool) -> str:
    return tool.name if tool.kind == "plugin" else _mcp_name(tool.server, tool.name)


def _source_name(tool: Tool) -> str:
    return tool.server if tool.kind == "plugin" else f"mcp-{tool.server}"


HERMES = Dialect(
    name="hermes",
    ranker="hermes",
    agent="hermes",
    name_of=_name,
    source_name_of=_source_name,
    label_of=lambda source: source or "other",
    max_queries=7,  # its connector gateway answers 502 from 8 up
    max_names=10,
    rules=HermesRules(),
    items_as_text=True,
    interpreter=HermesInterpreter,
    keepers=keepers,
    count_by_chars=True,
    reevaluates=True,
    shows_near=False,
    bridges_nothing=False,
    texts=BridgeTexts(
        search=(
            "Find tools whose schemas are not loaded. Each query is a few keywords, service + action + "
            "object, such as `github create issue`: no questions. A word that no tool contains empties the "
            "query. Send several queries at once for several needs. Then tool_describe, then tool_call."
        ),
        describe=TEXTS.describe,
        call=(
            "Run a tool by name, with arguments that fit the schema tool_describe gave. Local tools: one "
            "entry per call; only names that begin with `connectors__` may be batched."
        ),
    ),
)
