"""`eval` on a running daemon gives the figures of `eval --catalog`, whatever servers and tools are called."""

from pathlib import Path

from tests.bench.stand_ins import differences, evaluated

DATA = Path(__file__).parents[1] / "data" / "stand_ins"


def test_what_is_measured_through_the_daemon_is_what_the_file_promises(tmp_path):
    through, alone, _ = evaluated(DATA / "catalog.jsonl", DATA / "queries.jsonl", tmp_path)
    assert differences(through, alone) == {}
    assert through["queries"] == 43
    # The same answers, tool by tool: also where nothing relevant was on the page.
    assert [miss["id"] for miss in through["misses"]] == [miss["id"] for miss in alone["misses"]]
    assert through["kinds"]["exact"]["hit@1"] == 1.0
    assert through["kinds"]["keyword"]["hit@5"] > 0.8
