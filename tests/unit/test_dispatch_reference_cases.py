"""The reference's cases for a call: shapes, names, arguments. The adapter only translates fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolsearchd.catalog.definition import decode_definition
from toolsearchd.dialects.hermes.routing import check_name
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.dispatch.arguments import prepare
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

LIMITS = Limits()
HERMES = DIALECTS["hermes"].rules
CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "call_cases.jsonl").read_text("utf-8").splitlines()
]


def run(case: dict[str, Any]) -> dict[str, Any]:
    """The case through the daemon's own steps: shape, name, arguments; what `expect` speaks of."""
    given = case["given"]
    tools = {tool["name"]: tool for tool in given["tools"]}
    invoked = []
    try:
        requests = HERMES.parse(case["when"]["args"], max_entries=64)
        if all(request.name.startswith("connectors__") for request in requests):
            return {"error": False, "route": "connectors", "entries": len(requests)}
        for request in requests:
            check_name(
                request.name,
                deferrable=tools.keys(),
                session=given.get("session_tools"),
                direct=given.get("direct_tools", ()),
            )
            raw = {"name": request.name, "inputSchema": tools[request.name]["parameters"]}
            definition = decode_definition(msgspec.json.encode(raw), LIMITS)
            arguments = prepare(definition, request.arguments, rules=HERMES, limits=LIMITS)
            invoked.append({"name": request.name, "arguments": arguments})
    except ToolsearchdError as error:
        return told(error, case) | {"invoked": invoked}
    return {
        "error": False,
        "invoked": invoked,
        "dispatched": True,
        "arguments_sent": invoked[0]["arguments"],
    }


def told(error: ToolsearchdError, case: dict[str, Any]) -> dict[str, Any]:
    fields = error.fields
    kind = "invalid_arguments" if error.code == "INVALID_ARGUMENTS" else fields["reason"]
    if "index" in fields:
        kind = f"{kind}[{fields['index']}]"
    if kind == "bridge_tool":
        kind += f":{fields['tool']}"
    found: dict[str, Any] = {
        "error": True,
        "error_kind": kind,
        "dispatched": False,
        "returns_parameters_schema": fields.get("parameters")
        in [t["parameters"] for t in case["given"]["tools"]],
    }
    for name in ("path", "constraint", "missing", "suggestions"):
        if name in fields:
            found[name] = fields[name]
    if kind == "too_many_calls":
        found |= {"route": "connectors", "entries": len(case["when"]["args"]["calls"])}
    wanted = case["expect"].get("error_mentions", [])
    found["error_mentions"] = [word for word in wanted if word in error.message]
    if kind == "multi_entry_with_local":
        first = case["when"]["args"]["calls"][0]["arguments"]
        found["echoes_first_entry_arguments"] = json.dumps(first) in error.message
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reference_case(case):
    found = run(case)
    expect = case["expect"]
    assert {name: found.get(name) for name in expect} == expect
    if "arguments_sent" in expect:  # 42 is not 42.0 on the wire
        assert json.dumps(found["arguments_sent"]) == json.dumps(expect["arguments_sent"])


def test_the_cases_are_here():
    assert len(CASES) == 43
