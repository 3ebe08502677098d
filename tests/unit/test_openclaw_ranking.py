"""OpenClaw's reading of words and its ranking, against a scan that computes every score anew."""

from __future__ import annotations

import math
import random

import pytest

from tests.unit.openclaw_catalog import tool_source, view_of
from toolsearchd.dialects.openclaw.dialect import catalog_of
from toolsearchd.dialects.openclaw.ranker import HINT_WEIGHT, id_order, query_terms, stem, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create_issue", ["create_issue", "create", "issue"]),
        ("createIssue", ["createissue", "create", "issue"]),
        ("URLs", ["urls"]),
        ("fetchURLs", ["fetchurls", "fetch", "urls"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("mcp:git-hub:x", ["mcp", "git", "hub", "x"]),
        ("Größe_ändern", ["größe_ändern", "größe", "ändern"]),
        ("創建問題", ["創建問題"]),
    ],
)
def test_words(text, expected):
    assert list(words(text)) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("reminders", "remind"),
        ("running", "run"),
        ("calling", "call"),
        ("process", "process"),
        ("news", "news"),
        ("status", "status"),
        ("issues", "issu"),
        ("issue", "issu"),
        ("get", "get"),
        ("used", "used"),
        ("quickly", "quick"),
        ("events", "event"),
    ],
)
def test_stems(word, expected):
    assert stem(word) == expected


def test_words_in_ies_count_in_both_readings():
    assert set(terms("policies")) >= set(terms("policy"))
    assert set(terms("cookies")) >= set(terms("cookie"))


def test_filler_is_dropped_and_verbs_are_kept():
    assert terms("what can you do to get it up") == ["get"]


def test_hints_weigh_less_than_own_words():
    weights = query_terms("remind me tomorrow, list folders")
    assert weights["remind"] == 1.0
    assert weights["schedul"] == HINT_WEIGHT
    assert weights["list"] == 1.0, "a word that was written keeps its weight though another hints at it"
    assert weights["fil"] == HINT_WEIGHT


CATALOG = [
    {"server": "files", "name": "read_file", "description": "Read a file"},
    {"server": "files", "name": "listDirectory", "description": "List the files of a directory"},
    {"server": "cron", "name": "schedule_job", "description": "Schedule a job as cron does"},
    {"server": "web", "name": "search_web", "description": "Search the web for pages"},
    {"server": "web", "name": "fetch_page", "description": "Fetch a web page"},
    {
        "server": "alarm",
        "name": "wake",
        "description": "Ring tomorrow, and remind again when nobody stops it later",
    },
    {"server": "Zoo", "name": "same", "description": "twin"},
    {"server": "apple", "name": "same", "description": "twin"},
]


def found(query, limit=20):
    view = view_of(*tool_source(CATALOG))
    return [entry.id for entry in catalog_of(view).search(query, limit)]


def test_what_shares_a_word_stands_before_what_is_only_hinted_at():
    assert found("remind me tomorrow") == ["mcp:alarm:wake", "mcp:cron:schedule_job"]


def test_an_exact_name_or_id_is_first_whatever_the_scores():
    assert found("READ_FILE")[0] == "mcp:files:read_file"
    assert found("mcp:web:fetch_page", 1) == ["mcp:web:fetch_page"]
    assert found("no such thing at all") == []


def test_equal_scores_stand_in_a_locale_s_order_of_ids():
    assert found("twin") == ["mcp:apple:same", "mcp:Zoo:same"]
    assert found("twin", 1) == ["mcp:apple:same"]


def test_blank_queries_find_nothing():
    assert found("   ") == found("") == found("the of to") == []


def test_parameters_count_for_trusted_tools_only():
    schema = {"type": "object", "properties": {"zebra": {"type": "string", "description": "a striped thing"}}}
    tools = [
        {"server": "s", "name": "a", "description": "one", "inputSchema": schema},
        {"server": "p", "source": "openclaw", "name": "b", "description": "two", "inputSchema": schema},
    ]
    view = view_of(*tool_source(tools))
    for word in ("zebra", "striped"):
        assert [entry.id for entry in catalog_of(view).search(word, 5)] == ["openclaw:p:b"]


def naive(documents: dict[str, tuple[str, str]], query: str, limit: int) -> list[str]:
    """The ranking from the rule: `documents` is id → (name, text)."""
    weights = query_terms(query)
    bags = {key: terms(f"{name} {key} {text}") for key, (name, text) in documents.items()}
    average = sum(map(len, bags.values())) / len(bags)
    ranked = []
    for key, bag in bags.items():
        score, literal = 0.0, False
        for term, weight in weights.items():
            df = sum(term in other for other in bags.values())
            count = bag.count(term)
            if count:
                idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
                score += weight * idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(bag) / average))
                literal |= weight == 1.0
        exact = query.strip().lower() in (key.lower(), documents[key][0].lower())
        if score > 0 or exact:
            ranked.append((not exact, not literal, -round(score, 9), id_order(key), key))
    return [key for *_, key in sorted(ranked)[:limit]]


def test_the_index_finds_what_a_scan_finds():
    chance = random.Random(7)
    vocabulary = (
        "read write file page url schedule reminder run shell list news policies cookie look image".split()
    )
    tools = [
        {
            "server": chance.choice(["alpha", "Beta", "gamma_x"]),
            "name": f"{chance.choice(vocabulary)}_{chance.choice(vocabulary)}_{number}",
            "description": " ".join(chance.choices(vocabulary, k=chance.randint(1, 12))),
        }
        for number in range(60)
    ]
    view = view_of(*tool_source(tools))
    documents = {f"mcp:{t['server']}:{t['name']}": (t["name"], t["description"]) for t in tools}
    for _ in range(60):
        query = " ".join(
            chance.choices([*vocabulary, "the", "zebra", "google", "tomorrow"], k=chance.randint(1, 4))
        )
        query = chance.choice([query, query.title(), chance.choice(tools)["name"]])
        expected = naive(documents, query, 7)
        assert [entry.id for entry in catalog_of(view).search(query, 7)] == expected, query
