"""Names that models see, the reference's name map, tool filters."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.catalog.naming import door_name, keeps, mcp_name, near_names, public_name
from toolsearchd.dialects.hermes.names import Candidate, register_names

CASES = [
    case
    for line in (Path(__file__).parents[1] / "data" / "search_cases.jsonl").read_text("utf-8").splitlines()
    if (case := json.loads(line))["area"] in ("mcp_registration", "mcp_filter")
]

pieces = st.text(st.sampled_from("a_-b.é0"), max_size=5) | st.text(max_size=80)


def test_plain_names_stay_as_they_are() -> None:
    assert public_name("github", "create_issue") == "mcp__github__create_issue"
    assert door_name("github", "create_issue") == "github__create_issue"


def test_altered_names_carry_a_digest() -> None:
    assert re.fullmatch(r"mcp__a_b__get_zone_[0-9a-f]{10}", public_name("a b", "get.zone"))
    assert re.fullmatch(r"mcp__a__b__c_[0-9a-f]{10}", public_name("a__b", "c"))


@pytest.mark.parametrize(
    "name", ["x" * 10_000, "!?", "\x1b[31m", "a\u202eb", "a\x00b", "t ", "naïve", "a\nb"]
)
def test_odd_names_become_safe_ones(name: str) -> None:
    for made, longest in ((public_name("s", name), 64), (door_name("s", name), 40)):
        assert re.fullmatch(rf"[A-Za-z0-9_-]{{1,{longest}}}", made)


def test_names_that_look_alike_stay_apart() -> None:
    alike = ["get", "Get", "get ", "g\u0435t", "ge\u0301t", "g\u00e9t", "g.t", "g_t"]
    assert len({public_name("s", name) for name in alike}) == len(alike)


def test_pairs_that_read_alike_stay_apart() -> None:
    pairs = [("a", "_b"), ("a_", "b"), ("a", "b__c"), ("a__b", "c"), ("a_", "_b"), ("", "a__b"), ("_a", "b")]
    names = [public_name(*pair) for pair in pairs]
    assert len(set(names)) == len(pairs)
    # A tool that calls itself by another's altered name does not get it.
    altered = public_name("s", "x y")
    assert public_name("s", altered.removeprefix("mcp__s__")) != altered


@given(st.lists(st.tuples(pieces, pieces), unique=True, max_size=8))
def test_names_are_injective_and_safe(pairs: list[tuple[str, str]]) -> None:
    for make, longest in ((public_name, 64), (door_name, 40)):
        made = [make(*pair) for pair in pairs]
        assert len(set(made)) == len(pairs)
        assert all(re.fullmatch(rf"[A-Za-z0-9_-]{{1,{longest}}}", name) for name in made)


def test_small_alphabet_exhaustively() -> None:
    words = ["".join(letters) for n in range(4) for letters in itertools.product("a_", repeat=n)]
    names = [public_name(server, tool) for server in words for tool in words]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_reference_cases(case: dict[str, Any]) -> None:
    when, expect = case["when"], case["expect"]
    if when["op"] == "filter_tools":
        rules = case["given"]["config"]["mcp_servers"]["s"]["tools"]
        include, exclude = rules.get("include"), rules.get("exclude", ())
        include = [include] if isinstance(include, str) else include
        exclude = [exclude] if isinstance(exclude, str) else exclude
        assert [tool for tool in when["server_tools"] if keeps(tool, include, exclude)] == expect["kept"]
        return
    result = register_names(
        [Candidate(c["server"], c["tool"], c["kind"]) for c in when["candidates"]],
        case["given"]["already_registered"],
    )
    registered = [{"name": r.name, "tool": r.tool, "kind": r.kind} for r in result.registered]
    assert (registered, result.skipped) == (expect["registered"], expect["skipped"])


def test_raw_names_that_meet_are_all_dropped() -> None:
    result = register_names([Candidate("s", "a.b"), Candidate("s", "a-b"), Candidate("s", "c")])
    assert [r.name for r in result.registered] == ["mcp__s__c"]
    assert result.skipped == {"native:a.b": "name_collision", "native:a-b": "name_collision"}


def test_a_name_stays_with_its_first_owner() -> None:
    result = register_names([Candidate("a_b", "c"), Candidate("a.b", "c")])
    assert [(r.name, r.server) for r in result.registered] == [("mcp__a_b__c", "a_b")]
    assert register_names([Candidate("s", "t")], {mcp_name("s", "t"): "other"}).registered == ()


def test_near_names() -> None:
    names = [public_name("github", tool) for tool in ("create_issue", "list_issues", "merge_pull_request")]
    names.append(public_name("slack", "post_message"))
    assert near_names("create_isue", names)[0] == "mcp__github__create_issue"
    assert near_names("mcp__github__issue_create", names)[0] == "mcp__github__create_issue"
    assert near_names("entirely different", names) == []
    assert len(near_names("mcp__github__", names, 2)) <= 2
