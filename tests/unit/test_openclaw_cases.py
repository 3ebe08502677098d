"""OpenClaw's cases: settings, searches, batches, calls. The adapter only translates fields."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.openclaw_catalog import interpreter, tool_source, view_of
from toolsearchd.dialects.openclaw.options import resolve_options
from toolsearchd.disclosure.view import View
from toolsearchd.errors import ToolsearchdError

CASES = [
    case
    for case in json.loads((Path(__file__).parents[1] / "data" / "dialects.json").read_text("utf-8"))
    if case["dialect"].startswith("openclaw")
]


def cases(kind: str) -> Any:
    chosen = [case for case in CASES if kind == ("config" if "config" in case["given"] else "call")]
    assert chosen
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def dialect_of(case: dict[str, Any]) -> str:
    return str(case["dialect"]).lower()


def catalog(given: Any) -> list[dict[str, Any]]:
    """The tools of a case, those too that it describes in words."""
    if isinstance(given, list):
        return given
    many, chars = re.fullmatch(r"(\d+) tools, each description (\d+) chars", given).groups()
    words = "another tool that does one more thing "
    described = (words * (int(chars) // len(words) + 1))[: int(chars)]
    return [{"server": "many", "name": f"tool_{n}", "description": described} for n in range(int(many))]


@cases("config")
def test_config(case: dict[str, Any]) -> None:
    generation = {"openclaw-g1": "g1", "openclaw-g3": "g3"}.get(dialect_of(case), "g2")
    found = msgspec.to_builtins(resolve_options(case["given"]["config"], generation))
    assert {key: found[key] for key in case["expect"]} == case["expect"]


@cases("call")
def test_call(case: dict[str, Any]) -> None:
    view, expect = (
        view_of(*tool_source(catalog(case["given"]["catalog"])), dialect=dialect_of(case)),
        case["expect"],
    )
    try:
        value, text = carried_out(view, case["call"]["tool"], case["call"]["args"])
    except ToolsearchdError as error:
        assert "error" in expect or "error_contains" in expect, error
        assert expect.get("error", error.message) == error.message
        assert expect.get("error_contains", "") in error.message
        return
    assert not expect.keys() & {"error", "error_contains"}
    judge(value, text, expect)


def judge(value: Any, text: str, expect: dict[str, Any]) -> None:
    known = {"type", "first_id", "each_has", "input", "equals", "text_len_max", "truncated", "desc_len_max"}
    known |= {"dispatched", "envelope"}
    assert expect.keys() <= known, "a kind of expectation that this adapter does not know"
    if expect.get("type") == "array":
        assert isinstance(value, list)
    candidates = (
        value if isinstance(value, list) else [c for g in value.get("results", ()) for c in g["candidates"]]
    )
    if "first_id" in expect:
        assert candidates[0]["id"] == expect["first_id"]
    for candidate in candidates:
        assert set(expect.get("each_has", ())) <= candidate.keys()
        assert candidate["input"] == expect.get("input", candidate["input"])
        assert len(candidate["description"]) <= expect.get("desc_len_max", 20_000)
    if "equals" in expect:
        assert value == expect["equals"]
    assert len(text) <= expect.get("text_len_max", len(text))
    if "truncated" in expect:
        assert value.get("truncated", False) == expect["truncated"]
    if "dispatched" in expect:
        assert value["dispatched"] == expect["dispatched"]
        assert {key: value[key] for key in expect["envelope"]} == expect["envelope"]


def carried_out(view: View, tool: str, args: dict[str, Any]) -> tuple[Any, str]:
    talk = interpreter(view)
    verb = talk.verbs[tool]
    if verb == "search":
        answer = talk.search(view, args)
        return answer.value, answer.text or ""
    if verb == "describe":
        answer = talk.describe(view, args, ())
        return answer.value, answer.text or ""
    calls = talk.calls(view, args)
    (call,) = calls.args["calls"]
    target = view.tool_named(call["name"])
    assert target is not None
    told = calls.value_of({"results": [{"index": 0, "name": call["name"], "response": {"content": []}}]})
    return told | {"dispatched": {"tool": target.name, "input": call["arguments"]}}, ""
