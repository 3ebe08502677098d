"""What a model may send as a call, what is repaired, and what is refused in which words."""

import json

import pytest

from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.dispatch.jsontext import JsonFault, mend_brackets, read_json, read_json_leniently
from toolsearchd.dispatch.rules import RULES
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.errors import ToolsearchdError

NAME = "mcp__github__create_issue"
ENTRY = {"name": NAME, "arguments": {"title": "x"}}
ONE = [RequestedCall(name=NAME, arguments={"title": "x"})]


HERMES = DIALECTS["hermes"].rules


def parse(args, *, rules=RULES, **more):
    return rules.parse(args, **{"max_entries": 64} | more)


def refused(args, **more):
    with pytest.raises(ToolsearchdError) as caught:
        parse(args, **more)
    return caught.value


def entry_error(entry, **more):
    (request,) = parse({"calls": [entry]}, **more)
    assert request.arguments is None
    return request.error


READ = {
    "list": {"calls": [ENTRY]},
    "tuple": {"calls": (ENTRY,)},
    "one object": {"calls": ENTRY},
    "text of a list": {"calls": json.dumps([ENTRY])},
    "text of one object": {"calls": json.dumps(ENTRY)},
    "text of text": {"calls": json.dumps(json.dumps([ENTRY]))},
    "text in a fence": {"calls": f"```json\n{json.dumps([ENTRY])}\n```"},
    "text of the whole request": {"calls": json.dumps({"calls": [ENTRY]})},
    "entries as text": {"calls": [json.dumps(ENTRY)]},
    "arguments as text": {"calls": [{"name": NAME, "arguments": '{"title": "x"}'}]},
    "lone name": ENTRY,
    "lone name, flattened": {"name": NAME, "title": "x"},
    "flattened": {"calls": [{"name": NAME, "title": "x"}]},
    "flattened beside empty arguments": {"calls": [{"name": NAME, "arguments": {}, "title": "x"}]},
    "name with spaces": {"calls": [{"name": f" {NAME}\n", "arguments": {"title": "x"}}]},
    "another word for name": {"calls": [{"tool_name": NAME, "arguments": {"title": "x"}}]},
    "another word for arguments": {"calls": [{"name": NAME, "args": {"title": "x"}}]},
    "a provider's envelope": {
        "calls": [{"id": "1", "type": "function", "function": {"name": NAME, "arguments": '{"title": "x"}'}}]
    },
    "an envelope's id beside arguments": {"calls": [ENTRY | {"id": "call_1"}]},
    "nested tool_call": {"calls": [{"name": "tool_call", "arguments": {"calls": [ENTRY]}}]},
    "nested tool_call, flattened": {"calls": [{"name": "tool_call", "calls": [ENTRY]}]},
    "nested tool_call, lone name": {"calls": [{"name": "tool_call", "arguments": ENTRY}]},
    "nested tool_call, as text": {"name": "tool_call", "arguments": json.dumps({"calls": [ENTRY]})},
    "a client's own prefix": {"name": "mcp__toolsearchd__tool_call", "arguments": ENTRY},
    "missing bracket at the end": {"calls": json.dumps([ENTRY])[:-1]},
    "two missing at the end": {"calls": json.dumps([ENTRY])[:-2]},
    "one bracket too many": {"calls": json.dumps([ENTRY]) + "}"},
    "a bracket missing before the last": {"calls": json.dumps([ENTRY])[:-2] + "]"},
}


@pytest.mark.parametrize("args", READ.values(), ids=READ.keys())
def test_shapes_with_one_reading(args):
    assert parse(args) == ONE


@pytest.mark.parametrize("nothing", [{}, {"arguments": None}, {"arguments": ""}, {"arguments": " \n"}])
def test_no_arguments_are_an_empty_object(nothing):
    assert parse({"calls": [{"name": NAME} | nothing]}) == [RequestedCall(name=NAME, arguments={})]


def test_several_nested_entries_take_the_place_of_one():
    requests = parse({"calls": [{"name": "tool_call", "arguments": {"calls": [ENTRY, ENTRY]}}, ENTRY]})
    assert requests == ONE * 3


def test_a_parameter_that_is_called_args_stays_one():
    def properties(name):
        return {"args", "title"} if name == NAME else None

    entry = {"name": NAME, "args": {"a": 1}}
    assert parse({"calls": [entry]}, properties=properties)[0].arguments == {"args": {"a": 1}}
    assert parse({"calls": [entry]})[0].arguments == {"a": 1}


def test_fields_beside_arguments_need_the_schema():
    entry = ENTRY | {"body": "b"}
    assert entry_error(entry)["reason"] == "two_readings"
    known = parse({"calls": [entry]}, properties=lambda name: {"title", "body"})
    assert known[0].arguments == {"title": "x", "body": "b"}
    assert entry_error(entry, properties=lambda name: {"title"})["reason"] == "two_readings"


WHOLE = {
    "nothing": ({}, "nothing"),
    "empty text": ({"calls": "  "}, "nothing"),
    "no name anywhere": ({"arguments": {"title": "x"}}, "nothing"),
    "not JSON": ({"calls": '[{"name": "a",'}, "not_json"),
    "cut inside arguments": ({"calls": '[{"name": "a", "arguments": {"title": "x"'}, "not_json"),
    "cut inside text": ({"calls": '[{"name": "a", "arguments": {"title": "x'}, "not_json"),
    "empty list": ({"calls": []}, "not_a_list"),
    "a number": ({"calls": 5}, "not_a_list"),
    "a JSON number": ({"calls": "5"}, "not_a_list"),
    "calls and name": ({"calls": [ENTRY], "name": "mcp__other__tool"}, "two_readings"),
}


@pytest.mark.parametrize(("args", "reason"), WHOLE.values(), ids=WHOLE.keys())
def test_refused_as_a_whole(args, reason):
    error = refused(args)
    assert (error.code, error.fields["reason"]) == ("BAD_ARGUMENTS", reason)
    if reason != "two_readings":
        assert '"calls": [{"name"' in error.message  # a valid skeleton


def test_the_position_of_a_json_error_is_told():
    error = refused({"calls": '[{"name": "a" "arguments": {}}]'})
    assert error.fields["position"] == 14
    assert "character 14" in error.message


ENTRIES = {
    "not an object": (5, "entry_not_object"),
    "text that is no JSON": ("create an issue", "entry_not_object"),
    "no name": ({"arguments": {}}, "no_name"),
    "blank name": ({"name": " "}, "no_name"),
    "a bridge tool": ({"name": "tool_search", "arguments": {"queries": ["x"]}}, "bridge_tool"),
    "tool_call twice": (
        {"name": "tool_call", "arguments": {"name": "tool_call", "arguments": ENTRY}},
        "bridge_tool",
    ),
    "tool_call of nothing": ({"name": "tool_call", "arguments": {}}, "bridge_tool"),
    "arguments not JSON": ({"name": NAME, "arguments": '{"title":'}, "args_not_json"),
    "arguments a list": ({"name": NAME, "arguments": [1]}, "args_not_object"),
    "arguments NaN": ({"name": NAME, "arguments": '{"n": NaN}'}, "args_not_json"),
}


@pytest.mark.parametrize(("entry", "reason"), ENTRIES.values(), ids=ENTRIES.keys())
def test_one_bad_entry_costs_itself(entry, reason):
    requests = parse({"calls": [ENTRY, entry, ENTRY]})
    assert [request.error is None for request in requests] == [True, False, True]
    error = requests[1].error
    assert (error["code"], error["reason"]) == ("BAD_ARGUMENTS", reason)
    assert "entry 1" in error["message"]


def test_too_many():
    assert len(parse({"calls": [ENTRY] * 64})) == 64
    error = refused({"calls": [ENTRY] * 65})
    assert (error.code, error.fields["limit"]) == ("TOO_MANY", 64)
    nested = {"name": "tool_call", "arguments": {"calls": [ENTRY] * 40}}
    assert refused({"calls": [nested, nested]}).code == "TOO_MANY"


def test_a_long_name_is_not_repeated_whole():
    error = refused({"calls": [ENTRY], "name": "n" * 100_000})
    assert len(error.message) < 500


def test_deep_text_is_refused_and_does_not_end_the_process():
    assert refused({"calls": "[" * 100_000}).fields["reason"] == "not_json"
    assert entry_error({"name": NAME, "arguments": '{"a":' * 100_000})["reason"] == "args_not_json"


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e999", "-1e999", "9" * 5000, "'a'", "{a: 1}", ""])
def test_what_is_no_json(text):
    with pytest.raises(JsonFault):
        read_json(text)


def test_numbers_keep_their_digits():
    assert read_json("[12345678901234567890, 1.5, 2.0]") == [12345678901234567890, 1.5, 2.0]


@pytest.mark.parametrize(
    "text",
    ['[{"a": 1', '[{"a": [1, 2', '{"name": "a", "arguments": {"b": {"c": 1}', '["a', "[1, 2", "]", "x]}"],
)
def test_a_cut_with_more_than_one_reading_is_not_mended(text):
    assert mend_brackets(text) is None


def test_leniency_ends_at_one_layer():
    assert read_json_leniently(json.dumps(json.dumps([1]))) == [1]
    assert read_json_leniently(json.dumps(json.dumps(json.dumps([1])))) == json.dumps(json.dumps([1]))


def test_the_reference_repairs_nothing():
    flat = {"calls": [{"name": NAME, "title": "x"}]}
    assert parse(flat, rules=HERMES) == [RequestedCall(name=NAME, arguments={})]
    nested = {"calls": [{"name": "tool_call", "arguments": ENTRY}]}
    assert refused(nested, rules=HERMES).fields["reason"] == "bridge_tool"
    assert refused({"calls": json.dumps([ENTRY])[:-1]}, rules=HERMES).fields["reason"] == "not_json"
    assert refused({"calls": [ENTRY, 5]}, rules=HERMES).fields["index"] == 1
    for nothing in ({"arguments": {}}, {"calls": None, "name": ""}, {"calls": None, "name": None}):
        assert refused(nothing, rules=HERMES).fields["reason"] == "nothing"
    assert refused({"name": " "}, rules=HERMES).fields["reason"] == "entry_no_name"
