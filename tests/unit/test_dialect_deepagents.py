"""The bounds of `search_tools`: names, schemas, the discovered set, the page and the text."""

import msgspec
import pytest

from tests.unit.disclosure_catalog import snapshot, source
from toolsearchd.catalog.grant import Grant
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.deepagents.dialect import (
    DISCOVERED,
    SCHEMAS_BYTES,
    TEXT_BYTES,
    DeepAgentsInterpreter,
    bounded,
    canonical_bytes,
    is_eligible_name,
)
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.dialects.views import make_view
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits


def view(tools):
    """`tools`: names and descriptions, or definitions; an agent's own, so that they bear those names."""
    return make_view(
        snapshot(source("own", tools, kind="plugin")),
        Grant(),
        dialect=DIALECTS["deepagents"],
        settings=ToolSearch(),
        limits=Limits(),
    )


def padded(name, size, description="big"):
    """A tool whose definition takes `size` bytes as canonical JSON."""
    schema = {"type": "object", "description": ""}
    function = {"name": name, "description": description, "parameters": schema}
    schema["description"] = "p" * (size - canonical_bytes({"type": "function", "function": function}))
    return {"name": name, "description": description, "inputSchema": schema}


def search(interpreter, seen, query):
    return interpreter.search(seen, {"query": query})


@pytest.mark.parametrize(
    ("name", "eligible"),
    [
        ("n" * 118, True),
        ("n" * 119, False),  # 121 bytes as JSON text
        ("é" * 59, True),
        ("é" * 60, False),
        ('"' * 59, True),
        ('"' * 60, False),  # each takes two bytes as JSON text
        ("bad\ud800", False),
    ],
)
def test_names(name, eligible):
    assert is_eligible_name(name) == eligible


@pytest.mark.parametrize(("size", "found"), [(16_384, 1), (16_385, 0)])
def test_schemas(size, found):
    answer = search(DeepAgentsInterpreter(), view([padded("one", size)]), "big")
    assert answer.fields["found"] == found
    assert len(answer.fields["discovered"]) == found


def test_the_whole_query_is_looked_for_in_any_case():
    seen = view({"Straße_map": "Draw a street", "other": "Draw a STRASSE too", "third": "street, a draw"})
    assert search(DeepAgentsInterpreter(), seen, "  STRASSE ").fields["discovered"] == ["Straße_map", "other"]
    assert search(DeepAgentsInterpreter(), seen, "a street").fields["discovered"] == ["Straße_map"]
    for query in ("", "   ", "map draw"):
        assert search(DeepAgentsInterpreter(), seen, query).fields["found"] == 0


def test_core_names_are_never_found():
    assert search(DeepAgentsInterpreter(), view({"grep": "find text", "rg": "find text"}), "find").fields[
        "discovered"
    ] == ["rg"]


def test_no_search_pushes_out_what_was_discovered():
    names = [f"m{at:02}" for at in range(DISCOVERED)]
    seen = view(dict.fromkeys(names, "middle") | {"a": "first", "z": "last"})
    interpreter = DeepAgentsInterpreter()
    for at in range(0, DISCOVERED, 10):
        search(interpreter, seen, f"m{at // 10}")
    assert list(interpreter.discovered) == names
    for query in ("first", "last"):
        answer = search(interpreter, seen, query)
        assert answer.fields["exposed"] == []
        assert "1 not exposed: state limit" in answer.value
        assert not answer.exposes
    assert list(interpreter.discovered) == names
    assert len(msgspec.json.encode(interpreter.discovered)) <= 8_192


def test_no_search_pushes_a_schema_out_of_the_models_sight():
    large = [padded(f"m{at}", 16_384, f"large {at}") for at in range(8)]  # exactly the room there is
    seen = view([*large, padded("a", 1_000, "small"), padded("z", 1_000, "small")])
    interpreter = DeepAgentsInterpreter()
    search(interpreter, seen, "large")
    assert len(interpreter.shown(seen)) == 8
    assert sum(map(canonical_bytes, interpreter.shown(seen))) == SCHEMAS_BYTES
    answer = search(interpreter, seen, "small")
    assert (answer.fields["found"], answer.fields["exposed"]) == (2, [])
    assert "2 not exposed: schema limits" in answer.value
    assert len(interpreter.shown(seen)) == 8


def test_a_schema_over_the_room_is_skipped_and_the_next_one_still_fits():
    seen = view([*(padded(f"b{at}", 16_000) for at in range(9)), padded("c", 500)])
    interpreter = DeepAgentsInterpreter()
    interpreter.discovered = (*(f"b{at}" for at in range(9)), "c")
    shown = [tool["function"]["name"] for tool in interpreter.shown(seen)]
    assert shown == [*(f"b{at}" for at in range(8)), "c"]


def test_what_is_gone_is_not_shown_and_what_comes_back_is():
    interpreter = DeepAgentsInterpreter()
    both, one = view({"x": "tool", "y": "tool"}), view({"y": "tool"})
    search(interpreter, both, "tool")
    assert [tool["function"]["name"] for tool in interpreter.shown(one)] == ["y"]
    assert [tool["function"]["name"] for tool in interpreter.shown(both)] == ["x", "y"]


def test_the_lines_of_the_text():
    long = "word " * 100
    seen = view({"a": "find\n me\x1b[31m", "b": "", "b_find": long})
    lines = search(DeepAgentsInterpreter(), seen, "find").value.splitlines()
    assert lines[:2] == ["found 2 / returning 2 (limit 20)", "- a: find me"]
    text = lines[2].removeprefix("- b_find: ")
    assert (len(text), text[-1]) == (256, "…")
    assert "- b: No description provided." in search(DeepAgentsInterpreter(), seen, "b").value


def test_the_text_is_cut_between_two_characters():
    seen = view({f"t{at:02}": "x" + "語" * 300 for at in range(20)})
    text = search(DeepAgentsInterpreter(), seen, "x").value
    assert len(text.encode()) <= TEXT_BYTES
    assert text.endswith("the rest was cut")
    for spare in range(4):
        cut = bounded("y" * spare + "語" * TEXT_BYTES)
        assert TEXT_BYTES - 4 < len(cut.encode()) <= TEXT_BYTES
        assert "\ufffd" not in cut


@pytest.mark.parametrize(
    "args", [{}, {"query": 7}, {"query": None}, {"query": "x" * 257}, {"queries": ["a", "b"]}]
)
def test_what_is_no_query(args):
    with pytest.raises(ToolsearchdError) as caught:
        DeepAgentsInterpreter().search(view({"a": "b"}), args)
    assert caught.value.code == "BAD_ARGUMENTS"
    assert "query" in caught.value.message
