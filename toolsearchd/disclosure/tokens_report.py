"""What all schemas would cost, what a profile's view costs instead, and which saving that is.

What nobody could ask has no number: None stands for "unknown", in a sum for "at least the rest".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.disclosure.view import Assembled, View


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens under one encoding. `schemas`: of each granted tool, in catalog order, by itself."""

    schemas: Sequence[int]
    bridge: int  # of the bridge tools without a listing
    shown: int  # of everything that the model is given
    assembled: Assembled
    estimated: bool


def schema_texts(view: View, most_chars: int) -> Iterator[tuple[Tool, str, bool]]:
    """Each granted tool as a model would be given it; True where only the beginning will be counted."""
    for tool in view.granted_tools():
        text = msgspec.json.encode(view.direct(tool)).decode()
        yield tool, text[:most_chars], len(text) > most_chars


def tool_texts(tools: Sequence[dict[str, Any]]) -> list[str]:
    """Tools in the function shape, as they are counted."""
    return [msgspec.json.encode(tool).decode() for tool in tools]


def token_report(view: View, cut: Sequence[bool], costs: Mapping[str, Costs]) -> dict[str, Any]:
    """The reply to `tokens`. `cut`: whether a tool was too long to count whole, in catalog order."""
    by_server: dict[str, list[dict[str, Any]]] = {}
    for at, tool in enumerate(view.granted_tools()):
        line: dict[str, Any] = {"name": view.name_of(tool)}
        line["tokens"] = {encoding: found.schemas[at] for encoding, found in costs.items()}
        if cut[at]:
            line["at_least"] = True
        by_server.setdefault(tool.server, []).append(line)
    servers = [_server(source, by_server.get(source.name, ()), costs) for source in view.sources]
    unknown = [server["name"] for server in servers if server["tokens"] is None]
    return {
        "dialect": view.dialect.name,
        "encodings": list(costs),
        "estimated": [encoding for encoding, found in costs.items() if found.estimated],
        "servers": servers,
        "unknown": unknown,
        "totals": {encoding: _totals(view, found) for encoding, found in costs.items()},
        "at_least": bool(unknown) or any(cut),
    }


def _server(source: Any, tools: Sequence[dict[str, Any]], costs: Mapping[str, Costs]) -> dict[str, Any]:
    line: dict[str, Any] = {"name": source.name, "state": source.state, "tools": list(tools)}
    if not tools and not source.available:
        # It was never asked, or its tools are gone: how much they cost, nobody knows.
        line |= {"tokens": None, "tool_count": source.declared_tools or None, "reason": source.reason}
        return line
    line["tool_count"] = len(tools)
    line["tokens"] = {encoding: sum(tool["tokens"][encoding] for tool in tools) for encoding in costs}
    if any("at_least" in tool for tool in tools):
        line["at_least"] = True
    return line


def _totals(view: View, found: Costs) -> dict[str, Any]:
    fields = found.assembled.fields
    eager = sum(found.schemas)
    bridged = fields["tier"] != 0
    pinned = sum(
        tokens
        for tool, tokens in zip(view.granted_tools(), found.schemas, strict=True)
        if bridged and tool in view.pinned
    )
    return {
        "eager": eager,
        "view": found.shown,
        "bridge": found.bridge,
        "pinned": pinned,
        "listing": found.shown - found.bridge - pinned if bridged else 0,
        "saved": eager - found.shown,
        "tier": fields["tier"],
        "listing_form": fields["listing_form"],
        "budget_tokens": fields["budget_tokens"],
        "why": found.assembled.why,
    }
