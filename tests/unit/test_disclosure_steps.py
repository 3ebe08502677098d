"""The default dialect's listing by example: who gives way first, and what each form looks like."""

import pytest

from tests.unit.disclosure_catalog import GITHUB, SLACK, assembled, exact, source, view
from toolsearchd.disclosure.listing import listed, unavailable
from toolsearchd.disclosure.listing_families import families
from toolsearchd.disclosure.listing_steps import HEADER, ListingPlan, forms_of

HUGE = source("cloudflare", {f"zone_part{n % 7}_endpoint_{n:04}": f"Call endpoint {n}." for n in range(2500)})
SMALL = [source(f"small{at}", {f"tool_{n}": f"Do the {n} of {at}." for n in range(8)}) for at in range(10)]


def listing(*sources, most=4000, context=200_000):
    seen = view(*sources, listing_max_tokens=most)
    fields = assembled(seen, context, count=exact)
    assert exact(fields["listing"]) == fields["listing_tokens"] <= fields["budget_tokens"]
    return fields


def test_small_servers_keep_all_beside_a_huge_one():
    fields = listing(HUGE, *SMALL)
    lines = fields["listing"].split("\n")
    assert sum(line.startswith("- mcp__small") and ": Do the" in line for line in lines) == 80
    (huge,) = (line for line in lines if line.startswith("cloudflare"))
    assert huge.startswith("cloudflare (2500 tools): zone_part0_endpoint_* (358), ")
    assert (fields["listing_form"], fields["tier"]) == ("mixed", 1)


def test_every_server_is_named_in_a_small_budget():
    fields = listing(HUGE, *SMALL, most=200)
    assert fields["listing_form"] in ("mixed", "groups")
    assert all(f"\nsmall{at} " in fields["listing"] for at in range(10))
    assert "\ncloudflare (2500 tools)" in fields["listing"]


def test_seventy_servers_in_too_small_a_budget_are_one_line():
    servers = [source(f"a_server_of_{at}", {f"tool_{n}": "Do it." for n in range(8)}) for at in range(70)]
    down = source("lost", state="parked", reason="no route", declared_tools=3)
    fields = listing(*servers, down, most=600)
    line = (
        "70 servers with 560 tools, not named here: tool_search finds them. 1 server more, unavailable now."
    )
    assert (fields["listing"], fields["listing_form"], fields["tier"]) == (line, "groups", 2)
    assert line in fields["tools"][0]["function"]["description"]


def test_the_one_line():
    up, down = listed("s", [("mcp__s__a", "A.")]), unavailable("t", 7, "no route")
    assert (
        ListingPlan([up], exact).one_line == "1 server with 1 tool, not named here: tool_search finds them."
    )
    assert ListingPlan([down, unavailable("u", 0, "x")], exact).one_line == "2 servers, all unavailable now."


def test_forms():
    tools = [("mcp__s__get_a", "Get a."), ("mcp__s__get_b", ""), ("mcp__s__put", "Put.")]
    full, names, summary, line = forms_of(listed("s", tools)).blocks
    assert full.text == "s tools (3):\n- mcp__s__get_a: Get a.\n- mcp__s__get_b\n- mcp__s__put: Put.\n"
    assert names.text == "s tools (3):\nmcp__s__get_a, mcp__s__get_b, mcp__s__put\n"
    assert summary.text == "s (3 tools): get_a, get_b, put\n"
    assert line.text == "s (3 tools)\n"
    assert forms_of(listed("s", [("mcp__s__a", "A.")])).blocks[3].text == "s (1 tool)\n"
    (down,) = forms_of(unavailable("s", 7, "no route")).blocks
    assert down.text == "s (7 tools, unavailable: no route)\n"


@pytest.mark.parametrize(
    ("budget", "form", "tier"),
    [(4000, "full", 1), (95, "names", 1), (80, "mixed", 1), (50, "groups", 2), (10, "none", 2)],
)
def test_listing_form(budget, form, tier):
    """`names`: every server shows its names, with or without descriptions; `mixed`: not every one does."""
    seen = view(GITHUB, SLACK, enabled="on", listing_max_tokens=budget)
    fields = assembled(seen, count=exact)
    assert (fields["listing_form"], fields["tier"]) == (form, tier), fields["listing"]


def test_descriptions_that_nobody_wrote_are_no_loss():
    """Of two servers alike but for descriptions, the one without goes to its names first."""
    tools = [(f"tool_{n}", "") for n in range(12)]
    plan = ListingPlan(
        [listed("bare", tools), listed("told", [(name, "It does a thing.") for name, _ in tools])], exact
    )
    assert plan.steps[0].priority == float("inf")
    assert "bare tools (12):\ntool_0, tool_1" in plan.text_after(1)


def test_the_sequence_does_not_depend_on_the_budget():
    servers = view(HUGE, *SMALL, GITHUB).listed_servers
    plan = ListingPlan(servers, exact)
    steps = list(plan.steps)
    for budget in (100, 4000, 50_000):
        plan.listing(budget)
        assert plan.steps == steps == ListingPlan(servers[::-1], exact).steps


def test_the_header_tells_how_to_use_what_is_listed_and_what_is_not():
    assert listing(GITHUB)["listing"].startswith(f"{HEADER}\n")


@pytest.mark.parametrize("dialect", ["default", "hermes"])
def test_a_client_that_cuts_at_bytes_gets_the_same_rule(dialect):
    seen = view(HUGE, *SMALL, GITHUB, dialect=dialect)
    texts = []
    for most in (0, 400, 1500, 3000, 10**6):
        texts.append(seen.listing_of_bytes(most))
        assert len(texts[-1].encode()) <= most
    assert texts[0] == ""
    assert [len(text) for text in texts] == sorted(len(text) for text in texts)
    assert texts[-1].count("\n- ") == 2500 + 80 + 3


def test_families_of_names():
    def said(*names):
        found, others = families(names)
        return [str(family) for family in found], others

    assert said("zone_get", "zone_list", "zone_dns_add", "user_get") == (
        ["user_get", "zone_dns_add", "zone_get", "zone_list"],
        0,
    )
    many = [f"zone_{n}" for n in range(412)] + [f"user_{n}" for n in range(90)] + ["ping"]
    assert said(*many) == (["zone_* (412)", "user_* (90)", "ping"], 0)
    assert said(*(f"git_{n}" for n in range(40)))[1] == 28  # what all have in common says nothing
    assert said("getIssue", "getUser", "API-list-a", "API-list-b", "x") == (
        ["API-list-a", "API-list-b", "getIssue", "getUser", "x"],
        0,
    )
