"""A session's searches: what comes again, and when other words are no longer what is missing."""

from __future__ import annotations

import pytest

from tests.unit.disclosure_catalog import GITHUB, SLACK, STARTING, snapshot, view
from toolsearchd.catalog.grant import Grant
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.dialects.views import make_view
from toolsearchd.disclosure.hints import RETRY
from toolsearchd.disclosure.history import SearchHistory
from toolsearchd.limits import Limits

FOUND = {"matches": ["mcp__a__b"], "near": []}
NOTHING = {"matches": [], "near": []}


def history(*, fruitless=3, remembered=100):
    return SearchHistory(fruitless=fruitless, remembered=remembered)


def asked(known, *queries, answer=FOUND):
    return known.note_search([{"query": query} | answer for query in queries])


# --- which time is it? ----------------------------------------------------------------------------


def test_the_same_query_is_counted():
    known = history()
    assert [asked(known, "create issue") for _ in range(3)] == [[1], [2], [3]]
    assert asked(known, "issue create", "create issue", "create issue") == [1, 4, 5]


@pytest.mark.parametrize("query", ["Create ISSUE", "  create\n\tissue ", "ｃreate issue", "CREATE issue"])
def test_case_white_space_and_form_make_no_other_query(query):
    known = history()
    asked(known, "create issue")
    assert asked(known, query) == [2]


def test_another_answer_is_no_repeat():
    known = history()
    asked(known, "create issue")
    assert asked(known, "create issue", answer={"matches": ["mcp__a__b"], "near": ["mcp__a__c"]}) == [1]
    assert asked(known, "create issue", answer={"matches": ["mcp__a__c"], "near": []}) == [1]
    assert asked(known, "create issue") == [2]


def test_all_is_forgotten_when_what_is_seen_changes():
    known = history(fruitless=2)
    known.enter((1, "grant"))
    asked(known, "x", answer=NOTHING)
    assert known.is_hopeless
    known.enter((1, "grant"))
    assert asked(known, "x", answer=NOTHING) == [2]
    for seen in ((2, "grant"), (2, "other grant")):
        known.enter(seen)
        assert not known.is_hopeless
        assert asked(known, "x", answer=NOTHING) == [1]


def test_only_so_many_are_remembered_the_oldest_go():
    known = history(remembered=2)
    asked(known, "a", "b")
    asked(known, "a")
    asked(known, "c")
    assert asked(known, "a") == [3]
    assert asked(known, "b") == [1]


# --- when is it enough? ---------------------------------------------------------------------------


def test_failed_searches_in_a_row_are_hopeless_until_a_call():
    known = history(fruitless=3)
    assert not known.is_hopeless
    asked(known, "a", answer=NOTHING)
    asked(known, "b")
    assert not known.is_hopeless
    asked(known, "c", answer=NOTHING)
    assert known.is_hopeless
    assert known.without_call == 3
    known.note_call()
    assert not known.is_hopeless
    assert known.without_call == 0


def test_a_search_fails_once_however_many_queries_it_holds():
    known = history(fruitless=3)
    asked(known, "a", "b", "c", "d", answer=NOTHING)
    assert not known.is_hopeless
    known.note_search([{"query": "e"} | FOUND, {"query": "f"} | NOTHING])
    assert known.is_hopeless


# --- in a view's words ----------------------------------------------------------------------------


def groups(seen, known, *queries):
    return seen.search({"queries": list(queries)}, known)["results"]


def test_a_repeat_gets_its_names_again_and_is_told():
    seen, known = view(GITHUB, SLACK), history()
    (first,) = groups(seen, known, "create github issue")
    assert "repeat" not in first
    (again,) = groups(seen, known, "Create  GitHub issue")
    assert again["matches"] == first["matches"]
    assert again["repeat"] == 2
    assert "nothing has changed" in again["hint"]


def test_the_hint_turns_from_retry_to_not_present():
    seen, known = view(GITHUB, SLACK), history()
    hints = [groups(seen, known, f"quxify the zorble{n}")[0]["hint"] for n in range(4)]
    assert hints[:2] == [RETRY, RETRY]
    assert all("not present" in hint and "Do not search" in hint for hint in hints[2:])
    known.note_call()
    assert groups(seen, known, "quxify the zorble")[0]["hint"] == RETRY


def test_near_names_and_sources_that_may_come_are_not_denied():
    (near,) = groups(view(GITHUB, SLACK), history(fruitless=1), "repository statistics tracker weather")
    assert near["near"]
    assert "`near` is the closest" in near["hint"]
    assert "not present" in near["hint"]
    (soon,) = groups(view(GITHUB, STARTING), history(fruitless=1), "quxify the zorble")
    assert "search again when they are" in soon["hint"]


def test_hints_that_know_the_reason_stay():
    seen, known = view(GITHUB, SLACK), history(fruitless=1)
    assert "telegram" in groups(seen, known, "send a message with Telegram")[0]["hint"]
    assert "no keyword" in groups(seen, known, " ")[0]["hint"]


def test_another_generation_or_grant_is_another_view():
    both = snapshot(GITHUB, SLACK)
    known = history()

    def seen(grant):
        return make_view(both, grant, dialect=DIALECTS["default"], settings=ToolSearch(), limits=Limits())

    wide, narrow = Grant(), Grant(servers=("github",))
    groups(seen(wide), known, "create github issue")
    assert groups(seen(wide), known, "create github issue")[0]["repeat"] == 2
    assert "repeat" not in groups(seen(narrow), known, "create github issue")[0]


def test_nothing_granted_repeats_without_advice():
    seen, known = view(GITHUB, grant=Grant.nothing()), history()
    groups(seen, known, "create issue")
    (again,) = groups(seen, known, "create issue")
    assert again["repeat"] == 2
    assert "hint" not in again


def test_the_reference_dialect_says_the_same_each_time():
    seen, known = view(GITHUB, SLACK, dialect="hermes"), history(fruitless=1)
    replies = [groups(seen, known, "create github issue", "quxify the zorble") for _ in range(5)]
    assert all(reply == replies[0] for reply in replies)
