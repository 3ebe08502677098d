"""What no value can meet, by the reader's word, the validator refuses: never the other way round."""

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.dispatch.takes import _kind_of, kinds_that_fit

SCALARS = st.sampled_from([None, True, 0, 1, 1.0, 2.5, "a", "b"])
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("ab"), below, max_size=2),
    max_leaves=4,
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, max_size=3),
        "const": VALUES,
        "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b"]),
    },
)


def _larger(below):
    some = st.lists(below, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": below,
            "if": below,
            "then": below,
            "else": below,
            "properties": st.dictionaries(st.sampled_from("ab"), below, max_size=2),
            "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
            "additionalProperties": below,
        },
    )


SCHEMAS = st.recursive(LEAVES | st.booleans(), _larger, max_leaves=8)
SAMPLES = [None, True, 1, 2.5, "a", [], {}]
ROOTS = _larger(SCHEMAS) | LEAVES


@given(ROOTS, st.fixed_dictionaries({"a": SCHEMAS, "b": KINDS.map(lambda kind: {"type": kind})}), VALUES)
def test_what_is_of_no_kind_that_fits_is_refused(root, stored, value):
    stored["a"] = {"anyOf": [stored["b"], True]} if "#/$defs/a" in repr(stored["a"]) else stored["a"]
    schema = root | {"$defs": stored}
    fit = kinds_that_fit(schema, {f"#/$defs/{name}": part for name, part in stored.items()}, "2020-12")
    validator = jsonschema_rs.Draft202012Validator(schema)
    for one in (value, {}, {"a": value}, "a", 1, None):
        assert _kind_of(one) in fit or not validator.is_valid(one)


@given(LEAVES)
def test_of_plain_words_each_kind_that_fits_has_a_value(leaf):
    schema = {key: value for key, value in leaf.items() if key in ("type", "const")}
    literals = [schema["const"]] if "const" in schema else SAMPLES
    found = {_kind_of(one) for one in literals if jsonschema_rs.Draft202012Validator(schema).is_valid(one)}
    assert kinds_that_fit(schema, {}, "2020-12") == found
