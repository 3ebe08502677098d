"""The reference's search cases against its two rankers: ranks exactly, scores to 1e-6, diagnostics too."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap

from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.builder import compile_index
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.searcher import Group

CASES = [
    case
    for line in (Path(__file__).parents[1] / "data" / "search_cases.jsonl").read_text("utf-8").splitlines()
    if (case := json.loads(line))["area"] in ("search", "search_v1_contrast", "scoping")
]


def document(tool: dict[str, Any]) -> IndexDocument:
    properties = (tool.get("parameters") or {}).get("properties") or {}
    return IndexDocument(
        key=tool["name"],
        name=tool["tool"],
        server=tool["toolset"].removeprefix("mcp-"),
        exposed=tool["name"],
        description=tool["description"],
        parameters=tuple((name, "") for name in properties),
    )


def answer(case: dict[str, Any], ranker: str) -> tuple[Group, list[str]]:
    tools = case["given"]["tools"]
    index = compile_index(make_analyzer(ranker), map(document, tools))
    granted = case["given"].get("session_tools")
    mask = BitMap(doc for doc, tool in enumerate(tools) if granted is None or tool["name"] in granted)
    searcher = RANKINGS[ranker].over(index, mask, order=range(len(tools)))
    group = searcher.search(case["when"]["queries"][0], case["when"]["limit"])
    return group, [tools[hit.doc]["name"] for hit in group.matches]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_hermes(case: dict[str, Any]) -> None:
    group, names = answer(case, "hermes")
    expect = case["expect"]
    assert names == expect["matches"]
    assert group.near == []
    for name in (
        "query_tokens",
        "gate_token",
        "gate_document_frequency",
        "answerable_terms",
        "required_terms",
    ):
        if name in expect:
            assert group.diagnostics[name] == expect[name], name
    if "scores" in expect:
        assert len(expect["scores"]) == len(group.matches)
        for hit, (_, score) in zip(group.matches, expect["scores"], strict=True):
            assert hit.score == (math.inf if score is None else pytest.approx(score, abs=1e-6))


V1 = [case for case in CASES if "v1_matches" in case["expect"]]


@pytest.mark.parametrize("case", V1, ids=[case["id"] for case in V1])
def test_hermes_v1(case: dict[str, Any]) -> None:
    assert answer(case, "hermes-v1")[1] == case["expect"]["v1_matches"]


def test_the_cases_are_there() -> None:
    assert len(CASES) == 40
    assert len(V1) == 3
