"""OpenClaw's generations, options and directory prompt."""

from __future__ import annotations

import gc
import json
import re
import weakref

import msgspec
import pytest

from tests.unit.disclosure_catalog import exact
from tests.unit.openclaw_catalog import (
    ISSUES,
    TRUSTED,
    ids,
    interpreter,
    refused,
    search,
    seen,
)
from toolsearchd.config.settings import load_settings
from toolsearchd.dialects.openclaw.dialect import catalog_of
from toolsearchd.dialects.openclaw.directory import render_directory
from toolsearchd.dialects.openclaw.options import read_options, resolve_options
from toolsearchd.dialects.registry import OPTIONS
from toolsearchd.disclosure.local_model import is_local_model
from toolsearchd.disclosure.view import View

# --- the directory --------------------------------------------------------------------------------


def listing(view: View, context_length: int | None = None) -> str:
    fields = view.assemble(context_length=context_length, count=len, separate_listing=True).fields
    return str(fields["listing"])


def test_only_trusted_tools_are_listed():
    rows = listing(seen(*ISSUES, *TRUSTED)).split("\n")
    assert rows[1].startswith("- open_page (browser): Open a page")
    assert rows[2] == "- read_file (core): Read a file of the workspace"
    assert "MCP" in rows[3]
    assert len(rows) == 4
    assert "create_event" not in "\n".join(rows)


def test_odd_identifiers_and_repeated_names_are_left_out():
    later = seen({"server": "b", "source": "openclaw", "name": "run", "description": "later"})
    first = seen(
        {"server": "a", "source": "openclaw", "name": "run", "description": "first"},
        {"server": "a", "source": "openclaw", "name": "has space"},
        {"server": "a", "source": "openclaw", "name": "x" * 129},
    )
    entries = [entry for view in (later, first) for entry in catalog_of(view).trusted_entries()]
    assert len(entries) == 4
    shown = render_directory(entries, 18_000, names=("search", "describe", "call"))
    _, *rows, _ = shown.text.split("\n")
    assert rows == ["- run (a): first"]


def test_all_rows_lose_detail_together_and_then_rows_go():
    tools = [
        {"server": "core", "source": "openclaw", "name": f"tool_{n:03}", "description": "word " * 60}
        for n in range(100)
    ]
    view = seen(*tools)
    for context, longest in [(1_000_000, 220), (100_000, 90), (20_000, 20)]:
        text = listing(view, context)
        _, *rows, _ = text.split("\n")
        budget = min(18_000, max(768, context // 10))
        assert len(text) <= budget
        assert len(rows) == 100
        assert max(map(len, rows)) <= longest
        assert len({len(row) for row in rows}) == 1
    text = listing(view, 4_000)
    assert len(text) <= 768
    *_, footer, _ = text.split("\n")
    shown = text.count("- tool_")
    assert footer == f"{100 - shown} more are not listed."
    assert text.count("- tool_") > 20


def test_what_is_shown_directly_has_a_function_s_name():
    view = seen(*ISSUES, *TRUSTED, toolSearch=False)
    fields = view.assemble(context_length=None, count=len, separate_listing=True).fields
    names = [tool["function"]["name"] for tool in fields["tools"]]
    assert len(names) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


def test_the_bridge_never_holds_a_server_s_words():
    for separate in (True, False):
        view = seen(*ISSUES)
        fields = view.assemble(context_length=None, count=len, separate_listing=separate).fields
        text = msgspec.json.encode(fields).decode()
        assert not any(tool["name"] in text or tool["description"] in text for tool in ISSUES)
        assert exact(msgspec.json.encode(fields["tools"]).decode()) <= 600


# --- generations and options ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "section", "enabled", "mode"),
    [
        ("g1", None, False, "code"),
        ("g2", None, True, "tools"),
        ("g3", None, True, "tools"),
        ("g1", True, True, "code"),
        ("g2", True, True, "code"),
        ("g3", True, True, "tools"),
        ("g1", {}, False, "code"),
        ("g2", {}, False, "code"),
        ("g3", {}, True, "tools"),
        ("g2", {"maxSearchLimit": 9}, True, "code"),
        ("g2", {"enabled": True}, True, "code"),
        ("g2", {"enabled": False, "mode": "tools"}, False, "tools"),
        ("g2", {"enabled": "yes"}, False, "code"),
        ("g2", {"mode": "other"}, True, "code"),
        ("g3", {"mode": "other"}, True, "tools"),
        ("g3", {"mode": "directory"}, True, "directory"),
        ("g3", False, False, "tools"),
    ],
)
def test_what_a_config_selects(generation, section, enabled, mode):
    options = {} if section is None else {"tools": {"toolSearch": section}}
    found = resolve_options(options, generation)
    assert found.enabled == enabled
    if enabled:
        assert found.mode == mode


@pytest.mark.parametrize(
    ("given", "default", "most"),
    [
        ({"searchDefaultLimit": 99, "maxSearchLimit": 500}, 50, 50),
        ({"searchDefaultLimit": 0, "maxSearchLimit": -1}, 8, 20),
        ({"searchDefaultLimit": "5", "maxSearchLimit": 2.5}, 8, 20),
        ({"searchDefaultLimit": True, "maxSearchLimit": None}, 8, 20),
        ({"maxSearchLimit": 3}, 3, 3),
        ({"searchDefaultLimit": 4.0}, 4, 20),
    ],
)
def test_limits_of_a_config(given, default, most):
    found = resolve_options({"toolSearch": {"mode": "tools", **given}}, "g2")
    assert (found.search_default_limit, found.max_search_limit) == (default, most)


@pytest.mark.parametrize(
    ("provider", "model", "base_url", "local"),
    [
        ("ollama", "qwen3", "", True),
        ("", "ollama/qwen3", "", True),
        ("LMStudio", "some-model", "", True),
        ("openai", "gpt", "", False),
        ("", "qwen3", "", False),
        ("custom", "m", "http://localhost:8000/v1", True),
        ("custom", "m", "http://127.0.0.1:8000", True),
        ("custom", "m", "http://[::1]:8000/v1", True),
        ("ollama", "m", "https://ollama.example.com", False),
        ("custom", "m", "https://localhost.example.com/v1", False),
        ("custom", "m", "https://user@127.0.0.1:8000", True),
    ],
)
def test_a_local_model_gets_smaller_limits(provider, model, base_url, local):
    assert is_local_model(provider, model, base_url) == local
    found = read_options({"toolSearch": {"mode": "tools"}}, local, generation="g2")
    assert (found["searchDefaultLimit"], found["maxSearchLimit"]) == ((5, 10) if local else (8, 20))
    own = read_options({"toolSearch": {"mode": "tools", "maxSearchLimit": 40}}, local, generation="g2")
    assert own["maxSearchLimit"] == 40


def test_code_timeouts_are_clamped():
    values = [
        resolve_options({"toolSearch": {"codeTimeoutMs": ms}}, "g1").code_timeout_ms for ms in (1, 10**9, "x")
    ]
    assert values == [1_000, 60_000, 10_000]


@pytest.mark.parametrize(
    ("section", "path"),
    [({"mode": "code"}, "tools.toolSearch.mode"), ({"codeTimeoutMs": 5}, "tools.toolSearch.codeTimeoutMs")],
)
def test_the_third_generation_refuses_code_mode_by_name(section, path):
    options = {"tools": {"toolSearch": section}}
    error = refused(lambda: read_options(options, False, generation="g3"))
    assert (error.code, error.fields["path"]) == ("BAD_CONFIG", path)
    assert path in error.message
    profile = {"profiles": {"claw": {"dialect": "openclaw-g3", "options": options}}}
    settings, problems = load_settings(json.dumps(profile), "config.yaml", OPTIONS)
    assert settings is None
    assert [problem.level for problem in problems] == ["error"]
    assert f"profiles.claw.options.{path}" in str(problems[0])


def test_a_profile_s_unknown_options_are_warned_about():
    options = {"tools": {"toolSearch": {"mode": "tools", "limit": 3}, "web": {}}}
    profile = {"profiles": {"claw": {"dialect": "openclaw", "options": options}}}
    settings, problems = load_settings(json.dumps(profile), "config.yaml", OPTIONS)
    assert settings is not None
    assert [problem.level for problem in problems] == ["warning", "warning"]


def test_the_first_generation_ranks_by_what_holds_the_words():
    view = seen(*ISSUES, dialect="openclaw-g1", toolSearch={"mode": "tools"})
    assert ids(view, "create_issue") == ["mcp:github:create_issue", "mcp:gitlab:create_issue"]
    assert ids(view, "reposit") == ["mcp:github:create_issue"]
    assert len(ids(view, "  ")) == 3
    assert refused(lambda: search(view, queries=[{"query": "a"}])).message == "query must be a string."
    fields = view.assemble(context_length=None, count=len, separate_listing=False).fields
    parameters = fields["tools"][0]["function"]["parameters"]
    assert list(parameters["properties"]) == ["query", "limit"]
    assert fields["listing"] == ""
    off = seen(*ISSUES, dialect="openclaw-g1").assemble(
        context_length=None, count=len, separate_listing=False
    )
    assert off.fields["tier"] == 0


def test_the_third_generation_answers_to_the_old_dispatcher():
    view = seen(*ISSUES, dialect="openclaw-g3")
    talk = interpreter(view)
    fields = view.assemble(context_length=None, count=len, separate_listing=False).fields
    names = [tool["function"]["name"] for tool in fields["tools"]]
    assert names == list(talk.verbs) == ["tool_search", "tool_describe", "dispatch_action"]
    (call,) = talk.direct(view, "tool_call", {"id": "create_event", "args": {"a": 1}}).args["calls"]
    assert call["arguments"] == {"a": 1}
    assert refused(lambda: talk.direct(view, "tool_search_code", {"code": "1"})).code == "UNSUPPORTED"


def test_a_hidden_tool_is_called_by_its_exact_name_where_one_bears_it():
    view = seen(*ISSUES)
    assert view.resolve_call("create_event").server == "calendar"
    assert view.resolve_call("mcp:gitlab:create_issue").server == "gitlab"
    assert refused(lambda: view.resolve_call("create_issue")).code == "TOOL_NOT_FOUND"


def test_a_view_that_is_gone_leaves_nothing_behind():
    for dialect in ("openclaw", "openclaw-g1"):
        view = seen(*ISSUES, *TRUSTED, dialect=dialect, toolSearch={"mode": "tools"})
        assert search(view, query="issue")
        listing(view)
        kept = weakref.ref(view)
        del view
        gc.collect()
        assert kept() is None
