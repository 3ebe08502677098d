"""Definitions as servers write them, good and bad."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolsearchd.catalog.definition import clip_depth, decode_definition, json_depth
from toolsearchd.catalog.model import OPEN_SCHEMA, Definition
from toolsearchd.limits import Limits

LIMITS = Limits()


def decoded(**fields: Any) -> Definition:
    return decode_definition(
        json.dumps({"name": "t", "inputSchema": {"type": "object"}, **fields}).encode(), LIMITS
    )


def test_a_plain_tool() -> None:
    tool = decoded(
        title="Title",
        description="Words",
        annotations={"readOnlyHint": True, "destructiveHint": False},
        outputSchema={"type": "object"},
    )
    assert (tool.name, tool.title, tool.description) == ("t", "Title", "Words")
    assert (tool.read_only, tool.destructive, tool.unvalidatable) == (True, False, "")
    assert tool.output_schema == b'{"type":"object"}'


@pytest.mark.parametrize("name", ["", "   ", None, 5, ["x"], {"a": 1}, True])
def test_a_bad_name_costs_the_tool(name: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        decoded(name=name)


@pytest.mark.parametrize("raw", [b"", b"[]", b"5", b"null", b"{", b'{"name":"\xff"}', b'{"description":"x"}'])
def test_no_tool_at_all(raw: bytes) -> None:
    with pytest.raises(ValueError):
        decode_definition(raw, LIMITS)


@pytest.mark.parametrize("schema", [None, True])
def test_a_missing_schema_is_open(schema: Any) -> None:
    tool = decoded(inputSchema=schema)
    assert (tool.input_schema, tool.unvalidatable) == (OPEN_SCHEMA, "")
    assert decode_definition(b'{"name":"t"}', LIMITS).digest == tool.digest


@pytest.mark.parametrize(
    ("schema", "kind"), [([], "a list"), ("x", "text"), (5, "a number"), (False, "false")]
)
def test_a_schema_that_is_none_costs_the_validation_only(schema: Any, kind: str) -> None:
    tool = decoded(inputSchema=schema)
    assert tool.input_schema == OPEN_SCHEMA
    assert kind in tool.unvalidatable


@pytest.mark.parametrize("text", [None, 5, ["x"]])
def test_other_texts_of_the_wrong_kind_are_empty(text: Any) -> None:
    tool = decoded(description=text, title=text, annotations=text, outputSchema=text)
    assert (tool.description, tool.title, tool.annotations, tool.output_schema) == ("", "", b"", b"")


def test_the_title_may_come_from_the_annotations() -> None:
    assert decoded(annotations={"title": "T"}).title == "T"


def nested(levels: int) -> bytes:
    return b'{"properties":{"a":' * levels + b"{}" + b"}}" * levels


@pytest.mark.parametrize("levels", [200, 10_000, 100_000])
def test_a_schema_nested_too_deeply_leaves_the_tool(levels: int) -> None:
    tool = decode_definition(b'{"name":"deep","inputSchema":' + nested(levels) + b"}", LIMITS)
    assert (tool.name, tool.input_schema) == ("deep", OPEN_SCHEMA)
    assert "deep" in tool.unvalidatable


def test_depth_ignores_brackets_in_strings() -> None:
    assert json_depth(b'{"a":"[[[[","b":"\\"{{{","c":[1,[2]]}') == 3
    assert json_depth(b'"\\\\"') == 0
    assert json_depth(nested(50_000)) == 100_001


def test_depth_of_broken_text_is_a_number() -> None:
    for text in (b'{"a', b"]]]]", b'"', b"\\", b'{"a":"\\', b"\xff\xfe"):
        assert json_depth(text) >= 0


def test_clipping_keeps_what_is_shallow() -> None:
    line = b'{"a":{"b":{"c":{"d":1},"e":"}{"},"f":2},"g":[[[[5]]],6]}'
    clipped = json.loads(clip_depth(line, 3))
    cut = {"x-toolsearchd-cut": True}
    assert clipped == {"a": {"b": {"c": cut, "e": "}{"}, "f": 2}, "g": [[cut], 6]}
    assert clip_depth(line, 10) == line


def test_a_whole_line_can_be_clipped_before_any_decoder_sees_it() -> None:
    line = b'{"result":{"tools":[{"name":"a","inputSchema":' + nested(5_000) + b'},{"name":"b"}]}}'
    clipped = json.loads(clip_depth(line, LIMITS.schema_depth))
    first, second = (
        decode_definition(json.dumps(tool).encode(), LIMITS) for tool in clipped["result"]["tools"]
    )
    assert "deep" in first.unvalidatable
    assert (second.name, second.unvalidatable) == ("b", "")


def test_key_order_and_white_space_do_not_change_the_digest() -> None:
    one = b'{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{},"b":{}}}}'
    two = (
        b'{ "inputSchema" : {"properties" : {"b":{}, "a":{}}, "type":"object"}, "description":"d","name":"t"}'
    )
    assert decode_definition(one, LIMITS).digest == decode_definition(two, LIMITS).digest


@pytest.mark.parametrize(
    "change",
    [
        {"name": "u"},
        {"title": "x"},
        {"description": "x"},
        {"inputSchema": {"type": "object", "properties": {"a": {}}}},
        {"outputSchema": {"type": "object"}},
        {"annotations": {"readOnlyHint": True}},
        {"inputSchema": {"type": "object", "default": "obey"}},
    ],
)
def test_everything_a_model_or_validator_sees_is_in_the_digest(change: dict[str, Any]) -> None:
    assert decoded(**change).digest != decoded().digest


def test_a_lone_surrogate_or_an_absurd_number_costs_the_tool_or_its_schema() -> None:
    with pytest.raises(ValueError):
        decode_definition(b'{"name":"\\ud800"}', LIMITS)
    tool = decode_definition(b'{"name":"t","inputSchema":{"maximum":1e999}}', LIMITS)
    assert (tool.input_schema, bool(tool.unvalidatable)) == (OPEN_SCHEMA, True)
