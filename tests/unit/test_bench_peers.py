"""The peers' bench: what it measures is what it says, and who can't be measured is a row that says why."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import msgspec
import pytest

from tests.bench import retrieval_peers
from tests.bench.evaluate_adapter import hermes
from tests.bench.peers.catalogs import DataSet, data_sets, sized, written
from tests.bench.peers.measure import quality, speed
from tests.bench.peers.process import ADAPTERS, PeerFailedError, PeerProcess
from tests.bench.peers.registry import PEERS, Peer
from tests.bench.peers.tables import quality_table, speed_table
from tests.bench.peers.venvs import NotInstalledError, python_for
from toolsearchd.index.evaluate import EvalQuery

HERE = Path(sys.executable)
TOOLS = [
    {"server": "mail", "name": "send_mail", "description": "Send a mail.", "input_schema": None},
    {
        "server": "mail",
        "name": "find_contact",
        "description": "Find a contact by its name.",
        "input_schema": {"type": "object", "properties": {"surname": {"type": "string"}}},
    },
    {"server": "disk", "name": "free_space", "description": "How full the disk is.", "input_schema": {}},
]
QUERIES = [
    EvalQuery("a", "send mail", ("mail/send_mail",), "keyword"),
    EvalQuery("b", "surname", ("mail/find_contact",), "keyword"),
    EvalQuery("c", "zebra", ("disk/free_space",), "paraphrase"),
    EvalQuery("d", "giraffe", (), "negative"),
]
LOCAL = tuple(peer for peer in PEERS if not peer.requirements)


@pytest.mark.parametrize("peer", LOCAL, ids=lambda peer: peer.name)
def test_a_peer_answers_over_its_wire_with_times_of_its_own(peer, tmp_path):
    file = written(TOOLS, tmp_path / "tools.jsonl")
    with PeerProcess(peer, HERE, tmp_path / "log") as process:
        assert process.load(file, 60)["build_s"] > 0
        answer = process.search([("send mail", 5), ("surname", 5), ("zebra", 5), ("", 5)], 60)
        assert [(matches + near)[:1] for matches, near in answer["found"]] == [
            ["mail/send_mail"],
            ["mail/find_contact"],
            [],
            [],
        ]
        assert len(answer["us"]) == 4
        assert all(us > 0 for us in answer["us"])
        assert len(process.search([("send mail", 5), ("surname", 5)], 0)["us"]) == 1


def test_the_reference_written_anew_ranks_as_our_hermes_ranker_does(tmp_path):
    (one,) = data_sets(None)
    asked = random.Random(4).sample([query.query for query in one.queries], 20)
    queries = [*asked, *(" ".join(query.split()[:3]) for query in asked), "mcp__git__git_log"]
    ours = hermes(one.tools)
    with PeerProcess(Peer("reference", "reference"), HERE, tmp_path / "log") as process:
        process.load(written(one.tools, tmp_path / "tools.jsonl"), 60)
        found = process.search([(query, 10) for query in queries], 120)["found"]
    assert len(found) == len(queries)
    for query, (matches, _) in zip(queries, found, strict=True):
        assert matches == ours(query, 10)[0], query
    assert sum(bool(matches) for matches, _ in found) > 10


def test_quality_is_the_mean_over_set_and_kind(tmp_path):
    ready = {"sqlite-fts5": (Peer("sqlite-fts5", "sqlite_fts5"), HERE)}
    rows, failed = quality(ready, [DataSet("own", TOOLS, QUERIES)], tmp_path)
    assert not failed
    row = rows["sqlite-fts5"]
    assert (row["hit@1"], row["keyword"], row["paraphrase"], row["empty"]) == (0.5, 1.0, 0.0, 0.5)
    assert (row["false_any"], row["agent"], row["sets"]) == (0.0, None, {"own": 0.5})
    assert "| sqlite-fts5 | 0.500 |" in quality_table(rows, {})


def test_who_can_not_be_measured_is_a_row_with_the_reason(tmp_path):
    with pytest.raises(NotInstalledError, match=r"[Ii]nvalid requirement"):
        python_for(Peer("odd", "sqlite_fts5", requirements=("no=such=thing",)), tmp_path)
    ready = {
        "default": (Peer("default", "ours", ("default",)), HERE),
        "small": (Peer("small", "sqlite_fts5", most_tools=2, because="it is small"), HERE),
        "dead": (Peer("dead", "ours", ("no-such-ranker",)), HERE),
    }
    rows = list(speed(ready, TOOLS, ["send mail", "surname"], tmp_path))
    table = speed_table(rows, {"odd": "not installed: no such thing"})
    assert "| small | not asked above 2 tools: it is small |" in table
    assert "| dead | KeyError: 'no-such-ranker' |" in table
    assert "| odd | not installed: no such thing |" in table
    assert "| default | " in table
    _, failed = quality(ready, [DataSet("own", TOOLS, QUERIES)], tmp_path)
    assert set(failed) == {"small", "dead"}


def test_a_peer_that_the_retrieval_bench_can_not_have_is_told_with_the_reason(tmp_path, monkeypatch):
    for folder in ("catalogs", "queries"):
        (tmp_path / folder).mkdir()
    written(TOOLS, tmp_path / "catalogs" / "own.jsonl")
    lines = b"\n".join(msgspec.json.encode(query) for query in QUERIES)
    (tmp_path / "queries" / "own.jsonl").write_bytes(lines)
    here = Peer("bm25s", "sqlite_fts5")
    monkeypatch.setattr(retrieval_peers, "python_for", lambda peer: python_for(peer, tmp_path))
    monkeypatch.setattr(retrieval_peers, "PEERS", (here, Peer("tantivy", "odd", requirements=("no=such",))))
    told = retrieval_peers.peers(tmp_path)
    assert told["bm25s"] == {"hit@1": 0.5, "hit@5 all": 0.5, "paraphrase": 0.0}
    assert told["tantivy"].startswith("not installed: ")


def test_a_peer_that_takes_too_long_is_ended(tmp_path):
    with PeerProcess(Peer("slow", "sqlite_fts5"), HERE, tmp_path / "log") as process:
        with pytest.raises(PeerFailedError, match="no answer within 0 s"):
            process.ask({"op": "load", "tools": "/dev/stdin"}, 0.3)


def test_sized_catalogs_are_the_same_each_time_and_have_distinct_names():
    (one,) = data_sets(None)
    made = sized(one.tools, 2_000)
    assert made == sized(one.tools, 2_000)
    assert len({(tool["server"], tool["name"]) for tool in made}) == 2_000
    assert made[: len(one.tools)] == one.tools


def test_every_peer_has_its_adapter():
    assert {f"{peer.adapter}_adapter.py" for peer in PEERS} == {
        path.name for path in ADAPTERS.glob("*_adapter.py")
    }
