"""OpenClaw's bridge tools under anything that a model or a server may write."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.openclaw_catalog import ISSUES, TRUSTED, interpreter, seen
from toolsearchd.dialects.openclaw.dialect import catalog_of
from toolsearchd.dialects.openclaw.directory import budget_chars, render_directory
from toolsearchd.dialects.openclaw.errors import distance
from toolsearchd.dialects.openclaw.ranker import LONGEST_SERVER, id_order, safe_server, stem, terms
from toolsearchd.errors import ToolsearchdError

TEXT = st.text(max_size=40) | st.sampled_from(
    ["issue", "create_event", "mcp:calendar:create_event", "read_file"]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["query", "limit", "id", "args", "name", "args.x"]) | TEXT, inner, max_size=4
        )
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(["query", "queries", "limit", "options", "id", "toolId", "name", "args", "input", "x"])
ARGS = st.dictionaries(KEYS, VALUE, max_size=5)
VIEWS = [
    seen(*ISSUES, *TRUSTED, dialect=name, toolSearch={"mode": "tools"})
    for name in ("openclaw", "openclaw-g1")
]


@given(ARGS, st.sampled_from(VIEWS))
@settings(max_examples=150, deadline=None)
def test_whatever_comes_is_answered_or_refused(args, view):
    talk = interpreter(view)
    for verb in (talk.search, lambda v, a: talk.describe(v, a, ()), talk.calls):
        try:
            done = verb(view, args)
        except ToolsearchdError as error:
            assert error.code in ("BAD_ARGUMENTS", "TOO_MANY", "TOOL_NOT_FOUND")
            json.dumps(error.as_fields())
        else:
            assert json.dumps(done.args if hasattr(done, "args") else done.value)


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=60), st.text(max_size=900)), min_size=1, max_size=20),
    st.lists(st.tuples(st.text(min_size=1, max_size=20), st.integers(1, 20)), min_size=1, max_size=16),
)
@settings(max_examples=40, deadline=None)
def test_a_batch_fits_and_says_what_it_left_out(tools, queries):
    names = {name.strip(): text for name, text in tools if name.strip() and "\0" not in name}
    view = seen(
        *({"server": "s", "name": name, "description": f"tool {text}"} for name, text in names.items())
    )
    entries = [{"query": f"tool {text}", "limit": limit} for text, limit in queries]
    try:
        answer = interpreter(view).search(view, {"queries": entries})
    except ToolsearchdError as error:
        assert error.code == "TOO_MANY"
        return
    assert len(answer.text) <= 4_000
    cut = [group for group in answer.value["results"] if group.get("truncated")]
    assert bool(cut) == answer.value.get("truncated", False)
    for group, entry in zip(answer.value["results"], entries, strict=True):
        assert len(group["candidates"]) <= entry["limit"]
        assert all(len(candidate["description"]) <= 180 for candidate in group["candidates"])


@given(st.lists(st.text(max_size=400), max_size=60), st.integers(1, 400_000))
@settings(max_examples=40, deadline=None)
def test_a_directory_fits(descriptions, context_length):
    tools = [
        {"server": "core", "source": "openclaw", "name": f"tool_{number}", "description": text}
        for number, text in enumerate(descriptions)
    ]
    entries = catalog_of(seen(*tools)).trusted_entries()
    budget = budget_chars(context_length)
    shown = render_directory(entries, budget, names=("tool_search", "tool_describe", "tool_call"))
    assert len(shown.text) <= budget
    assert shown.text.splitlines()[-1].endswith("tool_search.")


@given(st.text(max_size=60))
def test_safe_names_are_safe(server):
    safe = safe_server(server)
    assert 1 <= len(safe) <= LONGEST_SERVER
    assert safe[0].isalpha()
    assert all(character.isascii() and (character.isalnum() or character in "_-") for character in safe)


@given(st.text(max_size=60), st.text(max_size=60))
def test_words_and_orders(one, other):
    assert terms(one) == terms(one)
    assert all(terms(f"{one} {other}").count(term) >= terms(one).count(term) for term in set(terms(one)))
    assert (id_order(one) == id_order(other)) == (one == other)
    assert len(stem(one)) <= max(len(one), 1)


@given(st.text(max_size=8), st.text(max_size=8), st.integers(1, 3))
def test_distance_is_levenshtein_s(one, other, bound):
    rows = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if not i or not j:
                rows[i][j] = i + j
            else:
                swap = rows[i - 1][j - 1] + (one[i - 1] != other[j - 1])
                rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, swap)
    found = distance(one, other, bound)
    assert found == rows[-1][-1] if rows[-1][-1] <= bound else found > bound
