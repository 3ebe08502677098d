"""The figures of an evaluation, by hand."""

from __future__ import annotations

import itertools
import math

import pytest

from toolsearchd.index.calibration import calibration, compared, intervals
from toolsearchd.index.evaluate import EvalQuery, evaluate, figures, judge, report

RIGHT = EvalQuery(id="q", query="x", relevant=("s/a", "s/b"), kind="keyword")
NOTHING = EvalQuery(id="n", query="y", kind="negative")


def test_one_answer() -> None:
    judged = judge(RIGHT, ["s/c"], ["s/a", "s/d", "s/b"], 5.0)
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    assert judged.figures == {
        "hit@1": 0.0,
        "hit@5": 1.0,
        "hit@10": 1.0,
        "hit@5_matches": 0.0,
        "recall@5": 1.0,
        "mrr@10": 0.5,
        "ndcg@10": pytest.approx(gain / (1 + 1 / math.log2(3))),
        "empty": 0.0,
    }
    assert not judged.is_miss


def test_matches_come_before_near_and_the_limit_cuts() -> None:
    judged = judge(RIGHT, [f"s/{n}" for n in range(9)], ["s/x", "s/a"], 1.0)
    assert judged.got[-1] == "s/x"
    assert judged.figures["hit@10"] == 0.0
    assert judged.is_miss


def test_a_query_for_nothing() -> None:
    assert judge(NOTHING, [], ["s/a"], 1.0).figures == {"false_match": 0.0, "false_any": 1.0}
    assert judge(NOTHING, [], ["s/a"], 1.0).is_miss
    assert not judge(NOTHING, [], [], 1.0).is_miss


def test_figures_without_queries_are_null() -> None:
    empty = figures([])
    assert empty["queries"] == 0
    assert {value for name, value in empty.items() if name != "queries"} == {None}
    assert figures([judge(NOTHING, [], [], 1.0)])["hit@5"] is None
    assert figures([judge(RIGHT, ["s/a"], [], 1.0)])["false_match"] is None


def test_a_report_has_kinds_and_misses() -> None:
    clock = itertools.count(0.0, 10.0)
    asked: list[int] = []

    def search(query: str, limit: int) -> tuple[list[str], list[str]]:
        asked.append(limit)
        return (["s/a"], []) if query == "x" else ([], ["s/z"])

    judged = evaluate([RIGHT, NOTHING], search, lambda: next(clock))
    made = report(judged, lambda one: f"because of {one.query.id}")
    assert asked == [10, 5]
    assert (made["queries"], made["hit@1"], made["false_any"], made["p50_us"]) == (2, 1.0, 1.0, 10.0)
    assert made["misses"] == [{"id": "n", "query": "y", "got": ["s/z"], "why": "because of n"}]
    assert made["kinds"]["keyword"]["hit@1"] == 1.0
    assert made["kinds"]["negative"]["hit@1"] is None


def test_what_p_is_worth() -> None:
    judged = [
        judge(RIGHT, ["s/a"], ["s/c"], 1.0, {"s/a": 0.95, "s/c": 0.05}),
        judge(NOTHING, [], ["s/z"], 1.0, {"s/z": 0.05}),
        judge(NOTHING, [], [], 1.0),
    ]
    told = calibration(judged)
    assert told is not None
    assert told["brier"] == pytest.approx((0.05**2 + 0.05**2 + 0.05**2) / 3)
    assert [(one["from"], one["tools"], one["right"]) for one in told["bins"]] == [
        (0.0, 2, 0.0),
        (0.9, 1, 1.0),
    ]
    assert calibration([judge(RIGHT, ["s/a"], [], 1.0)]) is None


def test_an_interval_holds_the_mean_and_narrows_with_more_queries() -> None:
    def of(times: int) -> tuple[float, float]:
        hit, miss = judge(RIGHT, ["s/a"], [], 1.0), judge(RIGHT, ["s/c"], [], 1.0)
        return intervals([hit, hit, hit, miss] * times)["hit@5"]

    few, many = of(3), of(60)
    assert few[0] <= 0.75 <= few[1]
    assert many[1] - many[0] < few[1] - few[0]
    assert of(3) == few
    assert "hit@5" not in intervals([judge(NOTHING, [], [], 1.0)])


def test_two_runs_are_compared_query_by_query() -> None:
    now = [judge(RIGHT, ["s/a"], [], 1.0), judge(NOTHING, [], ["s/z"], 1.0)]
    before = {"q": {"hit@5": 0.0}, "n": {"false_any": 1.0}, "other": {"hit@5": 1.0}}
    rows = {row["figure"]: row for row in compared(now, before)}
    assert set(rows) == {"hit@5", "false_any"}
    assert (rows["hit@5"]["difference"], rows["hit@5"]["up"], rows["hit@5"]["down"]) == (1.0, 1, 0)
    assert rows["false_any"]["difference"] == 0.0
