"""Calls, schemas and arguments by length that make work, and schemas with arguments of their size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from tests.soak.documents import rows_of
from tests.soak.hostile import Family, many_keys, pumped
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Definition
from toolsearchd.limits import Limits

CALLS: dict[str, Family] = {
    "entries": rows_of("[", '{"name": "x", "arguments": {"a": %}}', "]", ","),
    "entries cut": rows_of("[", '{"name": "x", "arguments": {"a": %}}', ""),
    "a fence": lambda n: "```json\n" + "a \n" * (n // 3) + "```",
    "a fence of spaces": lambda n: "```json\n{}" + " " * n + "x```",
    "a fence of fences": lambda n: "```\n" + "``` \n" * (n // 5) + "x",
    "text in text": lambda n: json.dumps(json.dumps({"a": "b" * (n // 2)})),
    "closers at the end": lambda n: '[{"name": "x"}]' + "]" * n,
    "closers and spaces": lambda n: '[{"name": "x"}]' + "] " * (n // 2) + "x",
    "cut in a text": lambda n: '[{"name": "x", "arguments": {"a": "' + '\\"' * (n // 2),
}
SCHEMAS: dict[str, Family] = {
    "properties": rows_of('{"type":"object","properties":{', '"k%":{"type":"string"}', "}}", ","),
    "references": rows_of('{"$defs":{"a":{}},"properties":{', '"k%":{"$ref":"#/$defs/a"}', "}}", ","),
    "distinct references": lambda n: json.dumps(
        {
            "$defs": {f"d{at}": {} for at in range(n // 60)},
            "properties": {f"k{at}": {"$ref": f"#/$defs/d{at}"} for at in range(n // 60)},
        }
    ),
    "a chain of references": lambda n: json.dumps(
        {"$defs": {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(n // 40)} | {f"d{n // 40}": {}}}
    ),
    "anchors": lambda n: json.dumps(
        {
            "$defs": {f"d{at}": {"$anchor": f"a{at}"} for at in range(n // 80)},
            "properties": {f"k{at}": {"$ref": f"#a{at}"} for at in range(n // 80)},
        }
    ),
    "alternatives": lambda n: json.dumps({"anyOf": [{"type": "string"}] * (n // 20)}),
    "alternatives of items": lambda n: json.dumps({"items": {"anyOf": [{"type": "string"}] * (n // 40)}}),
    "patterns": lambda n: json.dumps(
        {"patternProperties": {f"^{at}": {} for at in range(min(199, n // 20))}}
    ),
    "a long pattern": lambda n: json.dumps(
        {"items": {"type": "string", "pattern": "(?=a)" + "a" * min(n, 65_000)}}
    ),
    "a long enum": lambda n: json.dumps({"items": {"enum": [[at] for at in range(n // 10)]}}),
    "a long pointer": lambda n: json.dumps({"properties": {"a": {"$ref": "#/" + "a/" * (n // 2)}}}),
    "nullables": rows_of('{"properties":{', '"k%":{"type":"string","nullable":true}', "}}", ","),
    "a tree of alternatives": lambda n: json.dumps({"allOf": [{"anyOf": [{}, {}]}] * (n // 30)}),
}
ARGUMENTS: dict[str, Family] = {
    "words for numbers": rows_of('{"list":[', '"%"', "]}", ","),
    "numbers for words": rows_of('{"words":[', "1%", "]}", ","),
    "text of lists": lambda n: json.dumps({"list": json.dumps(["1"] * (n // 8))}),
    "unknown names": many_keys(same=False),
    "unknown long names": lambda n: json.dumps({f"{at}" + "x" * 60: 1 for at in range(n // 70)}),
    "alternatives": rows_of('{"either":[', '{"kind":"b","at":%}', "]}", ","),
    "odd alternatives": rows_of('{"either":[', '{"kind":"c","at":"%"}', "]}", ","),
    "a pattern": lambda n: json.dumps({"matched": "a" * n}),
    "patterns": rows_of('{"matched":[', '"aaaa%"', "]}", ","),
    "no two alike": rows_of('{"unique":[', '"%"', "]}", ","),
    "no two alike, of lists": rows_of('{"unique":[', "[%1]".replace("%1", "1%"), "]}", ","),
    "deep lists": lambda n: '{"deep":' + "[" * min(n // 2, 190) + "]" * min(n // 2, 190) + "}",
}


def _sized(make: Any) -> Family:
    """A schema and arguments for it, of `count` parts each."""
    return lambda n: json.dumps(dict(zip(("schema", "arguments"), make(max(1, n // 40)), strict=True)))


PAIRS: dict[str, Family] = {
    "an enum and a list": _sized(
        lambda count: (
            {"properties": {"a": {"items": {"enum": [f"v{at}" for at in range(count)]}}}},
            {"a": ["x"] * count},
        )
    ),
    "an enum of one list": _sized(
        lambda count: (
            {"properties": {"a": {"items": {"enum": [[at] for at in range(count)]}}}},
            {"a": [[-1]] * count},
        )
    ),
    "properties and names": _sized(
        lambda count: (
            {
                "properties": {f"k{at}": {"type": "integer"} for at in range(count)},
                "additionalProperties": False,
            },
            {f"j{at}": 1 for at in range(count)},
        )
    ),
    "numbers as text": _sized(
        lambda count: (
            {"properties": {f"k{at}": {"type": "integer"} for at in range(count)}},
            {f"k{at}": "1" for at in range(count)},
        )
    ),
    "alternatives of lists": _sized(
        lambda count: (
            {
                "properties": {
                    "a": {
                        "items": {
                            "anyOf": [
                                {"type": "object", "required": [f"k{at}"]} for at in range(count // 20 + 1)
                            ]
                        }
                    }
                }
            },
            {"a": [{}] * (count // 20 + 1)},
        )
    ),
    "alternatives for text": _sized(
        lambda count: (
            {
                "properties": {
                    "a": {"type": "array", "items": {"anyOf": [{"type": "array"}] * (count // 8 + 1)}}
                }
            },
            {"a": ["[1]"] * count},
        )
    ),
    "required": _sized(
        lambda count: ({"required": [f"k{at}" for at in range(count)]}, {f"j{at}": 1 for at in range(count)})
    ),
    "a long pattern": _sized(
        lambda count: (
            {
                "properties": {
                    "a": {"items": {"type": "string", "pattern": "(?=a)" + "a" * min(count, 60_000)}}
                }
            },
            {"a": ["a"] * count},
        )
    ),
    "patterns for names": _sized(
        lambda count: (
            {"patternProperties": {f"^{at}": {} for at in range(min(count, 199))}},
            {f"k{at}": 1 for at in range(count)},
        )
    ),
    "all of": _sized(
        lambda count: (
            {"allOf": [{"properties": {f"k{at}": {"type": "integer"}}} for at in range(count)]},
            {f"k{at}": "1" for at in range(count)},
        )
    ),
}
PATHS: dict[str, Family] = {
    "folders": pumped("/", "a/"),
    "back and forth": pumped("/", "a/../"),
    "back": pumped("/", "../"),
    "many": rows_of("", "/a/%", "", ","),
}


def arguments_for(n: int) -> Iterator[Any]:
    """Arguments of about `n` characters."""
    count = min(max(1, n // 8), 18_000)
    yield {f"k{at:08}": "x" for at in range(count)}
    yield ["a" * 4] * count
    yield [[at] for at in range(count // 2)]
    yield "a" * n


@cache
def definition() -> Definition:
    return definition_of(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": {"type": "integer"}},
                "words": {"type": "array", "items": {"type": "string"}},
                "number": {"type": "number"},
                "text": {"type": "string", "maxLength": 10},
                "matched": {"type": "string", "pattern": "^(a|aa)+$"},
                "unique": {"type": "array", "uniqueItems": True},
                "deep": {"$ref": "#/$defs/deep"},
                "either": {
                    "type": "array",
                    "items": {
                        "anyOf": [
                            {
                                "properties": {"kind": {"const": "a"}, "at": {"type": "integer"}},
                                "required": ["kind"],
                            },
                            {
                                "properties": {"kind": {"const": "b"}, "at": {"type": "string"}},
                                "required": ["kind"],
                            },
                        ]
                    },
                },
            },
            "$defs": {"deep": {"type": "array", "items": {"$ref": "#/$defs/deep"}}},
            "required": ["number"],
            "additionalProperties": False,
        }
    )


def definition_of(schema: Any) -> Definition:
    return decode_definition(msgspec.json.encode({"name": "x", "inputSchema": schema}), Limits())
