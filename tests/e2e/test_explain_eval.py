"""Why a search finds what it finds, and how often, asked of a running daemon and of a file."""

import json

import pytest

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo

QUERIES = [
    {"id": "q1", "query": "echo a text", "relevant": ["steady/echo"], "kind": "keyword", "more": 1},
    {"id": "q2", "query": "frobnicate the quux", "relevant": ["steady/erase"]},
    {"id": "q3", "query": "zzqqx vvkkj", "relevant": []},
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with DaemonProcess(tmp_path_factory.mktemp("explain"), servers={"steady": zoo("steady")}) as daemon:
        daemon.wait_servers("steady")
        yield daemon


def test_explain_tells_the_numbers_and_the_one_reason(daemon):
    status, reply = daemon.ctl("explain", "echo a text", "--tool", "steady/erase")
    assert status == 0
    assert [term["word"] for term in reply["terms"]] == ["echo", "text"]
    assert reply["matches"][0] == "mcp__steady__echo"
    assert reply["candidates"][0]["tool"] == "mcp__steady__echo"
    erase = next(one for one in reply["candidates"] if one["tool"] == "mcp__steady__erase")
    assert (erase["came_by"], erase["features"].get("coverage", 0)) == (["vector"], 0)
    assert daemon.ctl("explain", "echo", "--tool", "nobody")[0] == 1


def test_eval_gives_the_same_figures_with_and_without_a_daemon(daemon, tmp_path):
    queries, catalog = tmp_path / "q.jsonl", tmp_path / "c.jsonl"
    queries.write_text("\n".join(map(json.dumps, QUERIES)))
    names = [
        f"mcp__steady__{name}" for name in ("echo", "sleep", "pid", "fail", "erase", "progress", "connect")
    ]
    described = daemon.ctl("describe", *names)[1]["tools"]
    lines = [
        {
            "server": "steady",
            "name": name.split("__")[2],
            "description": tool["description"],
            "input_schema": tool["parameters"],
        }
        for name, tool in described.items()
    ]
    catalog.write_text("\n".join(map(json.dumps, lines)))
    online = daemon.ctl("eval", queries)[1]
    offline = daemon.ctl("eval", queries, "--catalog", catalog)[1]
    for figure in ("queries", "hit@1", "hit@5", "hit@5_matches", "mrr@10", "ndcg@10", "empty", "false_any"):
        assert online[figure] == offline[figure], figure
    assert (online["queries"], online["hit@1"], online["false_any"]) == (3, 0.5, 0.0)
    assert online["kinds"]["keyword"]["hit@1"] == 1.0
    assert [miss["id"] for miss in online["misses"]] == ["q2"]
    assert "nothing is offered" in online["misses"][0]["why"]


def test_eval_says_where_a_file_is_wrong(daemon, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a", "query": "b"}\n{"id": 5}\n')
    status, reply = daemon.ctl("eval", bad)
    assert status == 1
    assert "bad.jsonl:2" in reply["error"]["message"]


@pytest.mark.parametrize(
    "words",
    [
        ("search", "\udcff"),
        ("search", "x", "--limit", "9" * 20),
        ("stop", ""),
        ("call", "x", '{"a": "\\ud800"}'),
    ],
)
def test_what_no_message_can_hold_is_an_error_and_nothing_is_no_session(daemon, words):
    status, reply = daemon.ctl(*words)
    assert (status, reply["error"]["code"]) == (
        1,
        "UNKNOWN_SESSION" if words[0] == "stop" else "BAD_ARGUMENTS",
    )


def test_eval_wants_tools_as_server_and_name(daemon, tmp_path):
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "1", "query": "echo", "relevant": ["mcp__steady__echo"]}')
    status, reply = daemon.ctl("eval", str(queries))
    assert (status, reply["error"]["code"]) == (1, "BAD_ARGUMENTS")
    assert "'mcp__steady__echo' is not of the form server/tool" in reply["error"]["message"]


def test_eval_says_which_tool_of_a_catalog_is_none(daemon, tmp_path):
    queries, catalog = tmp_path / "q.jsonl", tmp_path / "c.jsonl"
    queries.write_text(json.dumps(QUERIES[0]))
    catalog.write_text('{"server": "steady", "name": " "}\n')
    status, reply = daemon.ctl("eval", queries, "--catalog", catalog)
    assert status == 1
    assert "steady/ : its name is empty" in reply["error"]["message"]
