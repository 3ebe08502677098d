"""The reference's cases for lost connections and for the breaker, on a real server and the real breaker."""

import json
from pathlib import Path

import pytest

from tests.actors.upstream_world import World, misbehaving
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.backoff import Breaker
from toolsearchd.upstream.calls import _REPLAY_WAIT_S

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "run_cases.jsonl").read_text("utf-8").splitlines()
]
LOST = ("transport_dies_mid_call", "transport_session_expired")


def of(*ops):
    return [case for case in CASES if case["when"]["op"] in ops]


@pytest.mark.parametrize("case", of(*LOST), ids=lambda case: case["id"])
async def test_a_lost_connection(case, nursery, tmp_path):
    calls = tmp_path / "calls"
    name = "dies_at_the_first_call"
    world = await World(misbehaving(name, calls)).start(nursery)
    await world.reach(name, "ready")
    flags = []
    try:
        await world.call(name, replays=case["when"]["tool_read_only"])
    except ToolsearchdError as error:
        flags = [flag for flag in ("outcome_uncertain",) if error.fields.get(flag)]
    replays = len(calls.read_text().split()) - 1
    found = {
        "replayed": replays > 0,
        "error_flags": flags,
        "replays_max": replays,
        "reconnect_wait_s": _REPLAY_WAIT_S,
    }
    assert {key: found[key] for key in case["expect"]} == case["expect"]


@pytest.mark.parametrize("case", of("circuit_breaker"), ids=lambda case: case["id"])
def test_the_breaker(case):
    """`call_at_10s_ok`: seconds after the last failure before it, and how it ends; nothing said: well."""
    limits, now, outcomes = Limits(), 0.0, []
    breaker = Breaker(limits)
    for step in case["when"]["sequence"]:
        name, _, rest = step.partition("_at_")
        now = float(rest.partition("s")[0]) if rest else now
        ok = "fail" not in name
        if not breaker.admits(now):
            outcomes.append("refused_without_sending")
            continue
        breaker.record(ok=ok, now=now)
        outcomes.append("sent_ok" if ok else "error")
    found = {
        "outcomes": outcomes,
        "threshold": limits.breaker_failures,
        "cooldown_s": limits.breaker_open_s,
    }
    assert {key: found[key] for key in case["expect"]} == case["expect"]


def test_the_cases_are_here():
    assert [len(of(*LOST)), len(of("circuit_breaker"))] == [2, 1]
