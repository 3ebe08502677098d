"""Hermes (June 2026): one query, one name, one call; no listing; a bridge only where schemas weigh enough."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.dialects.hermes.dialect import HERMES, HermesInterpreter
from toolsearchd.dialects.hermes.names import hermes_v1_name
from toolsearchd.dialects.hermes.rules import HermesV1Rules
from toolsearchd.disclosure.bridge import (
    CALL,
    DESCRIBE,
    SEARCH,
    BridgeTexts,
    bridge_tool,
    hidden_count,
)
from toolsearchd.disclosure.bridge_answers import BridgeAnswer, BridgeCalls, own_result
from toolsearchd.disclosure.listing import NO_LISTING, Listing
from toolsearchd.disclosure.seen import Seen
from toolsearchd.errors import ToolsearchdError

if TYPE_CHECKING:
    from toolsearchd.disclosure.view import View

DESCRIPTION_CHARS = 400  # of a description in a search reply

_mcp_name = lru_cache(maxsize=32 * 1024)(hermes_v1_name)

_TEXTS = BridgeTexts(
    search=(
        "Find tools whose schemas are not loaded. The query is a few keywords: service + action + object, "
        "such as `github create issue`. Then tool_describe, then tool_call."
    ),
    describe="Load the schema of one tool that tool_search found.",
    call="Run one tool by name, with arguments that fit the schema tool_describe gave.",
)


class HermesV1Interpreter(HermesInterpreter):
    def search(self, view: View, args: Mapping[str, Any]) -> BridgeAnswer:
        """`{query, total_available, matches}`. Raises BAD_ARGUMENTS, and TOO_MANY for a list of queries."""
        found = view.search(args)
        (group,) = found["results"]
        matches = []
        for name in group["matches"]:
            tool = found["tools"][name]
            matches.append(
                {
                    "name": name,
                    "source": tool["source"],
                    "source_name": tool["source_name"],
                    "description": tool["description"][:DESCRIPTION_CHARS],
                }
            )
        fields = {"query": group["query"], "total_available": found["total_available"], "matches": matches}
        return BridgeAnswer(value=fields, fields=fields, queries=found["queries"], found=len(matches))

    def describe(self, view: View, args: Mapping[str, Any], direct: Collection[str]) -> BridgeAnswer:
        """`{name, description, parameters}`. Raises TOOL_NOT_FOUND with the name, BAD_ARGUMENTS, TOO_MANY."""
        found = view.describe(args, direct=direct)
        for message in found.get("errors", {}).values():
            raise ToolsearchdError("BAD_ARGUMENTS", message)
        for name in found.get("not_found", ()):
            raise ToolsearchdError("TOOL_NOT_FOUND", f"no tool {name!r} is granted here; use tool_search")
        ((name, described),) = found["tools"].items()
        fields = {"name": name, **described}
        return BridgeAnswer(value=fields, fields=fields, described=(name,))

    def calls(self, view: View, args: Mapping[str, Any]) -> BridgeCalls:
        return BridgeCalls(args=dict(args), value_of=_only_result)


def _only_result(reply: dict[str, Any]) -> Any:
    """Errors are plain texts there."""
    result = own_result(reply)
    return {"error": result["error"]["message"]} if "error" in reply["results"][0] else result


def _name(tool: Tool) -> str:
    return tool.name if tool.kind == "plugin" else _mcp_name(tool.server, tool.name)


def _bridge(seen: Seen, _shown: Listing, separate: bool) -> list[dict[str, Any]]:
    text, settings = {"type": "string"}, seen.settings
    limit = {
        "type": "integer",
        "minimum": 1,
        "maximum": settings.max_search_limit,
        "description": f"Matches, default {settings.search_default_limit}",
    }
    search = _TEXTS.search if separate else f"{_TEXTS.search}\n{hidden_count(seen.deferred_count)}"
    return [
        bridge_tool(SEARCH, search, required="query", query=text, limit=limit),
        bridge_tool(DESCRIBE, _TEXTS.describe, required="name", name=text),
        bridge_tool(CALL, _TEXTS.call, required="name", name=text, arguments={"type": "object"}),
    ]


HERMES_V1 = msgspec.structs.replace(
    HERMES,
    name="hermes-v1",
    ranker="hermes-v1",
    name_of=_name,
    max_queries=1,
    max_names=1,
    rules=HermesV1Rules(),
    activation="threshold",
    presets={"threshold_pct": 10.0, "max_search_limit": 20},
    texts=_TEXTS,
    listing_of=lambda _view, _context: NO_LISTING,
    bridge_of=_bridge,
    interpreter=HermesV1Interpreter,
)
