"""The three bridge tools as a model sees them. Constant bytes, but for the listing that may be embedded."""

from __future__ import annotations

from typing import Any

import msgspec

from toolsearchd.disclosure.listing import Form, Listing

SEARCH, DESCRIBE, CALL = "tool_search", "tool_describe", "tool_call"
BRIDGE_NAMES = (SEARCH, DESCRIBE, CALL)


class BridgeTexts(msgspec.Struct, frozen=True, kw_only=True):
    """A dialect's descriptions of the three."""

    search: str
    describe: str
    call: str


TEXTS = BridgeTexts(
    search=(
        "Find tools whose schemas are not loaded. Each query is a few keywords, service + action + object, "
        "such as `github create issue`: no questions, no filler words. Send several queries at once for "
        "several needs. `matches` fit; `near` only may. Then load schemas with tool_describe, then run with "
        "tool_call."
    ),
    describe="Load the schemas of tools that tool_search found or a listing names. Give all names at once.",
    call=(
        "Run tools by name, with arguments that fit the schemas tool_describe gave. "
        "One entry per call; entries have a result each, in the same order."
    ),
)

_FORM_NOTES: dict[Form, str] = {
    "full": "Tools listed below need no search: go straight to tool_describe.",
    "names": "Tools listed below need no search: go straight to tool_describe.",
    "mixed": "Tools listed below need no search: go straight to tool_describe. Where a server's names are "
    "not listed, search.",
    "groups": "Search here first for what the servers below do, before you substitute a generic tool.",
    "none": "",
}
_NOTHING = "No tool is behind this search at the moment; servers may still be starting."


def search_description(texts: BridgeTexts, count: int, shown: Listing) -> str:
    """The constant text, then what depends on the catalog: how many tools hide, and the listing."""
    note = _FORM_NOTES[shown.form] if count else ""
    lines = [texts.search, f"{hidden_count(count)} {note}".strip()]
    return "\n".join([*lines, shown.text] if shown.text else lines)


def hidden_count(count: int) -> str:
    return f"{count} tools are behind this search." if count else _NOTHING


def bridge_tools(
    texts: BridgeTexts,
    search_text: str,
    *,
    default_limit: int,
    most_matches: int,
    most_queries: int,
    most_names: int,
) -> list[dict[str, Any]]:
    """The three tools in the function shape; `search_text` stands for `texts.search`."""
    queries = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": most_queries}
    limit = {
        "type": "integer",
        "minimum": 1,
        "maximum": most_matches,
        "description": f"Matches per query, default {default_limit}",
    }
    names = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": most_names}
    entry = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["name"],
    }
    calls = {"type": "array", "minItems": 1, "items": entry}
    return [
        bridge_tool(SEARCH, search_text, required="queries", queries=queries, limit=limit),
        bridge_tool(DESCRIBE, texts.describe, required="names", names=names),
        bridge_tool(CALL, texts.call, required="calls", calls=calls),
    ]


def function(name: str, description: str, parameters: Any) -> dict[str, Any]:
    """A tool in the shape that models are given."""
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def bridge_tool(name: str, description: str, /, *, required: str, **properties: Any) -> dict[str, Any]:
    """A bridge tool whose parameters are these JSON schemas by name, one of them required."""
    parameters = {"type": "object", "properties": properties, "required": [required]}
    return function(name, description, parameters)
