"""A definition as providers take it: the same object where nothing has to change."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.disclosure.provider_form import for_providers
from toolsearchd.dispatch.check import plan
from toolsearchd.limits import Limits

A, B = {"type": "string"}, {"type": "integer"}


LIST = {"type": "array", "items": A}
OLD, NEW = {"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}
DEEP = {"allOf": [{"allOf": [{"properties": {"b": B}, "required": ["b"]}]}]}


def objects(properties=None, **more):
    return {"type": "object"} | ({} if properties is None else {"properties": properties}) | more


def wanting(*names, **properties):
    return {"required": list(names)} | ({"properties": properties} if properties else {})


@pytest.mark.parametrize(
    "schema",
    [
        objects(),
        objects({"a": A}, required=["a"], additionalProperties=False),
        objects({"a": {"anyOf": [A, B]}, "l": LIST}) | {"$schema": "x"},
        objects({"a": {"type": "number", "exclusiveMinimum": 0}}),
    ],
)
def test_what_is_well_is_the_same_object(schema):
    assert for_providers(schema) is schema


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        (objects([], required=[]), objects({}, required=[])),
        ({"properties": {"a": A}}, objects({"a": A})),
        ({}, objects({})),
        ({"type": ["object", "null"]}, objects({})),
        ({"type": "string", "description": "the title"}, objects({}, description="the title")),
        (objects({"a": objects([])}), objects({"a": objects({})})),
        (
            objects({"a": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}),
            objects({"a": {"type": "number", "exclusiveMinimum": 0}}),
        ),
        (
            objects({"a": {"type": "number", "maximum": 9, "exclusiveMaximum": False}}),
            objects({"a": {"type": "number", "maximum": 9}}),
        ),
        (objects({"a": {"type": "array"}}), objects({"a": {"type": "array", "items": {}}})),
        (objects(required=True), objects()),
        (
            objects({"a": A, "b": B}, anyOf=[wanting("a"), wanting("b")]),
            objects({"a": A, "b": B}, description="Give a, or b."),
        ),
        (
            {"description": "Find.", "oneOf": [wanting("k", "a", k=A, a=A), wanting("k", "b", k=B, b=B)]},
            objects(
                {"k": {"anyOf": [A, B]}, "a": A, "b": B}, required=["k"], description="Find. Give a, or b."
            ),
        ),
        (
            {"allOf": [wanting("a", a=A), wanting("b", b=B)]},
            objects({"a": A, "b": B}, required=["a", "b"]),
        ),
        (
            {"$ref": "#/$defs/X", "$defs": {"X": objects({"a": A})}},
            objects({"a": A}) | {"$defs": {"X": objects({"a": A})}},
        ),
        ({"$ref": "#/nowhere"}, objects({})),
        (objects({"a": []}), objects({"a": {}})),
        (objects({"a": objects({"b": []})}), objects({"a": objects({"b": {}})})),
        (objects({"a": None, "b": "string"}), objects({"a": {}, "b": {}})),
        (objects({"l": {"type": "array", "items": []}}), objects({"l": {"type": "array", "items": {}}})),
        (objects({"l": {"anyOf": [[], A]}}), objects({"l": {"anyOf": [{}, A]}})),
        (objects({"l": A | {"anyOf": []}}), objects({"l": A})),
        (objects(additionalProperties=[]), objects(additionalProperties={})),
        (
            objects({"a": {"type": ["array", "null"]}}),
            objects({"a": {"type": ["array", "null"], "items": {}}}),
        ),
        (
            objects({"a": {"type": "array", "items": [objects([]), OLD]}}),
            objects({"a": {"type": "array", "prefixItems": [objects({}), NEW], "items": {}}}),
        ),
        (
            objects({"a": {"type": "array", "items": [A], "additionalItems": False}}),
            objects({"a": {"type": "array", "prefixItems": [A], "items": False}}),
        ),
        (
            objects(dependencies={"a": {"properties": {"b": OLD}}, "c": [], "d": ["e"]}),
            objects(dependencies={"a": {"properties": {"b": NEW}}, "c": [], "d": ["e"]}),
        ),
        (
            objects({"a": {"additionalItems": OLD, "unevaluatedProperties": OLD}}),
            objects({"a": {"additionalItems": NEW, "unevaluatedProperties": NEW}}),
        ),
        (
            {"allOf": [{"allOf": [wanting("a", a=A)]}, {"$ref": "#/$defs/X"}], "$defs": {"X": DEEP}},
            objects({"a": A, "b": B}, required=["a", "b"]) | {"$defs": {"X": DEEP}},
        ),
        (
            {"anyOf": [{"allOf": [wanting("k", "a", k=A, a=A)]}, wanting("k", "b", k=A, b=B)]},
            objects({"k": A, "a": A, "b": B}, required=["k"], description="Give a, or b."),
        ),
        (
            {"allOf": [{"oneOf": [wanting("a", a=A), wanting("b", b=B)]}]},
            objects({"a": A, "b": B}, description="Give a, or b."),
        ),
        ({"anyOf": [{"type": "null"}, wanting("a", a=A)]}, objects({"a": A}, required=["a"])),
        (
            objects(
                {"k": A}, **{"if": wanting("k"), "then": wanting("a", a=A), "else": {"properties": {"b": B}}}
            ),
            objects({"k": A, "a": A, "b": B}),
        ),
        (
            {
                "$ref": "#/$defs/X",
                "properties": {"b": B},
                "required": ["b"],
                "$defs": {"X": wanting("a", a=A)},
            },
            objects({"b": B, "a": A}, required=["b", "a"]) | {"$defs": {"X": wanting("a", a=A)}},
        ),
        *(
            (
                {"$ref": f"#/$defs/{text}", "$defs": {name: objects({"a": A})}},
                objects({"a": A}, **{"$defs": {name: objects({"a": A})}}),
            )
            for name, text in (
                ("x/y", "x~1y"),
                ("x~y", "x~0y"),
                ("x y", "x%20y"),
                ("~1", "~01"),
                ("p/q r", "p~1q%20r"),
            )
        ),
        (
            {"$ref": "#X", "$defs": {"n": objects({"a": A}) | {"$anchor": "X"}}},
            objects({"a": A}) | {"$anchor": "X", "$defs": {"n": objects({"a": A}) | {"$anchor": "X"}}},
        ),
        (
            {
                "$ref": "#/definitions/n",
                "definitions": {"n": {"allOf": [{"$ref": "#/definitions/n"}, wanting("a", a=A)]}},
            },
            objects({"a": A}, required=["a"])
            | {"definitions": {"n": {"allOf": [{"$ref": "#/definitions/n"}, wanting("a", a=A)]}}},
        ),
    ],
)
def test_shown(schema, shown):
    before = copy.deepcopy(schema)
    assert for_providers(schema) == shown
    assert schema == before
    assert for_providers(shown) is shown


def test_a_client_puts_items_in_itself():
    schema = objects({"a": {"type": "array"}})
    assert for_providers(schema, to_client=True) is schema
    assert for_providers(objects([]), to_client=True) == objects({})


KEYS = st.sampled_from(
    [
        *(
            "type",
            "properties",
            "required",
            "anyOf",
            "oneOf",
            "allOf",
            "items",
            "enum",
            "not",
            "$ref",
            "$defs",
        ),
        *("exclusiveMinimum", "minimum", "description", "a", "additionalItems", "additionalProperties"),
        *("prefixItems", "dependencies", "if", "then", "definitions"),
    ]
)
SCALARS = st.sampled_from([True, False, None, 0, 3, "object", "array", "string", "#/$defs/a", "#/a"])
JSON = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=4),
    max_leaves=30,
)


@given(st.dictionaries(KEYS, JSON, max_size=6))
def test_whatever_a_server_writes_is_shown_as_an_object_and_twice_is_once(schema):
    before = json.dumps(schema)
    shown = for_providers(schema)
    assert json.dumps(schema) == before
    assert shown["type"] == "object"
    assert isinstance(shown.get("properties", {}), dict)
    assert isinstance(shown.get("required", []), list)
    assert not shown.keys() & {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"}
    assert for_providers(shown) == shown
    assert list(amiss(shown)) == []


def amiss(schema):
    """What providers refuse, anywhere in it."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield schema
        return
    kinds = schema.get("type")
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and not (
        schema.keys() & {"items", "prefixItems", "$ref"}
    ):
        yield "no items"
    if isinstance(schema.get("exclusiveMinimum"), bool):
        yield "exclusiveMinimum"
    for key in ("items", "additionalItems", "additionalProperties", "not", "if", "then"):
        yield from amiss(schema.get(key, True))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(schema.get(key), list):
            for part in schema[key]:
                yield from amiss(part)
    for key in ("properties", "$defs", "definitions"):
        for part in schema.get(key, {}).values():
            yield from amiss(part)
    for part in schema.get("dependencies", {}).values():
        yield from () if isinstance(part, list) else amiss(part)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "string", "description": "the title"}, "takes string, and arguments are an object"),
        ({"type": ["array", "null"]}, "takes array or null"),
        ({"type": "object", "properties": {"a": {"type": "string", "enum": [1, 2]}}}, "wants string"),
        ({"type": "object", "properties": {"a": {"type": "integer", "enum": ["1"]}}}, "wants integer"),
        ({"type": "object", "properties": {"a": {"type": "string", "const": 5}}}, "wants string"),
        ({"type": "object", "properties": {"a": {"enum": []}}}, "enum without a value"),
        ({"$ref": "#/$defs/S", "$defs": {"S": {"type": "string"}}}, "takes string"),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "takes string or array"),
        ({"oneOf": [{"$ref": "#/$defs/S"}, {"const": 1}], "$defs": {"S": {"type": "string"}}}, "integer"),
        ({"allOf": [{"type": "string"}]}, "takes string"),
        ({"type": "object", "allOf": [{"type": "string"}]}, "object and string at once"),
        ({"enum": ["a"]}, "takes string"),
        ({"const": 3}, "takes integer"),
        ({"not": {"type": "object"}}, "arguments are an object"),
        ({"not": {}}, "takes nothing"),
        ({"type": "number"}, "takes number,"),
        ({"type": "object", "required": ["a"], "properties": {"a": False}}, "requires 'a'"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "requires 'a'"),
        (
            {"properties": {"a": {"$ref": "#/$defs/E"}}, "$defs": {"E": {"type": "string", "enum": [1]}}},
            "wants",
        ),
        ({"properties": {"a": {"items": {"type": "string", "enum": [1]}}}}, "wants string"),
        (
            {"properties": {"a": {"anyOf": [{"type": "string", "enum": [1]}, {"type": "null"}]}}},
            "wants string",
        ),
        ({"properties": {"a": {"allOf": [{"type": "string"}, {"enum": [1]}]}}}, "string and integer at once"),
    ],
)
def test_a_schema_that_nothing_fits_says_so_and_judges_nothing(schema, reason):
    assert reason in plan(json.dumps(schema).encode(), Limits()).fault


@pytest.mark.parametrize(
    ("schema", "fits", "fails"),
    [
        ({"properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}}, {"a": 1}, {"a": 0}),
        ({"properties": {"a": {"minimum": 0, "exclusiveMinimum": False}}}, {"a": 0}, {"a": -1}),
        ({"properties": [], "required": ["b"]}, {"b": 1}, {}),
        ({"properties": {"a": []}, "required": ["b"]}, {"a": 1, "b": 1}, {"a": 1}),
        ({"properties": {"a": {"items": [], "type": "array"}}}, {"a": [1]}, {"a": 1}),
        ({"properties": {"a": {"type": ["string", "null"], "enum": ["x", None]}}}, {"a": None}, {"a": "y"}),
        ({"properties": {"a": {"type": "integer", "enum": ["1", 2]}}}, {"a": 2}, {"a": 3}),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}, {"c": 1}),
        ({"$defs": {"E": {"type": "string", "enum": [1]}}, "required": ["a"]}, {"a": 1}, {}),
        ({"definitions": {"E": {"enum": []}}, "required": ["a"]}, {"a": 1}, {}),
        (
            {"properties": {"a": {"not": {"type": "string", "enum": [1]}, "type": "integer"}}},
            {"a": 1},
            {"a": "1"},
        ),
        ({"if": {"type": "string", "enum": [1]}, "else": {"required": ["a"]}}, {"a": 1}, {}),
        ({"anyOf": [{"type": "string"}, {"required": ["a"]}]}, {"a": 1}, {}),
        ({"properties": {"a": False, "b": {"not": {}}}}, {}, {"a": 1}),
        ({"anyOf": [{"required": ["a"], "additionalProperties": False}, {"required": ["b"]}]}, {"b": 1}, {}),
        ({"$ref": "#/$defs/S", "$defs": {"S": {"required": ["a"]}}}, {"a": 1}, {}),
        ({"enum": [{"a": 1}, "b"]}, {"a": 1}, {"a": 2}),
        ({"properties": {"a": {"enum": [1e30, 2.0]}}}, {"a": 2}, {"a": 3}),
        ({"properties": {"a": {"$ref": "#"}, "b": False}}, {"a": {}}, {"a": {"b": 1}}),
    ],
)
def test_it_is_judged_as_it_was_written(schema, fits, fails):
    found = plan(json.dumps({"type": "object"} | schema).encode(), Limits())
    assert found.fault == ""
    assert found.validator.accepts(fits)
    assert not found.validator.accepts(fails)
