"""Errors that a model can act on, and schemas and arguments made to be expensive."""

import json
import time
from contextlib import contextmanager

import msgspec
import pytest

from tests.unit.unvalidatable import unvalidatable_reason
from toolsearchd.catalog.model import Definition
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.dispatch.arguments import prepare
from toolsearchd.dispatch.rules import RULES
from toolsearchd.dispatch.schema import read_schema
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

LIMITS = Limits()


def tool(schema, **more):
    data = schema if isinstance(schema, bytes) else msgspec.json.encode(schema)
    return Definition(name="t", input_schema=data, digest="", **more)


def refused(schema, arguments, **more):
    with pytest.raises(ToolsearchdError) as caught:
        prepare(tool(schema), arguments, limits=LIMITS, **more)
    return caught.value


def fields(schema, arguments, **more):
    error = refused(schema, arguments, **more)
    assert error.code == "INVALID_ARGUMENTS"
    return error.fields


def of(part, **more):
    return {"type": "object", "properties": {"v": part}, **more}


def nested(levels, leaf, key="a"):
    for _ in range(levels):
        leaf = {key: leaf}
    return leaf


@contextmanager
def soon(seconds=5.0):
    """Far above what it takes, far below what it took without bounds."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


# --- what an error says ---------------------------------------------------------------------------

WORDS = [
    ({"type": "integer"}, "x", "type", "integer"),
    ({"type": ["integer", "null"]}, "x", "type", "integer"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", "anyOf", "integer or null"),
    ({"enum": ["a", "b"]}, "z", "enum", 'one of "a", "b"'),
    ({"const": 1}, 2, "const", "exactly 1"),
    ({"type": "number", "minimum": 3}, 1, "minimum", "at least 3"),
    ({"type": "number", "exclusiveMaximum": 3}, 3, "exclusiveMaximum", "below 3"),
    ({"type": "string", "maxLength": 2}, "abc", "maxLength", "at most 2 characters"),
    ({"type": "string", "pattern": "^x"}, "abc", "pattern", '"^x"'),
    ({"type": "array", "minItems": 2}, [1], "minItems", "at least 2 items"),
    ({"type": "array", "uniqueItems": True}, [1, 1], "uniqueItems", "no item twice"),
    ({"oneOf": [{"minimum": 0}, {"maximum": 5}]}, 3, "oneOf", "exactly one of 2 alternatives"),
    (False, 1, "falseSchema", "nothing here"),
]


@pytest.mark.parametrize(("part", "value", "constraint", "expected"), WORDS, ids=lambda item: str(item)[:40])
def test_expected_and_received(part, value, constraint, expected):
    told = fields(of(part), {"v": value})
    assert (told["path"], told["constraint"]) == ("arguments.v", constraint)
    assert expected in told["expected"]
    assert told["received"] == json.dumps(value, separators=(",", ":"))
    assert told["parameters"] == of(part)


def test_the_path_names_odd_keys_and_indexes():
    part = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}
    assert fields(of(part), {"v": [{}, {"odd-key": "x"}]})["path"] == 'arguments.v[1]["odd-key"]'


def test_all_missing_names_and_what_came():
    schema = of({}, required=["v", "w"])
    told = fields(schema, {"x": 1})
    assert told["missing"] == ["v", "w"]
    assert told["received"] == '{"x":1}'
    assert told["path"] == "arguments"


def test_other_problems_are_told_too():
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}}
    told = fields(schema, {"a": "x", "b": "y"})
    assert told["path"] == "arguments.a"
    assert told["problems"] == ["arguments.b: expected boolean"]


def test_the_alternative_that_nearly_fits_is_the_one_explained():
    def alternative(kind):
        return {"properties": {"kind": {"const": kind}, "n": {"type": "integer"}}, "required": ["kind", "n"]}

    part = {"type": "object", "anyOf": [alternative("a"), {"type": "null"}]}
    assert fields(of(part), {"v": {"kind": "a", "n": "x"}})["path"] == "arguments.v.n"


CORRECTED = [
    ({"properties": {"title": {}}, "required": ["title"]}, {"titel": 1}, {"title": 1}),
    ({"properties": {"fileName": {}}, "additionalProperties": False}, {"file_name": 1}, {"fileName": 1}),
    (of({"enum": ["open", "closed"]}), {"v": "OPEN"}, {"v": "open"}),
    (of({"type": "string"}), {"v": 5}, {"v": "5"}),
    (
        {"properties": {"a": {"enum": ["low", "high"]}, "b": {"type": "string"}}, "required": ["a"]},
        {"a": "hihg", "b": None},
        {"a": "high"},
    ),
    ({"properties": {"a": {"properties": {"b": {"type": "string"}}}}}, {"a": {"b": 5}}, {"a": {"b": "5"}}),
]


@pytest.mark.parametrize(("schema", "arguments", "corrected"), CORRECTED, ids=str)
def test_the_only_correction_is_shown(schema, arguments, corrected):
    assert fields(schema, arguments)["corrected"] == corrected


NOT_CORRECTED = [
    (of({"type": "integer"}), {"v": "x"}),
    (of({"type": "string"}, required=["v"]), {"v": None}),
    (of({"enum": ["north", "south"]}), {"v": "outh"}),
    ({"properties": {"title": {"type": "integer"}}, "required": ["title"]}, {"titel": "x"}),
    ({"properties": {"ab1": {}, "ab2": {}}, "additionalProperties": False}, {"ab3": 1}),
    (of({"type": "string"}), {"v": 5, "w": "x" * 3_000}),
]


@pytest.mark.parametrize(("schema", "arguments"), NOT_CORRECTED, ids=lambda item: str(item)[:60])
def test_no_correction_is_guessed(schema, arguments):
    assert "corrected" not in fields(schema, arguments)


def test_a_large_parameter_is_outlined():
    part = {
        "type": "object",
        "properties": {f"p{n}": {"type": "string", "description": "d" * 90} for n in range(90)},
        "required": ["p1"],
    }
    told = fields(of(part) | {"description": "x" * 100}, {"v": {}})
    assert told["path"] == "arguments.v"
    assert len(json.dumps(told["parameters"])) < 4_000
    assert told["parameters"]["v"]["properties"]["p1"] == {"type": "string"}


def test_a_huge_value_is_not_sent_back():
    error = refused(of({"type": "integer"}), {"v": "x" * 100_000})
    assert len(json.dumps(error.as_fields())) < 2_000


def test_the_reference_sends_the_whole_schema_and_no_correction():
    schema = {"properties": {f"p{n}": {"type": "string"} for n in range(500)}}
    told = fields(schema, {"p7": 1}, rules=DIALECTS["hermes"].rules)
    assert told["parameters"] == schema
    assert "corrected" not in told


# --- what is sent ---------------------------------------------------------------------------------


def test_what_fits_is_sent_as_it_came():
    arguments = {"v": "7"}
    assert prepare(tool(of({"type": ["string", "integer"]})), arguments, limits=LIMITS) is arguments


def test_what_was_coerced_is_sent():
    assert prepare(tool(of({"type": "integer"})), {"v": "7"}, limits=LIMITS) == {"v": 7}


def test_a_second_wrapper_is_taken_off_where_it_has_one_reading():
    schema = of({"type": "integer"}, required=["v"], additionalProperties=False)
    for inner in ({"v": 1}, {"v": "1"}, '{"v": 1}'):
        assert prepare(tool(schema), {"arguments": inner}, limits=LIMITS) == {"v": 1}
    assert fields(schema, {"arguments": {"w": 1}})["path"] == "arguments"
    assert fields(schema, {"arguments": {"v": 1}, "other": 1})["path"] == "arguments"
    own = {"properties": {"arguments": {"type": "string"}}, "required": ["arguments", "x"]}
    assert fields(own, {"arguments": {"x": 1}})["missing"] == ["x"]


FOREIGN = [b"x", float("nan"), float("inf"), "\ud800", {5: 1}, {"\udfff": 1}, msgspec.Raw(b"1")]


@pytest.mark.parametrize("value", FOREIGN, ids=lambda value: type(value).__name__)
def test_what_json_can_not_carry_is_refused_for_every_schema(value):
    for schema in (of({}), {"$ref": "http://example.com/"}):
        told = fields(schema, {"w": [0, value]})
        assert told["constraint"] == "json"
        assert told["path"].startswith("arguments.w[1]")


def test_drafts_differ():
    old = {"$schema": "http://json-schema.org/draft-04/schema#"} | of(
        {"minimum": 5, "exclusiveMinimum": True}
    )
    assert fields(old, {"v": 5})["constraint"] in ("minimum", "exclusiveMinimum")
    pair = {"items": [{"type": "integer"}]}
    seventh = {"$schema": "http://json-schema.org/draft-07/schema#"} | of(pair)
    assert fields(seventh, {"v": ["x"]})["path"] == "arguments.v[0]"
    assert unvalidatable_reason(tool(of(pair)), LIMITS)
    assert not unvalidatable_reason(tool({"$schema": "https://example.com/mine"} | of({})), LIMITS)


def test_nullable_is_folded_only_where_it_is_a_schema():
    literal = {"nullable": True, "type": "string"}
    schema = {
        "properties": {"a": {"const": literal}, "b": {"$ref": "#/$defs/t"}},
        "$defs": {"t": dict(literal)},
    }
    root = read_schema(msgspec.json.encode(schema), LIMITS).root
    assert root["properties"]["a"]["const"] == literal
    assert root["$defs"]["t"] == {"type": ["string", "null"]}
    assert prepare(tool(schema), {"a": literal, "b": None}, limits=LIMITS) == {"a": literal, "b": None}
    bare = of({"nullable": True, "minimum": 3})
    assert prepare(tool(bare), {"v": None}, limits=LIMITS) == {"v": None}
    assert prepare(
        tool(of({"nullable": True, "$ref": "#/$defs/i"}) | {"$defs": {"i": {"type": "integer"}}}),
        {"v": None},
        limits=LIMITS,
    ) == {"v": None}


def test_references_are_resolved_as_the_validator_does():
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/with%20space"},
            "b": {"$ref": "#/$defs/a~1b"},
            "c": {"$ref": "#here"},
        },
        "$defs": {
            "with space": {"type": "integer"},
            "a/b": {"type": "integer"},
            "x": {"$anchor": "here", "type": "integer"},
        },
    }
    assert not unvalidatable_reason(tool(schema), LIMITS)
    for name in "abc":
        assert prepare(tool(schema), {name: "1"}, limits=LIMITS) == {name: 1}
        assert fields(schema, {name: "x"})["path"] == f"arguments.{name}"


# --- made to be expensive -------------------------------------------------------------------------

UNVALIDATABLE = {
    "deep": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "large": b'{"description":"' + b"x" * 1024 * 1024 + b'"}',
    "a million options": {"enum": list(range(1_000_000))},
    "ten thousand properties of two": {"properties": {f"p{n}": {"type": "string"} for n in range(10_000)}},
    "outside": {"$ref": "https://example.com/x"},
    "outside, unused": {"$defs": {"x": {"$ref": "file:///etc/passwd"}}},
    "outside by an anchor's base": {"$defs": {"x": {"$id": "http://example.com/", "$anchor": "y"}}},
    "no target": {"$ref": "#/nothing"},
    "no such anchor": {"$ref": "#nothing"},
    "a target that is no schema": {"$ref": "#/$defs", "$defs": []},
    "itself": {"$ref": "#"},
    "in a circle": {
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    },
    "a chain of references": {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(5_000)} | {"d5000": {}},
    },
    "thousands of patterns": {"patternProperties": {f"^a{n}$": {} for n in range(5_000)}},
    "a pattern that explodes": of({"pattern": "((a{100}){100}){100}"}),
    "a list": [],
    "text": "x",
    "not JSON": b"{",
    "nothing": b"",
}


@pytest.mark.parametrize("schema", UNVALIDATABLE.values(), ids=UNVALIDATABLE.keys())
def test_a_schema_that_can_not_be_used_says_why_and_is_forwarded(schema):
    data = schema if isinstance(schema, bytes) else msgspec.json.encode(schema)
    with soon():
        arguments = {"v": "1"}
        reason = unvalidatable_reason(tool(data), LIMITS)
        assert 10 < len(reason) < 300
        assert prepare(tool(data), arguments, limits=LIMITS) is arguments
        error = refused(data, arguments, unvalidatable="refuse")
    assert (error.code, error.fields["reason"]) == ("UNVALIDATABLE", reason)
    assert reason in error.message


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_branches_that_double_per_level(keyword):
    definitions = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(29)}
    schema = of({"$ref": "#/$defs/d0"}) | {"$defs": definitions | {"d29": {"type": "integer"}}}
    with soon():
        assert prepare(tool(schema), {"v": "x"}, limits=LIMITS) == {"v": "x"}
        assert refused(schema, {"v": "x"}, unvalidatable="refuse").code == "VALIDATION_BUDGET"


def test_branches_that_double_per_level_of_the_arguments():
    schema = {"anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": [name]} for name in ("a", "b")]}
    with soon():
        assert refused(schema, nested(40, {}), unvalidatable="refuse").code == "VALIDATION_BUDGET"
        assert fields(schema, nested(5, {}))["constraint"] in ("required", "anyOf")


def test_alternatives_nested_a_hundred_thousand_deep_do_not_end_the_process():
    """The validator makes errors by recursion: this many in one another overflow its stack."""
    schema = {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}
    for _ in range(40):
        schema = {"anyOf": [schema]}
    with soon():
        assert refused(schema, nested(190, {"b": 1})).code == "INVALID_ARGUMENTS"


def test_deep_arguments():
    schema = {"properties": {"a": {"$ref": "#"}}}
    deep = nested(20_000, {})
    with soon():
        assert prepare(tool(schema), deep, limits=LIMITS) is deep
        assert refused(schema, deep, unvalidatable="refuse").code == "VALIDATION_BUDGET"
        assert prepare(tool(schema), nested(150, {}), limits=LIMITS) == nested(150, {})


def test_large_arguments_are_the_servers_business():
    for arguments in ({"v": "x" * 2_000_000}, {"v": list(range(30_000))}):
        assert prepare(tool(of({})), arguments, limits=LIMITS) is arguments
        assert refused(of({}), arguments, unvalidatable="refuse").code == "VALIDATION_BUDGET"


EXPENSIVE = {
    "options for each item": (of({"items": {"enum": [str(n) for n in range(9_000)]}}), ["z"] * 9_000),
    "near options for each item": (of({"items": {"enum": list(range(9_000))}}), ["8999"] * 9_000),
    "objects as options": (of({"items": {"enum": [{"a": n} for n in range(4_000)]}}), [{"a": "z"}] * 4_000),
    "every item wrong": (of({"type": "array", "items": {"type": "integer"}}), ["z"] * 19_000),
    "backtracking": (of({"type": "string", "pattern": "^(a+)+$"}), "a" * 100_000 + "!"),
    "backtracking with a look-ahead": (of({"type": "string", "pattern": "(?!.*c)(?=a*b)a"}), "a" * 5_000),
    "a long text and many look-aheads": (of({"items": {"pattern": "(?!.*c)(?=a*b)a"}}), ["a" * 5_000] * 200),
    "divisions in big numbers": (of({"items": {"multipleOf": 1e-300}}), [1e308, "x"] * 4_000),
    "thousands of names": (
        of({"required": [f"p{n}" for n in range(4_000)], "type": "object"}),
        {f"q{n}": 1 for n in range(4_000)},
    ),
    "thousands of unknown names": (
        of({"properties": {f"p{n}": {} for n in range(4_000)}, "additionalProperties": False}),
        {f"q{n}": 1 for n in range(4_000)},
    ),
}


@pytest.mark.parametrize(("schema", "value"), EXPENSIVE.values(), ids=EXPENSIVE.keys())
def test_expensive_checks_end_soon(schema, value):
    with soon():
        for rules in (RULES, DIALECTS["hermes"].rules):
            with pytest.raises(ToolsearchdError) as caught:
                prepare(tool(schema), {"v": value}, limits=LIMITS, unvalidatable="refuse", rules=rules)
            assert caught.value.code in ("INVALID_ARGUMENTS", "VALIDATION_BUDGET")
            assert len(caught.value.message) < 2_000


def test_one_bad_block_among_many_alternatives_is_found():
    """A page editor's blocks: thirty alternatives for each of two hundred items."""
    blocks = [
        {
            "properties": {"type": {"const": f"b{n}"}, f"b{n}": {"properties": {"n": {"type": "integer"}}}},
            "required": ["type", f"b{n}"],
        }
        for n in range(30)
    ]
    schema = of({"type": "array", "items": {"anyOf": blocks}})
    value = [{"type": f"b{n % 30}", f"b{n % 30}": {"n": n}} for n in range(200)]
    assert prepare(tool(schema), {"v": value}, limits=LIMITS) == {"v": value}
    value[150]["b0"]["n"] = "x"
    assert fields(schema, {"v": value})["path"] == "arguments.v[150].b0.n"
    value[150]["b0"]["n"] = "5"
    assert prepare(tool(schema), {"v": value}, limits=LIMITS)["v"][150] == {"type": "b0", "b0": {"n": 5}}


def test_a_tool_marked_unvalidatable_is_not_read_at_all():
    marked = tool(of({"type": "integer"}), unvalidatable="nested too deep")
    assert unvalidatable_reason(marked, LIMITS) == "nested too deep"
    assert prepare(marked, {"v": "x"}, limits=LIMITS) == {"v": "x"}
