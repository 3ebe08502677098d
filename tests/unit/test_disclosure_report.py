"""The report behind `tokens`, for every dialect: sums that agree, and no number where nobody knows one."""

import msgspec
import pytest

from tests.unit.disclosure_catalog import DOWN, GITHUB, SLACK, exact, source, view
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.disclosure.tokens_report import Costs, schema_texts, token_report, tool_texts

CATALOG_CHARS = 256 * 1024


def report(seen, most_chars=CATALOG_CHARS):
    texts, cut = [], []
    for _, text, is_cut in schema_texts(seen, most_chars):
        texts.append(text)
        cut.append(is_cut)
    given = seen.assemble(context_length=200_000, count=exact, separate_listing=False)
    costs = Costs(
        schemas=[exact(text) for text in texts],
        bridge=sum(map(exact, tool_texts(seen.bare_bridge()))),
        shown=sum(map(exact, tool_texts(given.fields["tools"]))),
        assembled=given,
        estimated=False,
    )
    return token_report(seen, cut, {"o200k_base": costs})


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_sums_agree_in_every_dialect(dialect):
    found = report(view(GITHUB, SLACK, DOWN, dialect=dialect))
    totals = found["totals"]["o200k_base"]
    tools = [tool for server in found["servers"] for tool in server["tools"]]
    assert len(tools) == 5
    assert totals["eager"] == sum(tool["tokens"]["o200k_base"] for tool in tools) > 0
    assert totals["saved"] == totals["eager"] - totals["view"]
    if totals["tier"]:
        assert totals["view"] == totals["bridge"] + totals["listing"] + totals["pinned"]
        assert totals["bridge"] > 0
    else:
        assert totals["saved"] == totals["listing"] == 0


def test_a_server_that_is_down_has_no_number():
    found = report(view(GITHUB, DOWN))
    down = next(server for server in found["servers"] if server["name"] == "mail")
    assert (down["tokens"], down["tool_count"]) == (None, 7)
    assert "connection" in down["reason"]
    assert (found["unknown"], found["at_least"]) == (["mail"], True)


def test_a_server_that_is_up_and_has_no_tools_costs_nothing():
    found = report(view(GITHUB, source("empty")))
    empty = next(server for server in found["servers"] if server["name"] == "empty")
    assert (empty["tokens"], empty["tool_count"]) == ({"o200k_base": 0}, 0)
    assert found["at_least"] is False


def test_a_definition_that_was_cut_is_a_lower_bound():
    found = report(view(source("s", {"big": "word " * 2000, "small": "x"})), most_chars=1000)
    (server,) = found["servers"]
    marks = {tool["name"]: tool.get("at_least", False) for tool in server["tools"]}
    assert marks == {"mcp__s__big": True, "mcp__s__small": False}
    assert server["at_least"] is found["at_least"] is True


def test_it_is_plain_data():
    assert msgspec.json.decode(msgspec.json.encode(report(view(GITHUB, DOWN))))["encodings"] == ["o200k_base"]
