"""The three bridge tools as a model sees them. Constant, but for the listing that may be embedded."""

from __future__ import annotations

from typing import Any

from toolsearchd.disclosure.listing import Form

BRIDGE_NAMES = ("tool_search", "tool_describe", "tool_call")

_SEARCH = (
    "Find tools among the {count} that are not listed with their schemas. Each query is a few keywords: "
    "service + action + object, such as `github create issue`; no questions, no filler words. "
    "Send several queries at once for several needs. Then tool_describe the names, then tool_call."
)
_SEARCH_NOTHING = "No tools are behind this search at the moment; servers may still be starting."
_FORM_NOTES: dict[str, str] = {
    "full": "Tools listed below exist: go straight to tool_describe.",
    "names": "Tools listed below exist: go straight to tool_describe.",
    "mixed": "Listed tools exist: go straight to tool_describe. Servers without names must be searched.",
    "groups": "The servers below are reachable: search here before you use a generic tool instead.",
    "none": "",
}
_DESCRIBE = "Load the schemas of tools found by tool_search or listed. Give all the names you need at once."
_CALL = (
    "Run tools by name with arguments that fit their schemas (tool_describe shows them). "
    "One entry per call; several entries run in order and each has its own result."
)


def search_description(count: int, form: Form, listing: str) -> str:
    """`listing` empty: the constant text, whatever the catalog holds."""
    parts = [_SEARCH.format(count=count) if count else _SEARCH_NOTHING]
    if not listing:
        return parts[0]
    return "\n".join([" ".join([parts[0], _FORM_NOTES[form]]).strip(), listing])


def bridge_tools(
    search_text: str, *, search_limit: int, most: int, max_queries: int, max_names: int
) -> list[dict[str, Any]]:
    """The three tools in the function shape."""
    return [
        function(
            "tool_search",
            search_text,
            {
                "type": "object",
                "properties": {
                    "queries": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": max_queries,
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": most,
                        "description": f"Matches per query, default {search_limit}",
                    },
                },
                "required": ["queries"],
            },
        ),
        function(
            "tool_describe",
            _DESCRIBE,
            {
                "type": "object",
                "properties": {
                    "names": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": max_names,
                    }
                },
                "required": ["names"],
            },
        ),
        function(
            "tool_call",
            _CALL,
            {
                "type": "object",
                "properties": {
                    "calls": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                            "required": ["name"],
                        },
                    }
                },
                "required": ["calls"],
            },
        ),
    ]


def function(name: str, description: str, parameters: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
