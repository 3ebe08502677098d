"""Cases of other agents' dialects. The adapter only translates fields; what runs is what the daemon runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.test_reference_cases import CASES as REFERENCE_CASES
from tests.unit.test_reference_cases import generated
from toolsearchd.catalog.compile import compile_snapshot
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.profile import settings_under
from toolsearchd.config.tool_search import resolve_tool_search
from toolsearchd.dialects.deepagents.dialect import DeepAgentsInterpreter, canonical_bytes
from toolsearchd.dialects.registry import DIALECTS, make_analyzer
from toolsearchd.dialects.views import make_view
from toolsearchd.disclosure.view import View
from toolsearchd.limits import Limits

DATA = Path(__file__).parents[1] / "data"
CASES = json.loads((DATA / "dialects.json").read_text("utf-8"))
SEARCH_CASES = [json.loads(line) for line in (DATA / "search_cases.jsonl").read_text("utf-8").splitlines()]


def named(cases: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


# --- deepagents ---------------------------------------------------------------------------------------

_MANY = re.compile(r"(\d+) tools (\D*?)(\d+)\.\.\D*?\d+, description '(.*)'")
_SIZED = re.compile(r"schema of (\d+) bytes")


def catalog_of(given: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A list of tools, or the words for one: `70 tools t00..t69, description 'x'`."""
    if isinstance(given, list):
        return given
    many = _MANY.fullmatch(given)
    assert many is not None, given
    count, prefix, first, description = many.groups()
    return [
        {"name": f"{prefix}{int(first) + at:0{len(first)}d}", "description": description}
        for at in range(int(count))
    ]


def definition_of(tool: dict[str, Any]) -> dict[str, Any]:
    """As a server lists it. `schema of N bytes` stands for a definition of that size in canonical JSON."""
    raw = {"name": tool["name"], "description": tool.get("description", "")}
    raw["inputSchema"] = tool.get("parameters") or {"type": "object"}
    sized = _SIZED.search(raw["description"])
    if sized is not None:
        function = {"name": raw["name"], "description": raw["description"], "parameters": raw["inputSchema"]}
        raw["inputSchema"] = {"type": "object", "description": ""}
        function["parameters"] = raw["inputSchema"]
        size = canonical_bytes({"type": "function", "function": function})
        raw["inputSchema"]["description"] = "s" * (int(sized[1]) - size)
    return raw


def deepagents_view(tools: list[dict[str, Any]]) -> View:
    definitions = [decode_definition(msgspec.json.encode(definition_of(tool)), Limits()) for tool in tools]
    source = Source(name="own", kind="plugin", definitions=tuple(definitions))
    snapshot = compile_snapshot(Snapshot.empty(), [source], {"default": make_analyzer("default")})
    settings, _ = resolve_tool_search(None)
    return make_view(snapshot, Grant(), dialect=DIALECTS["deepagents"], settings=settings, limits=Limits())


@named([case for case in CASES if case["dialect"] == "deepagents"])
def test_deepagents(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    interpreter = DeepAgentsInterpreter()
    interpreter.discovered = tuple(sorted(given.get("state", ())))
    assert interpreter.verbs[case["call"]["tool"]] == "search"
    answer = interpreter.search(deepagents_view(catalog_of(given["catalog"])), case["call"]["args"])
    for key, wanted in expect.items():
        if key == "text_contains":
            assert wanted in answer.value
        elif key == "text_bytes_max":
            assert len(answer.value.encode()) <= wanted
        elif key == "exposed":
            exposed = answer.fields["exposed"]
            assert (len(exposed) if isinstance(wanted, int) else exposed) == wanted
        else:
            assert answer.fields[key] == wanted


# --- hermes-v1 and nemoclaw-hermes --------------------------------------------------------------------


def reference_view(case: dict[str, Any], dialect: str) -> View:
    """The case's tools as servers and plugins of its names, under a dialect of the reference."""
    by_server: dict[str, list[Any]] = {}
    for tool in generated(case["given"]["tools"]):
        server = (tool.get("toolset") or "").removeprefix("mcp-")
        raw = {"name": tool["tool"] if server else tool["name"], "description": tool["description"]}
        raw["inputSchema"] = tool.get("parameters")
        by_server.setdefault(server, []).append(decode_definition(msgspec.json.encode(raw), Limits()))
    sources = [
        Source(name=name, kind="mcp" if name else "plugin", definitions=tuple(found))
        for name, found in by_server.items()
    ]
    chosen = DIALECTS[dialect]
    base, _ = resolve_tool_search(case["given"].get("config"))
    granted = case["given"].get("session_tools")
    public = tuple(granted) if granted is not None else ("*",)
    return make_view(
        compile_snapshot(Snapshot.empty(), sources, {chosen.ranker: make_analyzer(chosen.ranker)}),
        Grant(tools=public),
        dialect=chosen,
        settings=settings_under(base, chosen.presets, None),
        limits=Limits(),
    )


@named([case for case in SEARCH_CASES if "v1_matches" in case["expect"]])
def test_hermes_v1_finds(case: dict[str, Any]) -> None:
    view = reference_view(case, "hermes-v1")
    (query,) = case["when"]["queries"]
    args = {"query": query, "limit": case["when"]["limit"]}
    answer = view.dialect.interpreter().search(view, args)
    public = [view.tool_named(match["name"]).public_name for match in answer.value["matches"]]
    assert public == case["expect"]["v1_matches"]
    assert all(match["name"].startswith("mcp_") for match in answer.value["matches"])


@named([case for case in REFERENCE_CASES if case["area"] == "tiers"])
def test_hermes_v1_activates_by_weight(case: dict[str, Any]) -> None:
    config = dict(case["given"].get("config") or {})
    config.pop("threshold_pct", None)  # what is expected is told for its 10 percent
    view = reference_view(case | {"given": case["given"] | {"config": config}}, "hermes-v1")
    context = case["when"]["context_length"]
    fields = view.assemble(context_length=context, count=len, separate_listing=False).fields
    bridged = {tool["function"]["name"] for tool in fields["tools"]} >= {"tool_search", "tool_call"}
    assert bridged == case["expect"]["v1_would_activate_at_10pct"]
    assert reference_view(case, "hermes").eager_tokens(len) == case["expect"]["deferred_tokens_chars4"]


@named([case for case in SEARCH_CASES if case["area"] == "scoping" and case["when"]["op"] == "tool_search"])
@pytest.mark.parametrize("dialect", ["hermes", "nemoclaw-hermes"])
def test_scoping(case: dict[str, Any], dialect: str) -> None:
    view = reference_view(case, dialect)
    found = view.search({"queries": case["when"]["queries"], "limit": case["when"]["limit"]})
    assert found["results"][0]["matches"] == case["expect"]["matches"]
    assert found["total_available"] == case["expect"]["total_available"]


ANSWERED = [
    case
    for case in REFERENCE_CASES
    if case["area"] == "tool_search_request"
    and not (case["expect"].get("error") or case["given"].get("config"))
]


@named(ANSWERED)
def test_nemoclaw_hermes_answers_like_hermes_within_its_limits(case: dict[str, Any]) -> None:
    view = reference_view(case, "nemoclaw-hermes")
    assert (view.settings.search_default_limit, view.settings.max_search_limit) == (5, 20)
    reply = view.search(case["when"]["args"])
    for group, wanted in zip(reply["results"], case["expect"]["results"], strict=True):
        assert group["matches"] == wanted["matches"][:20]
