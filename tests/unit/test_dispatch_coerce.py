"""Near forms of values: what has one reading becomes it, at every depth; the rest stays."""

import json

import msgspec
import pytest

from toolsearchd.dialects.hermes.coercion import coerce_hermes
from toolsearchd.dispatch.coerce import coerce
from toolsearchd.dispatch.schema import read_schema
from toolsearchd.limits import Limits


def coerced(part, value, **defs):
    schema = {"type": "object", "properties": {"v": part}, "required": ["v"], "$defs": defs}
    given = {"v": value}
    before = json.dumps(given)
    made = coerce(given, read_schema(msgspec.json.encode(schema), Limits()))
    assert json.dumps(given) == before, "the given arguments were changed"
    return made["v"]


INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
STRING = {"type": "string"}
STRINGS = {"type": "array", "items": STRING}
ITEM = {"type": "object", "properties": {"n": INTEGER, "on": BOOLEAN}}

CHANGED = [
    (INTEGER, "42", 42),
    (INTEGER, " -7 ", -7),
    (INTEGER, "42.0", 42),
    (INTEGER, "1e3", 1000),
    (INTEGER, "123456789012345678901234567890", 123456789012345678901234567890),
    (INTEGER, "9007199254740992.0", 2**53),  # the last whole number that every JSON reader has exactly
    (NUMBER, "3.5", 3.5),
    (NUMBER, "1e30", 1e30),
    (NUMBER, "3", 3),
    (BOOLEAN, "True", True),
    (BOOLEAN, "false", False),
    ({"type": ["integer", "null"]}, "null", None),
    ({"type": "integer", "nullable": True}, "NULL", None),
    ({"anyOf": [INTEGER, {"type": "null"}]}, "5", 5),
    ({"oneOf": [BOOLEAN, NUMBER]}, "true", True),
    ({"oneOf": [BOOLEAN, NUMBER]}, "2", 2),
    ({"enum": [1, 2]}, "2", 2),
    ({"type": ["string", "null"], "enum": ["a", None]}, "null", None),
    ({"const": True}, "true", True),
    (ITEM, '{"n": 1}', {"n": 1}),
    (ITEM, '{"n": "1"}', {"n": 1}),
    ({"type": "object"}, " ", {}),
    (STRINGS, "a", ["a"]),
    (STRINGS, '["a", "b"]', ["a", "b"]),
    ({"type": "array", "items": INTEGER}, "5", [5]),
    ({"type": "array", "items": INTEGER}, 5, [5]),
    ({"type": "array", "items": INTEGER}, ["1", 2], [1, 2]),
    ({"type": "array", "items": ITEM}, {"n": "1"}, [{"n": 1}]),
    ({"type": "array", "items": ITEM}, '{"on": "true"}', [{"on": True}]),
    ({"type": "array", "prefixItems": [INTEGER, BOOLEAN]}, ["1", "true"], [1, True]),
    ({"type": "object", "additionalProperties": INTEGER}, {"a": "1"}, {"a": 1}),
    ({"allOf": [ITEM, {"required": ["n"]}]}, {"n": "3"}, {"n": 3}),
    ({"$ref": "#/$defs/item"}, {"n": "3"}, {"n": 3}),
    ({"anyOf": [{"$ref": "#/$defs/item"}, {"type": "null"}]}, {"n": "3"}, {"n": 3}),
]


@pytest.mark.parametrize(("part", "value", "expected"), CHANGED, ids=str)
def test_one_reading(part, value, expected):
    assert json.dumps(coerced(part, value, item=ITEM)) == json.dumps(expected)


KEPT = [
    (INTEGER, "42.5"),
    (INTEGER, "forty"),
    (INTEGER, ""),
    (INTEGER, "1_000"),
    (INTEGER, "0x10"),
    (INTEGER, "9007199254740994.0"),
    (INTEGER, "1e16"),
    (INTEGER, "-12e20"),
    (INTEGER, "1e999"),
    (INTEGER, "1e999999999"),
    (NUMBER, "1e999999999"),
    (INTEGER, "٣"),
    (INTEGER, True),
    (INTEGER, 2.5),
    (INTEGER, [1]),
    (NUMBER, "inf"),
    (NUMBER, "nan"),
    (NUMBER, "1e999"),
    (NUMBER, "0.12345678901234567890"),
    (BOOLEAN, "yes"),
    (BOOLEAN, 1),
    (BOOLEAN, "1"),
    (STRING, 5),
    (STRING, True),
    (STRING, '{"a": 1}'),
    (STRING, "null"),
    ({"type": ["string", "integer"]}, "7"),
    ({"type": ["integer", "string"]}, "7"),
    ({"anyOf": [INTEGER, STRING]}, "7"),
    ({"type": ["string", "null"]}, "null"),
    ({"type": "object", "required": ["a"]}, ""),
    (ITEM, '{"n": 1'),
    (STRINGS, "a, b"),
    (STRINGS, ""),
    (STRINGS, '["a"'),
    (STRINGS, None),
    (STRINGS, 5),
    ({"type": "array", "items": {"type": "array", "items": STRING}}, "a"),
    ({}, "5"),
    (True, "5"),
    ({"type": "no-such-type"}, "5"),
    ({"type": "object", "patternProperties": {"^a": STRING}, "additionalProperties": INTEGER}, {"a": "1"}),
]


@pytest.mark.parametrize(("part", "value"), KEPT, ids=str)
def test_more_readings_or_none(part, value):
    assert json.dumps(coerced(part, value, item=ITEM)) == json.dumps(value)


LEFT_OUT = [
    ({"query": "x", "country": None, "limit": None}, {"query": "x"}),
    ({"query": "x", "limit": ""}, {"query": "x"}),
    ({"query": "x", "country": ""}, {"query": "x", "country": ""}),  # text may be empty
    ({"query": None}, {"query": None}),  # it is required
    ({"query": "x", "either": None, "free": None}, {"query": "x", "either": None, "free": None}),  # taken
    ({"query": "x", "in": {"limit": None, "a": 1}}, {"query": "x", "in": {"a": 1}}),
    ({"query": "x", "more": None}, {"query": "x", "more": None}),  # nobody says what it takes
]


@pytest.mark.parametrize(("given", "expected"), LEFT_OUT, ids=str)
def test_null_and_empty_text_for_what_may_be_left_out(given, expected):
    schema = {
        "type": "object",
        "properties": {
            "query": STRING,
            "country": STRING,
            "limit": INTEGER,
            "either": {"anyOf": [INTEGER, {"type": "null"}]},
            "free": {},
            "in": {"type": "object", "properties": {"limit": INTEGER}},
        },
        "required": ["query"],
    }
    assert coerce(given, read_schema(msgspec.json.encode(schema), Limits())) == expected


def test_a_discriminator_says_which_alternative_is_meant():
    def alternative(kind, part):
        return {"type": "object", "properties": {"kind": {"const": kind}, "v": part}}

    part = {"oneOf": [alternative("number", INTEGER), alternative("text", STRING)]}
    assert coerced(part, {"kind": "number", "v": "7"}) == {"kind": "number", "v": 7}
    assert coerced(part, {"kind": "text", "v": "7"}) == {"kind": "text", "v": "7"}
    assert coerced(part, {"kind": "other", "v": "7"}) == {"kind": "other", "v": "7"}
    numbered = {"oneOf": [alternative(1, INTEGER), alternative(2, STRING)]}
    assert coerced(numbered, {"kind": "1", "v": "7"}) == {"kind": 1, "v": 7}


def test_recursive_schemas_end():
    node = {"type": "object", "properties": {"n": INTEGER, "below": {"$ref": "#/$defs/node"}}}
    value = {"n": "1", "below": {"n": "2", "below": {"n": "3"}}}
    expected = {"n": 1, "below": {"n": 2, "below": {"n": 3}}}
    assert coerced({"$ref": "#/$defs/node"}, value, node=node) == expected
    lists = {"type": "array", "items": {"$ref": "#/$defs/lists"}}
    assert coerced({"$ref": "#/$defs/lists"}, "a", lists=lists) == "a"


REFERENCE = [
    ({"type": "integer"}, "12.0", 12),
    ({"type": "number"}, "nan", "nan"),
    ({"type": "array"}, {"a": 1}, [{"a": 1}]),
    ({"type": "array"}, None, None),
    ({"type": "array"}, "[1", ["[1"]),
    ({"type": "object"}, "", {}),
    ({"type": ["string", "integer"]}, "7", 7),
    ({"type": "boolean"}, 1, 1),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", "5"),
    ({"type": "array", "nullable": True}, "NULL", None),
    ({"type": "array", "items": {"type": "integer"}}, ["1"], ["1"]),
    ({"type": "array", "items": {"type": "array"}}, ["[1]"], [[1]]),
    (
        {"type": "object", "properties": {"o": {"anyOf": [{"type": "object"}]}}},
        {"o": '{"a": 1}'},
        {"o": {"a": 1}},
    ),
    ({"type": "object", "properties": {"s": {"type": "string"}}}, {"s": '{"a": 1}'}, {"s": '{"a": 1}'}),
]


@pytest.mark.parametrize(("part", "value", "expected"), REFERENCE, ids=str)
def test_the_reference_looks_at_the_top_level(part, value, expected):
    assert coerce_hermes({"v": value}, {"properties": {"v": part}}) == {"v": expected}


def test_the_reference_leaves_unknown_names_alone():
    assert coerce_hermes({"w": "5"}, {"properties": {"v": INTEGER}}) == {"w": "5"}
    assert coerce_hermes({"v": "5"}, {"properties": None}) == {"v": "5"}
