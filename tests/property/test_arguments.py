"""Arguments against any schema: what fits is sent as it came, coercion settles, nothing hangs or escapes."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema_rs
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.unvalidatable import unvalidatable_reason
from toolsearchd.catalog.model import Definition
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.dispatch.arguments import prepare
from toolsearchd.dispatch.coerce import coerce
from toolsearchd.dispatch.jsontext import JsonFault, read_json
from toolsearchd.dispatch.rules import RULES
from toolsearchd.dispatch.schema import read_schema
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

LIMITS = Limits()
NAMES = st.sampled_from(["a", "b", "kind", "odd key"])
TEXTS = st.sampled_from(
    ["", " ", "x", "1", "2.5", "1e3", "true", "null", "[1]", '["x"]', '{"a": "1"}', "a,b", '{"a":']
)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0]) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)
KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    keywords = {
        "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.just("^a"), inner, max_size=1),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "items": inner,
        "prefixItems": several,
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "nullable": st.booleans(),
        "minimum": st.integers(0, 2),
        "$ref": st.sampled_from(["#", "#/$defs/d", "#/$defs/e"]),
    }
    return st.fixed_dictionaries({}, optional=keywords)


SCHEMAS = st.recursive(
    st.booleans() | st.fixed_dictionaries({}, optional={"type": KINDS, "const": SCALARS}),
    compound,
    max_leaves=8,
)
ROOTS = st.builds(
    lambda root, d, e: {**(root if isinstance(root, dict) else {}), "$defs": {"d": d, "e": e}},
    SCHEMAS,
    SCHEMAS,
    SCHEMAS,
)


def definition(schema: Any) -> Definition:
    data = schema if isinstance(schema, bytes) else msgspec.json.encode(schema)
    return Definition(name="t", input_schema=data, digest="")


def outcome(tool: Definition, arguments: dict[str, Any], **more: Any) -> dict[str, Any] | str:
    """What would be sent, or the code of the refusal."""
    try:
        return prepare(tool, arguments, limits=LIMITS, **more)
    except ToolsearchdError as error:
        json.dumps(error.as_fields())
        assert len(error.message) < 2_000
        return error.code


@settings(max_examples=120, deadline=None)
@given(ROOTS, ARGUMENTS)
def test_only_what_fits_is_sent(schema, arguments):
    tool = definition(schema)
    before = json.dumps(arguments)
    sent = outcome(tool, arguments, unvalidatable="refuse")
    assert json.dumps(arguments) == before, "the given arguments were changed"
    folded = read_schema(tool.input_schema, LIMITS)
    if isinstance(sent, str):
        assert sent in ("INVALID_ARGUMENTS", "UNVALIDATABLE", "VALIDATION_BUDGET")
        return
    validator = jsonschema_rs.Draft202012Validator(folded.root, offline=True, validate_formats=False)
    assert validator.is_valid(sent)
    if validator.is_valid(arguments):
        assert json.dumps(sent) == before, "valid arguments were changed"


@settings(max_examples=120, deadline=None)
@given(ROOTS, ARGUMENTS)
def test_a_refusal_points_at_what_came_and_its_correction_fits(schema, arguments):
    tool = definition(schema)
    try:
        prepare(tool, arguments, limits=LIMITS)
    except ToolsearchdError as error:
        assert error.fields["path"].startswith("arguments")
        assert error.fields["constraint"]
        assert error.fields["expected"]
        corrected = error.fields.get("corrected")
        if corrected is not None:
            assert json.dumps(outcome(tool, corrected)) == json.dumps(corrected)


@settings(max_examples=120, deadline=None)
@given(ROOTS, ARGUMENTS)
def test_coercion_settles(schema, arguments):
    read = read_schema(msgspec.json.encode(schema), LIMITS)
    if read.fault:
        return
    once = coerce(arguments, read)
    assert json.dumps(coerce(once, read)) == json.dumps(once)


@settings(max_examples=80, deadline=None)
@given(ROOTS, ARGUMENTS)
def test_coercion_by_itself_leaves_valid_values_alone(schema, arguments):
    read = read_schema(msgspec.json.encode(schema), LIMITS)
    if read.fault:
        return
    validator = jsonschema_rs.Draft202012Validator(read.root, offline=True, validate_formats=False)
    if validator.is_valid(arguments):
        assert json.dumps(coerce(arguments, read)) == json.dumps(arguments)


@settings(max_examples=80, deadline=None)
@given(ROOTS, ARGUMENTS)
def test_the_reference_rules_never_fail_otherwise(schema, arguments):
    sent = outcome(definition(schema), arguments, rules=DIALECTS["hermes"].rules)
    assert isinstance(sent, dict) or sent == "INVALID_ARGUMENTS"


ODD_KEYS = st.sampled_from(
    "$ref $id $anchor $dynamicRef $recursiveRef $schema $defs definitions type properties items required "
    "enum pattern patternProperties dependencies dependentSchemas propertyNames contains "
    "unevaluatedProperties additionalItems multipleOf nullable anyOf not".split()
)
ODD_VALUES = st.recursive(
    SCALARS
    | st.sampled_from(["#", "#/", "#x", "#/$defs/a", "#/properties/a", "#/%", "http://x/y", "(a+)+$", "["]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_KEYS | NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=160, deadline=None)
@given(ODD_VALUES, ARGUMENTS)
def test_any_json_as_a_schema_costs_no_more_than_the_validation(schema, arguments):
    tool = definition(schema)
    reason = unvalidatable_reason(tool, LIMITS)
    assert isinstance(reason, str)
    sent = outcome(tool, arguments)
    assert isinstance(sent, dict) or sent == "INVALID_ARGUMENTS"
    if reason:
        assert sent is arguments
        assert outcome(tool, arguments, unvalidatable="refuse") in ("UNVALIDATABLE", "VALIDATION_BUDGET")
    outcome(tool, arguments, rules=DIALECTS["hermes"].rules)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_as_a_schema(data):
    assert isinstance(outcome(definition(data), {"a": "1"}), dict | str)


@settings(max_examples=120, deadline=None)
@given(st.dictionaries(st.sampled_from(["calls", "name", "arguments", "x"]), VALUES | st.text(max_size=20)))
def test_any_request_is_read_or_refused(args):
    for rules in ("default", "hermes"):
        try:
            requests = DIALECTS[rules].rules.parse(args, max_entries=5)
        except ToolsearchdError as error:
            assert error.code in ("BAD_ARGUMENTS", "TOO_MANY")
            continue
        assert requests
        assert all((request.arguments is None) != (request.error is None) for request in requests)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        ARGUMENTS.map(lambda arguments: {"name": "mcp__a__b", "arguments": arguments}),
        min_size=1,
        max_size=3,
    )
)
def test_every_shape_of_a_request_reads_the_same(entries):
    plain = RULES.parse({"calls": entries}, max_entries=5)
    text = json.dumps(entries)
    nested = {"calls": [{"name": "tool_call", "arguments": {"calls": text}}]}
    for args in ({"calls": text}, {"calls": text[:-1]}, {"calls": text[:-2]}, {"calls": text + "]"}, nested):
        assert RULES.parse(args, max_entries=5) == plain


@settings(max_examples=120, deadline=None)
@given(st.text(alphabet='[]{}",:1 nul', max_size=30))
def test_reading_text_fails_in_one_way(text):
    try:
        read_json(text)
    except JsonFault as fault:
        assert 0 <= fault.position <= len(text)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(["anyOf", "oneOf", "allOf", "not", "properties", "items"]), min_size=1, max_size=6
    ),
    st.integers(1, 3),
    st.booleans(),
    VALUES,
    st.integers(0, 30),
)
def test_schemas_that_multiply_end_soon(keywords, width, loops, leaf, depth):
    """Definitions that combine the next one several times, in a circle or ending; nested arguments."""
    levels = 5 * len(keywords)
    definitions: dict[str, Any] = {f"d{levels}": {"$ref": "#/$defs/d0"} if loops else {"type": "integer"}}
    for at in range(levels):
        following = {"$ref": f"#/$defs/d{at + 1}"}
        keyword = keywords[at % len(keywords)]
        below: Any = following if keyword in ("not", "items") else [following] * width
        below = dict.fromkeys("ab"[:width], following) if keyword == "properties" else below
        definitions[f"d{at}"] = {keyword: below}
    value = leaf
    for _ in range(depth):
        value = {"a": value, "b": [value]} if depth < 8 else {"a": value}
    began = time.monotonic()
    outcome(definition({"$ref": "#/$defs/d0", "$defs": definitions}), {"a": value})
    assert time.monotonic() - began < 5
