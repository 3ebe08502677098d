"""Which calls run beside each other, and the reference's cases for that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolsearchd.dispatch.parallel import BARRIER, READ, footprint, may_join

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "run_cases.jsonl").read_text("utf-8").splitlines()
]
PLANS = [case for case in CASES if case["when"]["op"] == "plan"]


def of_case(call, servers):
    """A call of a turn, as the cases name it."""
    kind, _, name = call.partition(":")
    if kind in ("search", "describe", "conn"):  # a connector batch is one call of the turn
        return READ
    if kind == "call":
        server = servers.get(name.split("__")[1], {}) if name.startswith("mcp__") else {}
        parallel = server.get("supports_parallel_tool_calls", False)
        return footprint({}, read_only=None, trusted=True, server_is_parallel=parallel)
    return BARRIER


def plan(calls):
    """(mode, places) of what runs together, where each call begins as soon as `may_join` lets it; one that
    runs alone is sequential, and neighbouring ones are one segment: as the reference counts them."""
    runs = []
    for at, call in enumerate(calls):
        if runs and may_join(call, (calls[other] for other in runs[-1])):
            runs[-1].append(at)
        else:
            runs.append([at])
    segments = []
    for run in runs:
        if len(run) > 1:
            segments.append(("parallel", run))
        elif segments and segments[-1][0] == "sequential":
            segments[-1][1].extend(run)
        else:
            segments.append(("sequential", run))
    return segments


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case["id"])
def test_reference_case(case):
    servers = case["given"]["config"]["mcp_servers"]
    segments = plan([of_case(call, servers) for call in case["when"]["calls"]])
    found = [{"mode": mode, "calls": places} for mode, places in segments]
    assert found == case["expect"]["segments"]


def test_the_cases_are_here():
    assert len(PLANS) == 4


def write(**arguments):
    return footprint(arguments, read_only=False, trusted=True, server_is_parallel=True)


def read(**arguments):
    return footprint(arguments, read_only=True, trusted=True, server_is_parallel=False)


def modes(*calls):
    return [(mode[0], *places) for mode, places in plan(calls)]


def test_who_may_run_beside_others():
    assert footprint({}, read_only=True, trusted=True, server_is_parallel=False).shared
    assert footprint({}, read_only=None, trusted=False, server_is_parallel=True).shared
    assert not footprint({}, read_only=True, trusted=False, server_is_parallel=False).shared
    assert not footprint({}, read_only=None, trusted=True, server_is_parallel=False).shared


def test_barriers_run_alone_and_neighbours_become_one_segment():
    assert modes(READ, BARRIER, BARRIER, READ, READ) == [("s", 0, 1, 2), ("p", 3, 4)]
    assert modes(READ, READ, BARRIER, READ) == [("p", 0, 1), ("s", 2, 3)]
    assert modes() == []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"path": "/a/b"}, {"path": "/a/b"}),
        ({"path": "/a"}, {"path": "/a/b/c"}),
        ({"path": "/a/x/../b/"}, {"file_path": "/a//b/./c"}),
        ({"path": "file:///a/b"}, {"uri": "/a/b"}),
        ({"path": "b.txt"}, {"path": "/home/me/b.txt"}),
        ({"path": "a\\b"}, {"path": "a/b"}),
        ({"path": ""}, {"path": "/a"}),
        ({"source": "/a", "destination": "/b"}, {"paths": ["/c", "/b/d"]}),
        ({"paths": [f"/{n}" for n in range(100)]}, {"path": "/other"}),
    ],
)
def test_paths_that_overlap_keep_their_order(one, two):
    assert not may_join(write(**two), [write(**one)])
    assert not may_join(write(**one), [read(**two)])
    assert not may_join(read(**one), [READ, write(**two)])
    assert may_join(read(**one), [read(**two)])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"path": "/a/b"}, {"path": "/a/bc"}),
        ({"path": "a/b"}, {"path": "a/c"}),
        ({"path": "/a"}, {"text": "/a"}),
        ({"path": "/a"}, {}),
        ({"path": 1}, {"path": None}),
    ],
)
def test_paths_that_do_not_run_beside_each_other(one, two):
    assert may_join(write(**two), [write(**one)])


def test_a_later_call_never_overtakes_one_it_clashes_with():
    assert modes(write(path="/a"), write(path="/b"), read(path="/a"), read(path="/b")) == [
        ("p", 0, 1),
        ("p", 2, 3),
    ]
