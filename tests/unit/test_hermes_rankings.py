"""The reference's two rankers answer bit by bit as they did before the daemon's own had a second stage.

`tests/data/hermes_rankings.json` was written by the code of that day: made-up tools, queries with a limit and
the granted servers (none named: all), and what each ranker answered: names, and scores as hexadecimal floats.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyroaring import BitMap

from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.builder import compile_index
from toolsearchd.index.document import IndexDocument

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "hermes_rankings.json").read_text("utf-8"))
TOOLS = [
    IndexDocument(
        key=(key := f"mcp__{tool['server']}__{tool['name']}"),
        name=tool["name"],
        server=tool["server"],
        exposed=key,
        description=tool["description"],
        parameters=tuple((name, "") for name in tool["parameters"]),
    )
    for tool in RECORDED["tools"]
]


@pytest.mark.parametrize("ranker", ["hermes", "hermes-v1"])
def test_names_and_scores_are_those_recorded_to_the_last_bit(ranker: str) -> None:
    index = compile_index(make_analyzer(ranker), TOOLS)
    for asked in RECORDED["queries"]:
        servers = asked["servers"]
        mask = BitMap(doc for doc, tool in enumerate(TOOLS) if not servers or tool.server in servers)
        searcher = RANKINGS[ranker].over(index, mask, order=range(len(TOOLS)))
        group = searcher.search(asked["query"], asked["limit"])
        told = [[f"{TOOLS[hit.doc].server}/{TOOLS[hit.doc].name}", hit.score.hex()] for hit in group.matches]
        assert told == asked[ranker], asked["query"]
        assert group.near == []


def test_what_is_recorded_tells_the_rankers_apart_and_has_each_kind_of_answer() -> None:
    queries = RECORDED["queries"]
    assert len({asked["query"] for asked in queries}) == 60
    assert len(TOOLS) == 80
    assert sum(asked["hermes"] != asked["hermes-v1"] for asked in queries) > 60
    scores = {
        ranker: [score for asked in queries for _, score in asked[ranker]]
        for ranker in RANKINGS
        if ranker in queries[0]
    }
    assert "inf" in scores["hermes"]  # named exactly
    assert (0.1).hex() in scores["hermes-v1"]  # the name holds the query
    assert [] in [asked["hermes"] for asked in queries]
