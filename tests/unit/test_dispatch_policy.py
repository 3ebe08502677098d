"""Who decides whether a call may run, and in which order."""

import pytest

from toolsearchd.config.settings import Approval, ApprovalRule
from toolsearchd.dispatch.policy import decide


def then(approval=None, **facts):
    plain = {
        "profile": "default",
        "server": "git",
        "tool": "push",
        "read_only": None,
        "destructive": None,
        "trust": "full",
        "server_approval": "",
        "arguments": {},
        "public_name": "mcp__git__push",
    }
    return decide(approval or Approval(), **plain | facts).then


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "allow"),
        ({"destructive": True}, "ask"),
        ({"destructive": True, "read_only": True}, "ask"),
        ({"trust": "untrusted"}, "ask"),
        ({"trust": "untrusted", "read_only": False}, "ask"),
        ({"trust": "untrusted", "read_only": True}, "allow"),
        ({"server_approval": "deny"}, "deny"),
        ({"server_approval": "allow", "destructive": True}, "allow"),
    ],
)
def test_without_rules(facts, expected):
    assert then(**facts) == expected


@pytest.mark.parametrize(
    ("rule", "facts", "matches"),
    [
        ({"tool": "pu*"}, {}, True),
        ({"tool": "git/push"}, {}, True),
        ({"tool": "mcp__git__push"}, {}, True),
        ({"tool": "pull"}, {}, False),
        ({"server": "g*", "profile": "other"}, {}, False),
        ({"annotation": "destructiveHint"}, {"destructive": True}, True),
        ({"annotation": "destructiveHint"}, {}, False),
        ({"annotation": "readOnlyHint=false"}, {"read_only": False}, True),
        ({"arguments": {"branch": "main"}}, {"arguments": {"branch": "main"}}, True),
        ({"arguments": {"a.b": ["x*", 5]}}, {"arguments": {"a": {"b": 5}}}, True),
        ({"arguments": {"a.b": "x"}}, {"arguments": {"a": "x"}}, False),
        ({"arguments": {"force": True}}, {"arguments": {"force": True}}, True),
        ({"arguments": {"force": True}}, {"arguments": {"force": 1}}, False),
        ({"arguments": {"force": True}}, {"arguments": {}}, False),
    ],
)
def test_rules(rule, facts, matches):
    approval = Approval(rules=(ApprovalRule(then="deny", **rule),), default="allow")
    assert then(approval, **facts) == ("deny" if matches else "allow")


def test_the_first_match_holds():
    rules = (ApprovalRule(then="allow", tool="push"), ApprovalRule(then="deny"))
    assert then(Approval(rules=rules), server_approval="ask") == "allow"
    assert then(Approval(rules=rules), tool="other", server_approval="ask") == "deny"
