"""Tool names, descriptions and schemas that are out of bounds, from the wire to the index."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from toolsearchd.catalog.compile import compile_snapshot, document_of
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Definition, Source
from toolsearchd.catalog.naming import door_name, public_name
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import make_analyzer
from toolsearchd.index.fields import NAMES
from toolsearchd.limits import Limits

LIMITS = Limits()
ANALYZERS = {"default": make_analyzer("default")}


def tool(name: str, description: str = "", schema: dict[str, Any] | None = None) -> Definition:
    raw = {"name": name, "description": description, "inputSchema": schema or {"type": "object"}}
    return decode_definition(json.dumps(raw).encode(), LIMITS)


def compiled(*sources: Source, previous: Snapshot | None = None) -> Snapshot:
    return compile_snapshot(previous or Snapshot.empty(), sources, ANALYZERS)


def test_the_same_name_on_two_servers() -> None:
    one, other = (Source(name=name, definitions=(tool("search", "find it"),)) for name in ("a", "b"))
    for order in ((one, other), (other, one)):
        snapshot = compiled(*order)
        assert sorted(snapshot.by_public) == ["mcp__a__search", "mcp__b__search"]
        assert {t.server for t in snapshot.iter_tools()} == {"a", "b"}


ODD_NAMES = [
    "x" * 10_000,
    "!!!",
    "a\x1b[2J",
    "line\nbreak",
    "\u202egnp",
    "tag\U000e0041",
    "nul\x00",
    "a.b",
    "a_b",
    "A_B",
]
ODD_NAMES += ["cafe\u0301", "caf\u00e9", "a_b ", "\u0430_b"]


def test_odd_names_stay_apart_and_safe() -> None:
    snapshot = compiled(Source(name="s", definitions=tuple(tool(name) for name in ODD_NAMES)))
    assert len(snapshot) == len(ODD_NAMES)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in snapshot.by_public)
    assert {t.name for t in snapshot.iter_tools()} == set(ODD_NAMES)  # to its server each goes as it came
    assert len({door_name("s", name) for name in ODD_NAMES}) == len(ODD_NAMES)


@pytest.mark.parametrize(
    "description",
    ["word " * 1_000_000, " " * 1_000_000 + "word", "x" * 200_000, "<|endoftext|> \ud7ff" * 300_000],
)
def test_a_huge_description_is_analysed_up_to_a_bound(description: str) -> None:
    definition = tool("t", description)
    assert len(definition.description) == len(description)  # the model may still read all of it
    document = document_of(Source(name="s"), definition, LIMITS.analysed_bytes)
    assert len(document.description) <= LIMITS.analysed_bytes
    analysis = ANALYZERS["default"].analyse(document)
    assert analysis.lengths[NAMES.index("description")] <= LIMITS.analysed_bytes // 2
    assert max(map(len, analysis.terms.split("\n"))) <= 64


def test_odd_property_names_are_clipped_and_harmless() -> None:
    names = ["__proto__", "constructor", "a\x00b", "\x1b[31m", "q" * 1_000_000, "", "普通"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    document = document_of(Source(name="s"), tool("t", "", schema), None)
    assert len(document.parameters) == len(names)
    assert max(len(name) for name, _ in document.parameters) <= 200
    analysis = ANALYZERS["default"].analyse(document)
    assert "proto" in analysis.terms.split("\n")
    assert analysis.lengths[NAMES.index("parameters")] >= 5


def test_ten_thousand_properties_and_deep_ones() -> None:
    wide = {"type": "object", "properties": {f"p{n}": {"description": f"d{n}"} for n in range(10_000)}}
    assert len(document_of(Source(name="s"), tool("t", "", wide), None).parameters) == 10_000
    deep: dict[str, Any] = {"type": "object", "properties": {"leaf": {}}}
    for _ in range(50):
        deep = {"type": "object", "properties": {f"k{n}": deep for n in range(2)}}
        deep["properties"]["k1"] = {}
    document = document_of(Source(name="s"), tool("t", "", deep), None)
    assert len(document.nested) <= 200


def test_a_tool_that_returns_as_it_was_is_the_same_one() -> None:
    full = Source(name="s", definitions=(tool("a", "first"), tool("b", "second")))
    less = Source(name="s", definitions=full.definitions[:1])
    first = compiled(full)
    returned = compiled(full, previous=compiled(less, previous=first))
    for snapshot in (first, returned):
        assert "mcp__s__b" in snapshot.by_public
    one, other = (s.tools[s.by_public["mcp__s__b"]] for s in (first, returned))
    assert one is not None
    assert other is not None
    assert one.definition.digest == other.definition.digest
    assert tool("b", "changed").digest != other.definition.digest


def test_public_names_do_not_depend_on_what_else_there_is() -> None:
    assert public_name("s", "a.b") == public_name("s", "a.b")
    alone = compiled(Source(name="s", definitions=(tool("a.b"),)))
    among = compiled(Source(name="s", definitions=tuple(tool(name) for name in ("a_b", "a b", "a.b"))))
    assert set(alone.by_public) <= set(among.by_public)
