"""What a hook is for, and what its answer means."""

import json

import pytest

from toolsearchd.config.settings import Hook, HookMatch
from toolsearchd.dispatch.hooks import HookFault, is_meant, read_answer

NAMES = ("push", "git/push", "mcp__git__push")


@pytest.mark.parametrize(
    ("match", "meant"),
    [
        (None, True),
        ({}, True),
        ({"server": "g*", "tool": "pu*"}, True),
        ({"tool": "git/push"}, True),
        ({"tool": "pull"}, False),
        ({"profile": "other"}, False),
        ({"profile": "own"}, True),
        ({"profile": "default"}, True),
        ({"arguments": {"branch": "ma*"}}, True),
        ({"arguments": {"branch": "dev"}}, False),
    ],
)
def test_which_calls_it_is_for(match, meant):
    hook = Hook(command="x", match=None if match is None else HookMatch(**match))
    found = is_meant(
        hook, profiles=("own", "default"), server="git", names=NAMES, arguments={"branch": "main"}
    )
    assert found is meant


def answer(kind="pre_call", status=0, says="", stderr=""):
    said = says if isinstance(says, str) else json.dumps(says)
    return read_answer(kind, status, said.encode(), stderr.encode())


def test_answers():
    assert answer().decision == "allow"
    assert answer(says="\n").decision == "allow"
    assert answer(says={"arguments": {"a": 1}}).arguments == {"a": 1}
    assert answer(says={"decision": "block", "reason": "no"}).reason == "no"
    blocked = answer(status=2, says="noise", stderr="because\n")
    assert (blocked.decision, blocked.reason) == ("block", "because")
    told = answer("post_call", says={"response": {"content": []}})
    assert told.response == {"content": []}


@pytest.mark.parametrize(
    "given",
    [
        {"status": 1, "stderr": "oh"},
        {"status": -9},
        {"says": "ok"},
        {"says": "[" * 5000},
        {"says": {"decision": "perhaps"}},
        {"says": {"args": {}}},
        {"says": {"arguments": [1]}},
        {"says": {"response": {"content": []}}},
        {"kind": "post_call", "says": {"arguments": {}}},
        {"kind": "post_call", "says": {"response": {"text": "x"}}},
        {"kind": "post_call", "says": {"response": {"content": ["x"]}}},
    ],
)
def test_what_is_no_answer_is_a_fault(given):
    with pytest.raises(HookFault):
        answer(**given)
