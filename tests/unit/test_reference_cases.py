"""The reference's cases for what a model sees: requests, replies, listings, tiers, settings, reconnects.

The adapter only translates fields; what runs is what the daemon runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolsearchd.catalog.compile import compile_snapshot
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.naming import keeps
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.sources import FORMATS
from toolsearchd.config.tool_search import resolve_tool_search
from toolsearchd.dialects.hermes.names import Candidate, register_names
from toolsearchd.dialects.registry import DIALECTS, make_analyzer
from toolsearchd.dialects.views import make_view
from toolsearchd.disclosure.budget import listing_budget
from toolsearchd.disclosure.listing import HEADER
from toolsearchd.disclosure.sanitise import short_description
from toolsearchd.disclosure.view import View
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.backoff import Backoff

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "disclosure_cases.jsonl")
    .read_text("utf-8")
    .splitlines()
]
SKIPPED = {
    "E10": "describes a connector's tool: connectors are not built yet",
    "E12": "a connector gateway is down: connectors are not built yet",
}
HERMES = DIALECTS["hermes"]


def cases(*areas: str) -> Any:
    chosen = [case for case in CASES if case["area"] in areas]
    marks = [
        pytest.param(
            case,
            id=case["id"],
            marks=[pytest.mark.skip(SKIPPED[case["id"]])] if case["id"] in SKIPPED else [],
        )
        for case in chosen
    ]
    return pytest.mark.parametrize("case", marks)


def generated(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`{"$generate": {count, index_from, …}}` expanded: `{i}` and `{i:04d}` in every text."""

    def filled(value: Any, number: int) -> Any:
        if isinstance(value, str):
            return value.format(i=number) if "{i" in value else value
        if isinstance(value, dict):
            return {key: filled(item, number) for key, item in value.items()}
        return [filled(item, number) for item in value] if isinstance(value, list) else value

    found = []
    for tool in tools:
        rule = tool.get("$generate")
        if rule is None:
            found.append(tool)
            continue
        template = {key: value for key, value in rule.items() if key not in ("count", "index_from")}
        template = template.get("template", template)
        start = rule.get("index_from", 0)
        found += [filled(template, number) for number in range(start, start + rule["count"])]
    return found


def snapshot_of(tools: list[dict[str, Any]]) -> Snapshot:
    by_server: dict[str, list[Any]] = {}
    for tool in generated(tools):
        raw = {
            "name": tool["tool"],
            "description": tool["description"],
            "inputSchema": tool.get("parameters"),
        }
        toolset = tool.get("toolset") or ""
        server = toolset.removeprefix("mcp-")
        if not toolset:  # a tool without a server bears the name that it is shown under
            raw["name"] = tool["name"]
        by_server.setdefault(server, []).append(decode_definition(msgspec.json.encode(raw), Limits()))
    sources = [
        Source(name=name, kind="mcp" if name else "plugin", definitions=tuple(found))
        for name, found in by_server.items()
    ]
    return compile_snapshot(Snapshot.empty(), sources, {"hermes": make_analyzer("hermes")})


def view_of(case: dict[str, Any]) -> View:
    settings, _ = resolve_tool_search(case["given"].get("config"))
    most = case["when"].get("max_tokens")
    if most is not None:
        settings = msgspec.structs.replace(settings, listing_max_tokens=most)
    return make_view(
        snapshot_of(case["given"]["tools"]), Grant(), dialect=HERMES, settings=settings, limits=Limits()
    )


@cases("config")
def test_config(case: dict[str, Any]) -> None:
    settings, _ = resolve_tool_search(case["given"]["config"])
    plain = json.loads(msgspec.json.encode(settings))
    assert {key: plain[key] for key in case["expect"]["resolved"]} == case["expect"]["resolved"]


@cases("budget")
def test_budget(case: dict[str, Any]) -> None:
    settings, _ = resolve_tool_search(case["given"]["config"])
    budget = listing_budget(
        settings.listing_max_tokens, settings.threshold_pct, case["when"]["context_length"]
    )
    assert budget == case["expect"]["budget_tokens"]


@cases("short_description")
def test_short_description(case: dict[str, Any]) -> None:
    assert short_description(case["when"]["text"]) == case["expect"]["short"]


@cases("listing")
def test_listing(case: dict[str, Any]) -> None:
    expect = case["expect"]
    context = case["when"].get("context_length")
    fields = view_of(case).assemble(context_length=context, count=len, separate_listing=False).fields
    assert (fields["listing_form"], fields["tier"]) == (expect["form"], expect["tier"])
    if expect["form"] == "none":
        assert fields["listing"] == ""
        return
    assert len(HEADER) == expect["header_characters"]
    header, *body = fields["listing"].split("\n")
    assert header == HEADER
    if "body_lines" in expect:
        assert body == expect["body_lines"]
    assert len(fields["listing"]) == expect["characters"]
    assert fields["listing_tokens"] == expect["estimated_tokens"]


@cases("tiers")
def test_tiers(case: dict[str, Any]) -> None:
    expect, view = case["expect"], view_of(case)
    context = case["when"]["context_length"]
    fields = view.assemble(context_length=context, count=len, separate_listing=False).fields
    assert (fields["tier"], fields["listing_form"]) == (expect["tier"], expect["listing_form"])
    names = {tool["function"]["name"] for tool in fields["tools"]}
    assert ("tool_search" in names) == expect["bridge_tools"]
    if "deferred_count" in expect:
        assert fields["deferred_count"] == expect["deferred_count"]


def refusal(run: Any) -> str:
    with pytest.raises(ToolsearchdError) as caught:
        run()
    assert caught.value.code in ("BAD_ARGUMENTS", "TOO_MANY")
    return caught.value.message


@cases("tool_search_request")
def test_tool_search(case: dict[str, Any]) -> None:
    expect, view = case["expect"], view_of(case)
    if expect.get("error"):
        message = refusal(lambda: view.search(case["when"]["args"]))
        assert all(word in message for word in expect["error_mentions"])
        return
    reply = view.search(case["when"]["args"])
    assert reply["queries"] == expect["queries"]
    assert reply["total_available"] == expect["total_available"]
    for group, wanted in zip(reply["results"], expect["results"], strict=True):
        assert {key: group.get(key) for key in wanted if key != "has_retry_hint"} == {
            key: value for key, value in wanted.items() if key != "has_retry_hint"
        }
        assert ("hint" in group) == wanted.get("has_retry_hint", False)
        assert len(group["matches"]) <= expect["effective_limit"]
    assert reply["tools"] == expect.get("tools", {})


@cases("tool_describe")
def test_tool_describe(case: dict[str, Any]) -> None:
    expect, view = case["expect"], view_of(case)
    direct = case["given"].get("direct_tools", ())
    if expect.get("error"):
        message = refusal(lambda: view.describe(case["when"]["args"], direct=direct))
        assert all(word in message for word in expect["error_mentions"])
        return
    reply = view.describe(case["when"]["args"], direct=direct)
    assert reply["tools"] == expect["tools"]
    assert reply.get("not_found", []) == expect.get("not_found", [])
    assert ("hint" in reply) == expect.get("has_hint", False)
    assert list(reply.get("errors", {})) == expect.get("errors_for", [])


@cases("mcp_filter")
def test_filter(case: dict[str, Any]) -> None:
    (name, entry), *_ = case["given"]["config"]["mcp_servers"].items()
    text = json.dumps({"mcp_servers": {name: {"command": "x", **entry}}})  # JSON is YAML
    context = ExpandContext(environ={}, home="/home/someone")
    (spec,) = FORMATS["hermes"].parse(text, "config.yaml", context).servers
    kept = [tool for tool in case["when"]["server_tools"] if keeps(tool, spec.include, spec.exclude)]
    assert kept == case["expect"]["kept"]


@cases("mcp_registration")
def test_registration(case: dict[str, Any]) -> None:
    candidates = [Candidate(c["server"], c["tool"], c["kind"]) for c in case["when"]["candidates"]]
    found = register_names(candidates, case["given"]["already_registered"])
    got = [{"name": r.name, "tool": r.tool, "kind": r.kind} for r in found.registered]
    assert got == case["expect"]["registered"]
    assert found.skipped == case["expect"]["skipped"]


@cases("mcp_reconnect")
def test_reconnect(case: dict[str, Any]) -> None:
    expect, backoff = case["expect"], Backoff(Limits())
    if case["when"]["op"] == "connect_cooldown":
        quick = [backoff.failed(0.0) for _ in Limits().first_connect_delays_s]
        assert quick == [1, 2, 4]
        assert [backoff.failed(0.0) for _ in range(case["when"]["failures"])] == expect["cooldown_s"]
        return
    backoff.connected()
    delays = [backoff.failed(0.0) for _ in range(case["when"]["failures"])]
    assert delays[: expect["parks_after_failures"]] == expect["delays_before_jitter_s"]
    assert delays[expect["parks_after_failures"] :] == [expect["self_probe_every_s"]] * 3
    assert backoff.is_parked
    assert max(delays[:5]) <= expect["cap_s"]
    fresh = Backoff(Limits())
    fresh.connected()
    assert fresh.failed(1.0) == pytest.approx(1.2)
