"""What a model wrote into `tool_search` and `tool_describe`: repaired or refused, with words it can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.disclosure.sanitise import clean_line
from toolsearchd.errors import ToolsearchdError

_EXAMPLES = {
    "queries": 'a list of keyword queries, such as ["github create issue"]',
    "names": 'a list of tool names, such as ["mcp__github__create_issue"]',
}


def parse_queries(
    args: Mapping[str, Any], *, most: int, max_chars: int, items_as_text: bool = False
) -> list[str]:
    """The queries, trimmed, blanks dropped, each cut at `max_chars`; repeats stay.

    Where only blanks are given: one empty query, which finds nothing and names the sources. `items_as_text`:
    that is an error, and an object or list counts as its text, as the reference has it. Raises BAD_ARGUMENTS,
    or TOO_MANY above `most`.
    """
    queries = [query[:max_chars] for query in _texts(args, "queries", "query", items_as_text)]
    if not queries and args.get("queries") and not items_as_text:
        return [""]
    return _bounded(queries, "queries", most)


def parse_limit(args: Mapping[str, Any], *, default: int, most: int) -> int:
    """Matches per query. What can't be read as a whole number counts as `default`; the rest is clamped."""
    given = args.get("limit")
    try:
        limit = default if given is None else int(given)
    except (TypeError, ValueError, OverflowError):
        limit = default
    return max(1, min(limit, most))


def parse_names(args: Mapping[str, Any], *, most: int, items_as_text: bool = False) -> list[str]:
    """The names, trimmed, blanks and repeats dropped. Raises BAD_ARGUMENTS, or TOO_MANY above `most`."""
    return _bounded(list(dict.fromkeys(_texts(args, "names", "name", items_as_text))), "names", most)


def _texts(args: Mapping[str, Any], field: str, single: str, items_as_text: bool) -> list[str]:
    """The field's texts, trimmed, without blanks; one text stands for a list of one.

    Models used to one-query tools write `query` and `name`: taken where the field itself is absent.
    """
    given = args.get(field)
    if given is None and isinstance(args.get(single), str):
        given = args[single]
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple):
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"{field}: expected {_EXAMPLES[field]}, not {_kind(given)}", field=field
        )
    texts = []
    for index, item in enumerate(given):
        if isinstance(item, list | dict) and not items_as_text:  # its text would be no name and no keywords
            raise ToolsearchdError(
                "BAD_ARGUMENTS", f"{field}[{index}]: expected a text, not {_kind(item)}", field=field
            )
        text = clean_line(_as_text(item)).strip() if item else ""
        if text:
            texts.append(text)
    return texts


def _as_text(item: object) -> str:
    try:
        return item if isinstance(item, str) else str(item)
    except (ValueError, RecursionError):  # a number of 5,000 digits, lists in lists in lists
        return ""


def _bounded(texts: list[str], field: str, most: int) -> list[str]:
    if not texts:
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"{field}: nothing is given; expected {_EXAMPLES[field]}", field=field
        )
    if len(texts) > most:
        raise ToolsearchdError(
            "TOO_MANY",
            f"{field}: {len(texts)} were sent, at most {most} are taken in one call; send fewer",
            field=field,
            most=most,
        )
    return texts


def _kind(value: object) -> str:
    kinds = {"NoneType": "nothing", "dict": "an object", "bool": "a boolean", "list": "a list"}
    return kinds.get(type(value).__name__, "a number")
