"""The daemon's own search as a factory for a retrieval evaluation: `factory(tools)` → `search(query, limit)`.

`tools`: maps of {server, name, description, input_schema}. `search` gives (matches, near) as lists of
"server/name". What runs is what the daemon runs: definitions are decoded, a snapshot is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from toolsearchd.catalog.compile import compile_snapshot
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.ranker import DefaultSearcher
from toolsearchd.limits import Limits

Search = Callable[[str, int], tuple[list[str], list[str]]]


def snapshot_of(tools: list[dict[str, Any]], ranker: str = "default", *, tables: bool = True) -> Snapshot:
    """The tools as a catalog, servers in order of first appearance. `tables`: with the second stage's."""
    limits = Limits()
    servers: dict[str, list[Any]] = {}
    for tool in tools:
        wire = {
            "name": tool["name"],
            "description": tool.get("description"),
            "inputSchema": tool.get("input_schema"),
        }
        servers.setdefault(tool["server"], []).append(decode_definition(msgspec.json.encode(wire), limits))
    sources = [Source(name=name, definitions=tuple(found)) for name, found in servers.items()]
    options = {"tables": tables} if ranker == "default" else {}
    return compile_snapshot(Snapshot.empty(), sources, {ranker: make_analyzer(ranker, options)})


def factory(tools: list[dict[str, Any]], ranker: str = "default", *, ahead: bool = False) -> Search:
    """`ahead`: what the first searches would make is made here (the default ranker can)."""
    snapshot = snapshot_of(tools, ranker)
    searcher = snapshot.searcher(RANKINGS[ranker], snapshot.live)
    if ahead:
        assert isinstance(searcher, DefaultSearcher)
        for _ in searcher.prepare():
            pass

    def name(doc: int) -> str:
        tool = snapshot.tools[doc]
        assert tool is not None
        return f"{tool.server}/{tool.name}"

    def search(query: str, limit: int) -> tuple[list[str], list[str]]:
        group = searcher.search(query, limit)
        return [name(hit.doc) for hit in group.matches], [name(hit.doc) for hit in group.near]

    return search


def hermes(tools: list[dict[str, Any]]) -> Search:
    """The reference's September 2026 ranker."""
    return factory(tools, "hermes")


def hermes_v1(tools: list[dict[str, Any]]) -> Search:
    """The reference's June 2026 ranker."""
    return factory(tools, "hermes-v1")
