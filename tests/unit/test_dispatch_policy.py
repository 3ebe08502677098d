"""Who decides whether a call may run, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ({"trust": "untrusted", "read_only": True}, "ask"),
        ({"trust": "untrusted", "read_only": True, "destructive": False}, "ask"),
        ({"trust": "untrusted", "server_approval": "allow"}, "allow"),
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
        ({"arguments": {"branch": "main"}}, {"arguments": {"branch": "Main"}}, False),
        ({"arguments": {"branch": "main"}}, {"arguments": {"branch": "main "}}, False),
        ({"arguments": {"branch": {"fold": "MAIN"}}}, {"arguments": {"branch": "Main"}}, True),
        ({"arguments": {"branch": {"fold": "rel-*"}}}, {"arguments": {"branch": "REL-1"}}, True),
        ({"arguments": {"city": {"fold": "straße"}}}, {"arguments": {"city": "STRASSE"}}, True),
        ({"arguments": {"name": {"fold": "admin"}}}, {"arguments": {"name": "\uff21dmin"}}, True),
        ({"arguments": {"branch": {"fold": "main"}}}, {"arguments": {"branch": "mainly"}}, False),
        ({"arguments": {"branch": {"glob": "rel-*"}}}, {"arguments": {"branch": "rel-1"}}, True),
        ({"arguments": {"branch": {"glob": "rel-*"}}}, {"arguments": {"branch": "REL-1"}}, False),
        ({"arguments": {"path": {"text": "*.py"}}}, {"arguments": {"path": "a.py"}}, False),
        ({"arguments": {"path": {"text": "*.py"}}}, {"arguments": {"path": "*.py"}}, True),
        ({"arguments": {"path": ["x", {"text": "*.py"}]}}, {"arguments": {"path": "*.py"}}, True),
        ({"arguments": {"map": {"fold": "x"}}}, {"arguments": {"map": {"fold": "x"}}}, True),
    ],
)
def test_rules(rule, facts, matches):
    approval = Approval(rules=(ApprovalRule(then="deny", **rule),), default="allow")
    assert then(approval, **facts) == ("deny" if matches else "allow")


def test_the_first_match_holds():
    rules = (ApprovalRule(then="allow", tool="push"), ApprovalRule(then="deny"))
    assert then(Approval(rules=rules), server_approval="ask") == "allow"
    assert then(Approval(rules=rules), tool="other", server_approval="ask") == "deny"


HINTS = st.sampled_from((True, False, None))
RULES = st.builds(
    ApprovalRule,
    then=st.sampled_from(("allow", "ask", "deny")),
    annotation=st.sampled_from(
        (
            *(None, "readOnlyHint", "readOnlyHint=false", "readOnlyHint=true"),
            *("destructiveHint", "destructiveHint=false", "destructiveHint=true"),
        )
    ),
    tool=st.sampled_from((None, "push", "pull")),
)
WORDS = ("allow", "ask", "deny")


@given(
    rules=st.lists(RULES, max_size=4),
    default=st.sampled_from((*WORDS, "ask-destructive")),
    server_approval=st.sampled_from(("", *WORDS)),
    read_only=HINTS,
    destructive=HINTS,
)
def test_no_hint_of_an_untrusted_server_loosens(rules, default, server_approval, read_only, destructive):
    approval = Approval(default=default, rules=tuple(rules))
    word = {"trust": "untrusted", "server_approval": server_approval}
    with_hints = then(approval, **word, read_only=read_only, destructive=destructive)
    assert WORDS.index(with_hints) >= WORDS.index(then(approval, **word))
    trusted = {"server_approval": server_approval, "read_only": read_only, "destructive": destructive}
    assert WORDS.index(with_hints) >= WORDS.index(then(approval, **trusted))


@pytest.mark.parametrize(
    ("arguments", "denied", "allowed"),
    [
        ({"a": {"b": {"c": 1}}}, True, True),
        ({"a.b.c": 1}, True, True),
        ({"a.b": {"c": 1}}, True, True),
        ({"a": {"b.c": 1}}, True, True),
        ({"a.b.c": 1, "a": {"b": {"c": 2}}}, True, False),  # a spare one hides nothing, and lets nothing pass
        ({"a.b.c": 2, "a": {"b": {"c": 1}}}, True, False),
        ({"a.b.c": 2}, False, False),
        ({"a": {"b": [{"c": 1}]}}, False, False),
        ({"": {"a.b.c": 1}}, False, False),
    ],
)
def test_names_that_hold_dots(arguments, denied, allowed):
    for word, other, met in (("deny", "allow", denied), ("allow", "deny", allowed)):
        approval = Approval(default=other, rules=(ApprovalRule(then=word, arguments={"a.b.c": 1}),))
        assert then(approval, arguments=arguments) == (word if met else other)
