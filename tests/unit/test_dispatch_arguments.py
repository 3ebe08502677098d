"""Arguments against schemas: what fits passes, what doesn't is told so, and no schema stalls the daemon."""

import time

import msgspec
import pytest

from tests.unit.unvalidatable import unvalidatable_reason
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.dispatch.arguments import prepare
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

LIMITS = Limits()


def tool(schema):
    return decode_definition(msgspec.json.encode({"name": "t", "inputSchema": schema}), LIMITS)


def refused(schema, arguments, **more):
    with pytest.raises(ToolsearchdError) as caught:
        prepare(tool(schema), arguments, limits=LIMITS, **more)
    return caught.value


ISSUE = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}}},
    "required": ["title"],
    "additionalProperties": False,
}


def test_what_fits_passes():
    assert prepare(tool(ISSUE), {"title": "x"}, limits=LIMITS) == {"title": "x"}


@pytest.mark.parametrize("given", [{}, {"title": 5}, {"titel": "x"}, {"labels": "a"}, {"title": None}])
@pytest.mark.parametrize("schema", [ISSUE, {"type": "string"}, {"$ref": "https://elsewhere/"}, 7])
def test_where_validation_is_off_arguments_go_out_as_they_came(given, schema):
    """Whatever the schema is, and whatever is to become of what it can't judge."""
    sent = prepare(tool(schema), given, limits=LIMITS, validates=False, unvalidatable="refuse")
    assert sent is given


def test_where_validation_is_off_they_are_json_still():
    error = refused(ISSUE, {"title": float("nan")}, validates=False)
    assert (error.code, error.fields["constraint"]) == ("INVALID_ARGUMENTS", "json")


def test_a_missing_name_says_which():
    error = refused(ISSUE, {"labels": []})
    assert error.code == "INVALID_ARGUMENTS"
    assert (error.fields["path"], error.fields["constraint"]) == ("arguments", "required")
    assert error.fields["missing"] == ["title"]


def test_a_misspelt_name_says_what_was_meant():
    assert refused(ISSUE, {"titel": "x"}).fields["did_you_mean"] == {"titel": ["title"]}


def test_a_wrong_value_says_where():
    error = refused(ISSUE, {"title": "x", "labels": ["a", 5]})
    assert error.fields["path"] == "arguments.labels[1]"
    assert error.fields["received"] == "5"


def test_a_large_schema_is_not_sent_back_whole():
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"type": "string", "description": "x" * 90} for n in range(90)},
    }
    assert list(refused(schema, {"p7": 1}).fields["parameters"]) == ["p7"]


def test_nullable_is_null():
    schema = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}
    assert prepare(tool(schema), {"a": None}, limits=LIMITS) == {"a": None}


def doubling(levels):
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": definitions | {f"d{levels}": {}},
    }


UNVALIDATABLE = {
    "outside reference": {"$ref": "http://example.com/schema.json"},
    "file reference": {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
    "relative reference": {"properties": {"a": {"$ref": "other.json"}}},
    "missing target": {"properties": {"a": {"$ref": "#/$defs/nothing"}}},
    "reference is a number": {"properties": {"a": {"$ref": 5}}},
    "moved base": {"properties": {"a": {"$id": "http://example.com/", "$ref": "#/x"}, "x": {}}},
    "doubling branches": doubling(29),
    "a million values": {"enum": list(range(100_000))},
    "ten thousand properties": {"properties": {f"p{n}": {"type": "string"} for n in range(20_000)}},
    "not a schema": {"type": "no-such-type"},
    "bad pattern": {"properties": {"a": {"pattern": "("}}},
}


@pytest.mark.parametrize("schema", UNVALIDATABLE.values(), ids=UNVALIDATABLE.keys())
def test_a_schema_out_of_bounds_costs_only_the_validation(schema):
    began = time.monotonic()
    assert unvalidatable_reason(tool(schema), LIMITS)
    assert prepare(tool(schema), {"a": 1}, limits=LIMITS) == {"a": 1}
    expected = "VALIDATION_BUDGET" if "$defs" in schema else "UNVALIDATABLE"
    assert refused(schema, {"a": 1}, unvalidatable="refuse").code == expected
    assert time.monotonic() - began < 5


def test_a_recursive_schema_is_fine_and_a_deep_instance_does_not_crash():
    schema = {"type": "object", "properties": {"x": {"$ref": "#"}}}
    assert not unvalidatable_reason(tool(schema), LIMITS)
    deep = {}
    for _ in range(20_000):
        deep = {"x": deep}
    assert refused(schema, deep, unvalidatable="refuse").code == "VALIDATION_BUDGET"
    assert prepare(tool(schema), deep, limits=LIMITS) is deep


def test_a_pattern_that_backtracks_ends():
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    began = time.monotonic()
    assert refused(schema, {"a": "a" * 40 + "!"}).code == "INVALID_ARGUMENTS"
    assert time.monotonic() - began < 5
