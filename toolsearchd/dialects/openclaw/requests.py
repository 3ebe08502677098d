"""What a model writes into OpenClaw's bridge tools: read by its rules, repaired or refused in its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import msgspec

from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.openclaw.options import positive_integer
from toolsearchd.disclosure.sanitise import clean
from toolsearchd.errors import ToolsearchdError

SELECTORS = ("id", "toolId", "name")
_INPUTS = ("args", "input")
MOST_ENTRIES = 16
MOST_CANDIDATES = 50  # of all queries of a request together
MOST_QUERY_BYTES = 512  # the JSON list of all query texts, so no single one is longer either


class Query(NamedTuple):
    text: str
    limit: int


class Queries(NamedTuple):
    queries: list[Query]
    is_batch: bool  # the answer has a group per query; else it is the one query's list


class OpenclawCall(NamedTuple):
    selectors: dict[str, str]  # key → what it names
    input: dict[str, Any]
    is_flat: bool  # the input stood beside the selectors


def refuse(message: str, **fields: Any) -> NoReturn:
    raise ToolsearchdError("BAD_ARGUMENTS", message, **fields)


def parse_single(args: Mapping[str, Any], settings: ToolSearch) -> Queries:
    """The first generation's arguments: `query` and `limit`. Raises BAD_ARGUMENTS."""
    if not isinstance(args.get("query"), str):
        refuse("query must be a string.", field="query")
    return Queries([Query(clean(args["query"]), _limit(_top_limit(args), settings))], is_batch=False)


def parse_search(args: Mapping[str, Any], settings: ToolSearch) -> Queries:
    """`query` with `limit`, or `queries` with a limit each. Raises BAD_ARGUMENTS or TOO_MANY."""
    args = _from_plain_list(args)
    query, queries, limit = args.get("query"), args.get("queries"), _top_limit(args)
    if query is None and queries is None:
        refuse("provide query or queries.")
    if query is not None and not isinstance(query, str):
        refuse("query must be a string.", field="query")
    usable = isinstance(query, str) and bool(query.strip())
    if queries is not None and (not isinstance(queries, list | tuple) or not (queries or usable)):
        refuse("queries must be a non-empty array.", field="queries")
    if not queries:
        return Queries([Query(clean(query or ""), _limit(limit, settings))], is_batch=False)
    entries = [_entry(at, item, settings) for at, item in enumerate(queries)]
    if usable:
        entries.insert(0, Query(clean(str(query)), _limit(limit, settings)))
    elif limit is not None:
        refuse("limit belongs to query; with queries, set limit in each entry.", field="limit")
    _check_bounds(entries)
    return Queries(entries, is_batch=True)


def _from_plain_list(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """`queries` as a list of texts, as this daemon's own clients ask: one is `query`; each gets `limit`."""
    queries, limit = args.get("queries"), args.get("limit")
    if not isinstance(queries, list | tuple) or not queries or args.get("query") is not None:
        return args
    if not all(isinstance(text, str) for text in queries):
        return args
    if len(queries) == 1:
        return {**args, "query": queries[0], "queries": None}
    return {"queries": [{"query": text, "limit": limit} for text in queries]}


def _top_limit(args: Mapping[str, Any]) -> Any:
    options = args.get("options")
    given = args.get("limit")
    return options.get("limit") if given is None and isinstance(options, Mapping) else given


def _limit(value: object, settings: ToolSearch, where: str = "") -> int:
    if value is None:
        return settings.search_default_limit
    limit = positive_integer(value)
    if limit is None:
        refuse(f"{where}limit must be a positive integer.", field=f"{where}limit")
    return min(limit, settings.max_search_limit)


def _entry(at: int, item: object, settings: ToolSearch) -> Query:
    where = f"queries[{at}]"
    if not isinstance(item, Mapping):
        refuse(f"{where} must be an object with query and, if wanted, limit.", field=where)
    text = item.get("query")
    if not isinstance(text, str):
        refuse(f"{where}.query must be a string.", field=f"{where}.query")
    if not text.strip():
        refuse(f"{where}.query must be a non-empty string.", field=f"{where}.query")
    return Query(clean(text), _limit(item.get("limit"), settings, f"{where}."))


def _check_bounds(entries: list[Query]) -> None:
    if len(entries) > MOST_ENTRIES:
        _too_many("queries", len(entries), MOST_ENTRIES, "entries")
    total = sum(entry.limit for entry in entries)
    if total > MOST_CANDIDATES:
        _too_many(
            "the limits of queries", total, MOST_CANDIDATES, "in all; an omitted limit counts as the default"
        )
    size = len(msgspec.json.encode([entry.text for entry in entries]))
    if size > MOST_QUERY_BYTES:
        _too_many("the texts of queries", size, MOST_QUERY_BYTES, "bytes as JSON")


def _too_many(what: str, came: int, most: int, unit: str) -> NoReturn:
    raise ToolsearchdError(
        "TOO_MANY",
        f"{what}: {came} {unit}, at most {most} are taken; send fewer.",
        field="queries",
        most=most,
    )


def parse_selectors(args: Mapping[str, Any], *, most: int) -> list[str]:
    """What `tool_describe` is asked about: one tool. This daemon's own clients ask for several as `names`.

    Raises BAD_ARGUMENTS or TOO_MANY.
    """
    value = next((args[key] for key in SELECTORS if args.get(key) is not None), None)
    names = args.get("names")
    given = list(names) if value is None and names and isinstance(names, list | tuple) else [value]
    needles = [name.strip() for name in given if isinstance(name, str)]
    if len(needles) < len(given) or not all(needles):
        refuse("id must be a non-empty string.", field="id")
    if len(given) > most:
        raise ToolsearchdError(
            "TOO_MANY", f"names: {len(given)} were sent, at most {most} are taken; send fewer.", most=most
        )
    return needles


def parse_call(args: Mapping[str, Any]) -> OpenclawCall:
    """The call's selectors and input, wherever the model put them. Raises BAD_ARGUMENTS.

    The input is `args` or `input`; where that is empty, everything beside the selectors. `args.summary` as a
    key is `summary` of the input. A selector that stands only inside the input is taken from there.
    """
    selectors = _selectors(args)
    given = _given_input(args)
    beside = {key: value for key, value in args.items() if key not in (*SELECTORS, *_INPUTS)}
    if not selectors:
        if not _selectors(given):
            refuse("id must be a non-empty string.", field="id")
        lifted = {key: given.pop(key) for key in SELECTORS if key in given}
        inner = given if given.keys() <= set(_INPUTS) else {"args": given}
        return parse_call(beside | lifted | inner)
    dotted = {key.removeprefix("args."): value for key, value in beside.items() if key.startswith("args.")}
    flat = {} if given else {key: value for key, value in beside.items() if not key.startswith("args.")}
    return OpenclawCall(selectors, flat | dotted | given, is_flat=not given)


def _selectors(args: Mapping[str, Any]) -> dict[str, str]:
    given = ((key, args.get(key)) for key in SELECTORS)
    return {key: value.strip() for key, value in given if isinstance(value, str) and value.strip()}


def _given_input(args: Mapping[str, Any]) -> dict[str, Any]:
    for key in _INPUTS:
        value = args.get(key)
        if isinstance(value, str):
            value = _read(key, value)
        if value is not None and not isinstance(value, Mapping):
            refuse(f"{key} must be an object.", field=key)
        if value:
            return dict(value)
    return {}


def _read(key: str, text: str) -> Any:
    """An object that was sent as its JSON text."""
    try:
        return msgspec.json.decode(text) if text.strip() else None
    except (msgspec.DecodeError, RecursionError):
        refuse(f"{key} must be an object, not a text.", field=key)
