"""A default that is the time of the server's start is no change of the tool."""

import json

import pytest

from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.moments import is_moment
from toolsearchd.limits import Limits

MOMENTS = [
    "2026-10-31T02:10:32.530Z",
    "2026-10-31T02:10:32.530000+00:00",
    "2026-10-31 02:10:32",
    "2026-10-31T02:10",
    "2026-10-31T02:10:32+0100",
    "2026-10-31T02:10:32.5Z[UTC]",
    "20261031T021032Z",
    "2026-10-31",
    "2026/10/31",
    "10/31/2026",
    "31.10.2026",
    "10/31/2026, 2:10:32 AM",
    "02:10:32",
    "2:10 PM",
    "Sat, 31 Oct 2026 02:10:32 GMT",
    "Sat Oct 31 2026 02:10:32 GMT+0000 (Coordinated Universal Time)",
    "October 31, 2026",
    "31-Oct-2026",
]
OTHERS = [
    "",
    "7d",
    "now",
    "2026",
    "20261031",
    "120000",
    "1.2.3",
    "1761876632530",
    "v2026-10-31",
    "2026-10-31-preview",
    "since 2026-10-31",
    "2026-10-31\n",
    " 2026-10-31",
    "2026-13-01",
    "2026-10-31 or later",
    "2026-10-31T02:10:32Z; rm -rf /",
    "10.0.0.1",
    "12:34:56:78",
    "may",
    "-1",
]


def digest(schema, **fields):
    tool = {"name": "t", "inputSchema": schema, **fields}
    return decode_definition(json.dumps(tool).encode(), Limits()).digest


def of(default, **more):
    return {"type": "object", "properties": {"since": {"type": "string", "default": default, **more}}}


@pytest.mark.parametrize("text", MOMENTS)
def test_a_date_or_time_is_known(text):
    assert is_moment(text)
    assert digest(of(text)) == digest(of("1999-01-02")) != digest(of("soon"))


@pytest.mark.parametrize("text", OTHERS)
def test_nothing_else_is_taken_for_one(text):
    assert not is_moment(text)
    assert digest(of(text)) != digest(of("1999-01-02"))


@pytest.mark.parametrize(
    "at",
    [
        lambda text: {"items": {"default": text}},
        lambda text: {"anyOf": [{"type": "null"}, {"default": text}]},
        lambda text: {"$defs": {"default": {"default": text}}},
        lambda text: {"properties": {"default": {"default": text}, "enum": {"default": text}}},
        lambda text: {"default": text},
    ],
)
def test_wherever_a_schema_has_a_default(at):
    assert digest(at("2026-10-31")) == digest(at("2026-11-01"))
    same = {"inputSchema": {}, "outputSchema": at("2026-10-31")}
    assert digest({}, **same) == digest({}, **same | {"outputSchema": at("2026-11-01")})


@pytest.mark.parametrize(
    "at",
    [
        lambda text: {"const": text},
        lambda text: {"enum": [text]},
        lambda text: {"enum": [{"default": text}]},
        lambda text: {"description": text},
        lambda text: {"default": [text]},
        lambda text: {"default": {"default": text}},
        lambda text: {"properties": {text: {}}},
        lambda text: {"properties": {"a": {"examples": [{"default": text}]}}},
    ],
)
def test_what_is_no_default_counts(at):
    assert digest(at("2026-10-31")) != digest(at("2026-11-01"))


def test_a_tools_description_counts():
    assert digest({}, description="2026-10-31") != digest({}, description="2026-11-01")
