"""What a model wrote into `tool_search` and `tool_describe`: repaired or refused, with words it can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.errors import ToolsearchdError


def parse_queries(args: Mapping[str, Any], *, most: int, max_chars: int) -> list[str]:
    """The queries, trimmed, blanks dropped. Raises BAD_ARGUMENTS, or TOO_MANY above `most`."""
    given = args.get("queries")
    if given is None and isinstance(args.get("query"), str):
        given = args["query"]
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple):
        raise ToolsearchdError(
            "BAD_ARGUMENTS",
            'queries: expected a list of keyword queries such as ["github create issue"]',
            field="queries",
        )
    queries = [str(item).strip()[:max_chars] for item in given if item]
    queries = [query for query in queries if query]
    if not queries:
        if given and len(given) <= most and all(isinstance(item, str) for item in given) and most > 7:
            return [""]  # nothing to look for is a query that finds nothing, and still names the sources
        raise ToolsearchdError(
            "BAD_ARGUMENTS", "queries: nothing is left of it; give keywords", field="queries"
        )
    if len(queries) > most:
        raise ToolsearchdError(
            "TOO_MANY",
            f"queries: {len(queries)} were sent, at most {most} are taken; send fewer",
            field="queries",
        )
    return queries


def parse_limit(args: Mapping[str, Any], *, default: int, most: int) -> int:
    """What can't be read as a whole number counts as the default; the rest is clamped to 1..most."""
    given = args.get("limit")
    try:
        limit = default if given is None else int(given)
    except (TypeError, ValueError, OverflowError):
        limit = default
    return max(1, min(limit, most))


def parse_names(args: Mapping[str, Any], *, most: int) -> list[str]:
    """The names, trimmed, blanks and repeats dropped. Raises BAD_ARGUMENTS, or TOO_MANY above `most`."""
    given = args.get("names")
    if given is None and isinstance(args.get("name"), str):
        given = args["name"]
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple):
        raise ToolsearchdError("BAD_ARGUMENTS", "names: expected a list of tool names", field="names")
    names = list(dict.fromkeys(name for name in (str(item).strip() for item in given if item) if name))
    if not names:
        raise ToolsearchdError(
            "BAD_ARGUMENTS", "names: nothing is left of it; give tool names", field="names"
        )
    if len(names) > most:
        raise ToolsearchdError(
            "TOO_MANY", f"names: {len(names)} were sent, at most {most} are taken; send fewer", field="names"
        )
    return names
