"""OpenClaw's tool_describe and tool_call: selectors, inputs wherever they stand, envelopes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.disclosure_catalog import source
from tests.unit.openclaw_catalog import (
    ISSUES,
    TRUSTED,
    interpreter,
    refused,
    seen,
    tool_source,
    view_of,
)
from toolsearchd.disclosure.view import View

# --- selectors ------------------------------------------------------------------------------------


def test_a_name_borne_twice_wants_an_id():
    view = seen(*ISSUES)
    error = refused(lambda: interpreter(view).describe(view, {"name": "create_issue"}, ()))
    assert error.message == "Ambiguous tool name: create_issue; use an exact tool id."
    assert (
        interpreter(view).describe(view, {"toolId": "create_event"}, ()).value["id"]
        == "mcp:calendar:create_event"
    )


def test_a_tool_is_known_by_the_name_that_it_has_where_it_is_shown_directly():
    view = seen(*ISSUES)
    found = interpreter(view).describe(view, {"id": "mcp__gitlab__create_issue"}, ())
    assert found.value["id"] == "mcp:gitlab:create_issue"


def test_the_daemon_s_own_clients_may_ask_for_several():
    view = seen(*ISSUES)
    two = interpreter(view).describe(view, {"names": ["create_event", "mcp:github:create_issue"]}, ())
    assert [tool["id"] for tool in two.value] == ["mcp:calendar:create_event", "mcp:github:create_issue"]
    assert len(two.described) == 2
    error = refused(lambda: interpreter(view).describe(view, {"names": ["create_event"] * 33}, ()))
    assert error.code == "TOO_MANY"
    error = refused(lambda: interpreter(view).describe(view, {"names": ["create_event", ""]}, ()))
    assert error.message == "id must be a non-empty string."
    error = refused(lambda: interpreter(view).describe(view, {"name": "read_file"}, ("read_file",)))
    assert "listed directly" in error.message


def test_an_unknown_tool_gets_suggestions_by_id_where_the_name_is_not_enough():
    view = seen(*ISSUES)
    error = refused(lambda: interpreter(view).describe(view, {"id": "mcp:github:create_issues"}, ()))
    assert error.code == "TOOL_NOT_FOUND"
    assert error.message.startswith(
        "Unknown tool id: mcp:github:create_issues. Did you mean: mcp:github:create_issue, "
    )
    assert "tool_search" in error.message
    assert "tool_call" in error.message
    assert len(error.fields["near"]) <= 3
    third = seen(*ISSUES, dialect="openclaw-g3")
    error = refused(lambda: interpreter(third).describe(third, {"id": "zzz"}, ()))
    assert "Did you mean" not in error.message
    assert "dispatch_action" in error.message


def test_a_tool_of_a_server_that_is_down_is_told_so():
    down = source("mail", state="parked", reason="connection refused")
    view = view_of(*tool_source(ISSUES), down)
    error = refused(lambda: interpreter(view).describe(view, {"id": "mcp:mail:send"}, ()))
    assert "connection refused" in error.message
    answer = interpreter(view).search(view, {"query": "zebra"})
    assert answer.value == []
    assert answer.fields["unavailable_sources"][0]["name"] == "mail"
    assert "mail (parked: connection refused)" in answer.text
    assert "unavailable_sources" not in interpreter(view).search(view, {"query": "issue"}).fields


@pytest.mark.parametrize("args", [{}, {"id": ""}, {"id": 7}, {"args": {"x": 1}}])
def test_no_selector(args):
    view = seen(*ISSUES)
    for run in (
        lambda: interpreter(view).describe(view, args, ()),
        lambda: interpreter(view).calls(view, args),
    ):
        assert refused(run).message == "id must be a non-empty string."


# --- calls ----------------------------------------------------------------------------------------

EVENT = "mcp:calendar:create_event"


@pytest.mark.parametrize(
    ("args", "sent"),
    [
        ({"id": EVENT, "args": {"a": 1}}, {"a": 1}),
        ({"id": EVENT, "input": {"a": 1}}, {"a": 1}),
        ({"name": "create_event", "args": {"a": 1}, "b": 2}, {"a": 1}),
        ({"id": EVENT, "args": {}, "a": 1}, {"a": 1}),
        ({"id": EVENT, "a": 1}, {"a": 1}),
        ({"id": EVENT, "args.a": 1, "args.b": 2}, {"a": 1, "b": 2}),
        ({"id": EVENT, "args": {"a": 1}, "args.b": 2}, {"a": 1, "b": 2}),
        ({"id": EVENT, "args": '{"a": 1}'}, {"a": 1}),
        ({"args": {"id": EVENT, "a": 1}}, {"a": 1}),
        ({"args": {"id": EVENT, "args": {"a": 1}}}, {"a": 1}),
        ({"b": 2, "args": {"id": EVENT}}, {"b": 2}),
        ({"id": EVENT, "args": {"id": 7, "name": "mine"}}, {"id": 7, "name": "mine"}),
        ({"id": EVENT}, {}),
        ({"id": EVENT, "toolId": "create_event", "name": "whatever"}, {}),
    ],
)
def test_a_call_s_input_is_found_wherever_it_stands(args, sent):
    view = seen(*ISSUES)
    (call,) = interpreter(view).calls(view, args).args["calls"]
    assert view.tool_named(call["name"]).name == "create_event"
    assert call["arguments"] == sent


def test_a_parameter_called_like_a_selector_is_not_lost():
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "email": {"type": "string"}}}
    view = seen({"server": "crm", "name": "create_user", "inputSchema": schema}, *ISSUES)
    flat = {"id": "mcp:crm:create_user", "name": "Ann", "email": "ann@example.com"}
    (call,) = interpreter(view).calls(view, flat).args["calls"]
    assert call["arguments"] == {"name": "Ann", "email": "ann@example.com"}
    (call,) = interpreter(view).calls(view, {"id": EVENT, "name": "Ann", "a": 1}).args["calls"]
    assert call["arguments"] == {"a": 1}, "this tool has no such parameter"


def test_selectors_that_mean_different_tools_are_refused():
    view = seen(*ISSUES)
    error = refused(lambda: interpreter(view).calls(view, {"id": EVENT, "toolId": "mcp:gitlab:create_issue"}))
    assert error.message.startswith("Ambiguous tool selectors")
    one = interpreter(view).calls(view, {"id": "mcp:gitlab:create_issue", "name": "create_issue"})
    assert view.tool_named(one.args["calls"][0]["name"]).server == "gitlab"


def told(view: View, args: dict[str, Any], slot: dict[str, Any]) -> tuple[Any, str]:
    calls = interpreter(view).calls(view, args)
    value = calls.value_of({"results": [{"index": 0, "name": "n", **slot}]})
    return value, calls.text_of(value)


def test_an_envelope_holds_the_tool_s_own_result():
    view = seen(*ISSUES)
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    value, text = told(
        view, {"id": EVENT}, {"response": {"content": [{"type": "text", "text": "done"}, image]}}
    )
    assert value["tool"] == {"id": EVENT, "name": "create_event", "source": "mcp"}
    assert value["result"]["content"][1] == image
    assert "status" not in value
    assert "AAAA" not in text
    assert json.loads(text)["result"]["content"][0] == {"type": "text", "text": "done"}


def test_a_failed_call_carries_a_status():
    view = seen(*ISSUES)
    own = {"isError": True, "content": [{"type": "text", "text": "no"}]}
    error = {"code": "TOOL_ERROR", "message": "no", "response": own}
    value, _ = told(view, {"id": EVENT}, {"error": error})
    assert (value["status"], value["result"]) == ("error", own)
    value, _ = told(view, {"id": EVENT}, {"error": {"code": "DENIED", "message": "not allowed"}})
    assert (value["status"], value["result"]["code"]) == ("error", "DENIED")


def test_a_trusted_tool_s_refused_input_says_what_was_meant():
    view = seen(*TRUSTED)
    error = {
        "code": "INVALID_ARGUMENTS",
        "message": "arguments: expected a value for 'path', received {}; mend",
    }
    value, _ = told(view, {"id": "read_file", "args": {"pth": "x", "zebra": 1}}, {"error": error})
    message = value["result"]["message"]
    assert "Did you mean path instead of pth?" in message
    assert "zebra" not in message
    assert message.endswith("Expected: { path: string; limit?: number }")
