"""`eval` on a running daemon gives the figures of `eval --catalog`, whatever servers and tools are called."""

import json
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.bench.evaluate_adapter import factory
from tests.bench.stand_ins import FIGURES, differences, stand_ins, wait_ready
from tests.daemon import BIN, DaemonProcess
from toolsearchd.index.evaluate import EvalQuery, evaluate, figures

DATA = Path(__file__).parents[1] / "data" / "stand_ins"
CATALOG, QUERIES = DATA / "catalog.jsonl", DATA / "queries.jsonl"
DIALECTS = ("hermes", "hermes-v1", "deepagents", "openclaw")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = stand_ins(CATALOG)
    profiles = {name: {"match": {"client": f"only-{name}"}, "dialect": name} for name in DIALECTS}
    root = tmp_path_factory.mktemp("stand_ins")
    with DaemonProcess(root, servers=servers, config={"profiles": profiles}) as daemon:
        wait_ready(daemon, set(servers))
        yield daemon


def report_of(daemon, *more):
    status, report = daemon.ctl("eval", QUERIES, *more)
    assert status == 0, report
    return report


def said(daemon, *args):
    command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, *args]
    return subprocess.run(command, env=daemon.env, capture_output=True, text=True, timeout=60)


def test_what_is_measured_through_the_daemon_is_what_the_file_promises(daemon):
    through, alone = report_of(daemon), report_of(daemon, "--catalog", CATALOG)
    assert differences(through, alone) == {}
    assert [miss["id"] for miss in through["misses"]] == [miss["id"] for miss in alone["misses"]]
    assert through["queries"] == 43
    assert through["kinds"]["exact"]["hit@1"] == 1.0
    assert through["kinds"]["keyword"]["hit@5"] > 0.8


@pytest.mark.parametrize("dialect", ["hermes", "hermes-v1"])
def test_a_dialect_is_measured_under_its_own_names(daemon, dialect):
    kinds = report_of(daemon, "--profile", dialect)["kinds"]
    tools = [json.loads(line) for line in CATALOG.read_text("utf-8").splitlines()]
    # These two have one name there, so by the reference's rule neither is a tool.
    tools = [tool for tool in tools if tool["name"] not in ("查庫存", "訂座位")]
    asked = [msgspec.json.decode(line, type=EvalQuery) for line in QUERIES.read_bytes().splitlines()]
    judged = evaluate(asked, factory(tools, dialect), lambda: 0.0)
    for kind in ("keyword", "paraphrase", "negative"):
        alone = figures([one for one in judged if one.query.kind == kind])
        assert {figure: kinds[kind][figure] for figure in FIGURES} == {
            figure: alone[figure] for figure in FIGURES
        }
    assert kinds["keyword"]["hit@5"] > 0.5
    assert kinds["agent"]["empty"] > 0  # a blank query


def test_openclaw_s_ids_are_read_as_what_they_stand_for(daemon):
    kinds = report_of(daemon, "--profile", "openclaw")["kinds"]
    tools = [json.loads(line) for line in CATALOG.read_text("utf-8").splitlines()]
    asked = [msgspec.json.decode(line, type=EvalQuery) for line in QUERIES.read_bytes().splitlines()]
    judged = evaluate(asked, factory(tools, "openclaw"), lambda: 0.0)
    for kind in ("keyword", "paraphrase", "negative"):
        alone = figures([one for one in judged if one.query.kind == kind])
        assert {figure: kinds[kind][figure] for figure in FIGURES} == {
            figure: alone[figure] for figure in FIGURES
        }
    assert kinds["keyword"]["hit@5"] > 0.5


def test_a_dialect_that_can_not_be_measured_says_so(daemon, tmp_path):
    status, reply = daemon.ctl("eval", QUERIES, "--profile", "deepagents")
    assert status == 1
    assert "dialect deepagents answers in prose" in reply["error"]["message"]
    long = tmp_path / "long.jsonl"
    long.write_text(json.dumps({"id": "long", "query": "kiln " * 100, "relevant": []}))
    status, reply = daemon.ctl("eval", long, "--profile", "deepagents")
    assert status == 1
    assert "dialect deepagents refuses 'kiln" in reply["error"]["message"]


def test_search_shows_the_reply_of_a_dialect_with_its_own_shape(daemon):
    for dialect, field in (("hermes-v1", "matches"), ("deepagents", "text"), ("openclaw", "value")):
        assert field in daemon.ctl("search", "kiln", "--dialect", dialect)[1]
        done = said(daemon, "search", "kiln", "--dialect", dialect)
        assert done.returncode == 0, done.stderr
        assert "start_kiln" in done.stdout
