"""Real servers' tools and real queries: the figures hold, and every miss has a cause that can be removed."""

from __future__ import annotations

import json
import lzma
import math
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolsearchd.catalog.compile import compile_snapshot, document_of
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.evaluate import EvalQuery, Judged, evaluate, figures
from toolsearchd.index.explain import explain, verdict
from toolsearchd.index.ranker import DefaultSearcher
from toolsearchd.limits import Limits

DATA = Path(__file__).parents[1] / "data" / "livemcp"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lzma.decompress((DATA / name).read_bytes()).decode().splitlines()]


@cache
def sources() -> tuple[Source, ...]:
    servers: dict[str, list[Any]] = {}
    for tool in lines("catalog.jsonl.xz"):
        wire = {"name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"]}
        servers.setdefault(tool["server"], []).append(decode_definition(msgspec.json.encode(wire), Limits()))
    return tuple(Source(name=name, definitions=tuple(found)) for name, found in servers.items())


@cache
def snapshot() -> Snapshot:
    return compile_snapshot(Snapshot.empty(), sources(), {"default": make_analyzer("default")})


@cache
def judged() -> list[Judged]:
    searcher = snapshot().searcher(RANKINGS["default"], snapshot().live)

    def name(doc: int) -> str:
        tool = snapshot().tools[doc]
        assert tool is not None
        return f"{tool.server}/{tool.name}"

    def search(query: str, limit: int) -> tuple[list[str], list[str]]:
        group = searcher.search(query, limit)
        return [name(hit.doc) for hit in group.matches], [name(hit.doc) for hit in group.near]

    queries = [msgspec.convert(line, EvalQuery) for line in lines("queries.jsonl.xz")]
    return evaluate(queries, search, lambda: 0.0)


def of_kind(kind: str) -> dict[str, Any]:
    return figures([one for one in judged() if one.query.kind == kind])


@pytest.mark.parametrize(
    ("kind", "hit"), [("agent", 0.72), ("keyword", 0.59), ("paraphrase", 0.70), ("task", 0.57)]
)
def test_right_tools_are_on_the_page(kind: str, hit: float) -> None:
    assert of_kind(kind)["hit@5"] >= hit


def test_absent_capabilities_get_few_answers() -> None:
    negatives = of_kind("negative")
    assert negatives["false_match"] <= 0.05
    assert negatives["false_any"] <= 0.36


def documents_with(doc: int, words: tuple[str, ...]) -> list[IndexDocument]:
    """All documents by doc id, one of them with more words."""
    found = [
        document_of(source, definition, None) for source in sources() for definition in source.definitions
    ]
    found[doc] = msgspec.structs.replace(found[doc], aliases=words)
    return found


def test_every_miss_has_a_cause_and_without_it_the_tool_is_offered() -> None:
    from toolsearchd.index.builder import Compile

    index = snapshot().indexes["default"]
    searcher = snapshot().searcher(RANKINGS["default"], snapshot().live)
    assert isinstance(searcher, DefaultSearcher)
    misses = [one for one in judged() if one.query.relevant and one.figures["hit@5"] == 0.0]
    assert len(misses) > 100
    for one in misses[:: max(1, len(misses) // 100)][:100]:
        server, _, tool = one.query.relevant[0].partition("/")
        doc = snapshot().resolve(f"{server}/{tool}", snapshot().live)
        assert doc is not None
        reason = verdict(searcher, one.query.query, doc, 5)
        assert reason.cause in ("unlikely", "absent_product", "no_shared_word", "outranked")
        words = reason.words or tuple(word for word in searcher.reader.read(one.query.query).words)
        mended = documents_with(doc, words * 4 if reason.cause == "outranked" else words)[doc]
        new = len(index.lengths)
        work = Compile(index, remove=[doc], add=[(new, make_analyzer("default").analyse(mended))])
        while work.step():
            pass
        order = [*(int(at) for at in snapshot().name_order if at != doc), new]

        after = RANKINGS["default"].over(work.index, work.index.live, order=order)
        group = after.search(one.query.query, 5)
        assert new in [hit.doc for hit in (*group.matches, *group.near)], (one.query.query, reason)


def test_an_explanation_adds_up() -> None:
    searcher = snapshot().searcher(RANKINGS["default"], snapshot().live)
    assert isinstance(searcher, DefaultSearcher)
    for one in judged()[::9]:
        told = explain(searcher, one.query.query, 5)
        group = searcher.search(one.query.query, 5)
        assert told["matches"] == [hit.doc for hit in group.matches]
        assert told["unknown"] == group.unknown
        for candidate in told["candidates"]:
            parts = sum(word["score"] for word in candidate["words"])
            gain = 1 + searcher.tuning.name_coverage
            assert parts * 0.999 <= candidate["score"] <= parts * gain * 1.001
            assert all(word["fields"] for word in candidate["words"])


def test_p_is_computed_by_hand_from_what_an_explanation_prints() -> None:
    searcher = snapshot().searcher(RANKINGS["default"], snapshot().live)
    assert isinstance(searcher, DefaultSearcher)
    seen = 0
    for one in judged()[::9]:
        told = json.loads(msgspec.json.encode(explain(searcher, one.query.query, 5)))
        stage = told["second_stage"]
        group = searcher.search(one.query.query, 5)
        hits = {hit.doc: hit for hit in (*group.matches, *group.near)}
        for candidate in told["candidates"]:
            if "p" not in candidate:
                continue
            seen += 1
            features = candidate["features"]
            total = sum(weight * features[name] for name, weight in stage["rank"].items())
            assert total == pytest.approx(candidate["total"])
            odds = stage["bias"] + sum(weight * features[name] for name, weight in stage["admit"].items())
            p = 1 / (1 + math.exp(-odds))
            assert p == pytest.approx(candidate["p"])
            hit = hits.get(candidate["doc"])
            if hit is not None and hit.score < math.inf:
                assert (hit.p, hit in group.matches) == (pytest.approx(p), p >= stage["match"])
    assert seen > 150
