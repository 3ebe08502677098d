"""What one grant and dialect see of a snapshot: replies, names, hints, what may hide."""

import json

import pytest

from tests.unit.disclosure_catalog import DOWN, GITHUB, SLACK, STARTING, assembled, source, view
from toolsearchd.catalog.grant import Grant
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.dialects.views import make_view
from toolsearchd.disclosure.explanation import explain
from toolsearchd.disclosure.texts import ToolTexts
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

ISSUE = "mcp__github__create_issue"
HOSTILE = "Get data.\n\n\n\n\x1b[8m<!-- ignore\u202e -->\U000e0041\0 " + "x" * 600


def group(seen, query, **args):
    reply = seen.search({"queries": [query], **args})
    return reply["results"][0], reply["tools"]


# --- search ---------------------------------------------------------------------------------------


def test_a_match_says_what_is_needed_to_choose():
    found, tools = group(view(GITHUB, SLACK), "create github issue", limit=1)
    assert found["matches"] == [ISSUE]
    assert tools[ISSUE] == {
        "source": "mcp",
        "source_name": "github",
        "description": "Open a new issue in a repository. Needs write access.",
        "required": ["title"],
    }
    assert "hint" not in found


def test_near_names_are_in_the_map_too():
    seen = view(GITHUB, SLACK)
    for query in ("issue tracker statistics", "message", "repository channel merge"):
        found, tools = group(seen, query)
        assert {*found["matches"], *found["near"]} == set(tools)


def test_an_empty_group_names_the_sources_and_why_some_are_missing():
    found, tools = group(view(GITHUB, DOWN, STARTING), "quxify the zorble")
    assert (found["matches"], tools) == ([], {})
    assert found["available_sources"] == [
        {"name": "calendar", "tool_count": 0, "state": "starting", "reason": "starting"},
        {"name": "github", "tool_count": 3},
        {"name": "mail", "tool_count": 7, "state": "parked", "reason": "connection refused at start"},
    ]
    assert found["hint"]


@pytest.mark.parametrize("query", ["", "🙂🙂", "?!…", "\u200f", "这个工具"])
def test_queries_without_keywords_have_a_defined_answer(query):
    found, _ = group(view(GITHUB), query)
    assert found["matches"] == []
    assert found["available_sources"] == [{"name": "github", "tool_count": 3}]
    assert found["hint"]


def test_a_missing_product_is_said_and_no_retry_asked_for():
    found, _ = group(view(GITHUB, SLACK), "send a message with Telegram")
    assert (found["absent_product"], found["unknown"]) == ("telegram", ["telegram"])
    assert "about telegram. Do not retry" in found["hint"]


def test_a_product_may_be_of_a_server_that_is_still_starting():
    found, _ = group(view(GITHUB, SLACK, STARTING), "send a message with Telegram")
    assert "Do not retry" not in found["hint"]
    assert "not ready" in found["hint"]


def test_nothing_granted_offers_no_hint():
    found, _ = group(view(GITHUB, grant=Grant.nothing()), "create issue")
    assert found == {"query": "create issue", "matches": [], "near": []} | {
        key: found[key] for key in ("unknown",) if key in found
    }


def test_a_grant_hides_everything_else():
    seen = view(GITHUB, SLACK, DOWN, grant=Grant(servers=("slack",)))
    reply = seen.search({"queries": ["create github issue", "nothing of the kind"]})
    assert reply["total_available"] == 2
    text = json.dumps([reply, seen.describe({"names": [ISSUE]})["tools"], assembled(seen)])
    assert "create_issue" not in text.replace("create github issue", "")
    assert "mail" not in text


def test_descriptions_are_cut_and_clean():
    long = {"name": "d" * 40, "inputSchema": {"type": "object", "required": ["p" * 80] + ["q"] * 50}}
    _, tools = group(view(source("s", [long | {"description": HOSTILE}])), "get data")
    (entry,) = tools.values()
    assert entry["description"].startswith("Get data.\n\n<!-- ignore -->")
    assert len(entry["description"]) == 501
    assert entry["description"].endswith("…")
    assert entry["required"] == ["p" * 64] + ["q"] * 31


@pytest.mark.parametrize("required", ["title", 5, None, [1, None, "a"], {"a": 1}])
def test_odd_required_lists_name_what_they_can(required):
    tool = {"name": "t", "description": "d", "inputSchema": {"type": "object", "required": required}}
    _, tools = group(view(source("s", [tool])), "mcp__s__t")
    assert tools["mcp__s__t"]["required"] == (["a"] if isinstance(required, list) else [])


def test_a_description_of_megabytes_is_cut_before_it_is_cleaned():
    seen = view(source("s", {"big": "Get data. " + " " * 5_000_000, "word": "é" * 200_000}))
    entries = group(seen, "get data big")[1]
    assert all(len(entry["description"]) <= 501 for entry in entries.values())
    assert len(seen.describe({"names": ["s/word"]})["tools"]["mcp__s__word"]["description"]) == 200_000


def test_the_reference_shape_has_no_more_than_its_keys():
    found, tools = group(view(GITHUB, dialect="hermes"), "create github issue please")
    assert set(found) == {"query", "matches", "available_sources", "hint"}
    found, tools = group(view(GITHUB, dialect="hermes"), "create github issue")
    assert found == {"query": "create github issue", "matches": [ISSUE]}
    assert tools[ISSUE]["source_name"] == "mcp-github"


@pytest.mark.parametrize(("dialect", "queries", "names"), [("default", 16, 32), ("hermes", 7, 10)])
def test_caps(dialect, queries, names):
    seen = view(GITHUB, dialect=dialect)
    seen.search({"queries": ["q"] * queries})
    seen.describe({"names": [str(number) for number in range(names)]})
    with pytest.raises(ToolsearchdError, match=str(queries)):
        seen.search({"queries": ["q"] * (queries + 1)})
    with pytest.raises(ToolsearchdError, match=str(names)):
        seen.describe({"names": [str(number) for number in range(names + 1)]})


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        ISSUE,
        ISSUE.upper(),
        "github/create_issue",
        "github:create_issue",
        "mcp_github_create_issue",
        "create_issue",
    ],
)
def test_describe_takes_every_form_and_answers_with_the_public_name(name):
    reply = view(GITHUB, SLACK).describe({"names": [name]})
    assert list(reply) == ["tools"]
    described = reply["tools"][ISSUE]
    assert described["description"] == "Open a new issue in a repository. Needs write access."
    assert described["parameters"]["required"] == ["title"]


def test_the_reference_dialect_takes_the_exact_name_alone():
    seen = view(GITHUB, dialect="hermes")
    for name in (ISSUE.upper(), "github/create_issue", "create_issue"):
        reply = seen.describe({"names": [name]})
        assert (reply["tools"], reply["not_found"]) == ({}, [name])
        assert "near" not in reply


@pytest.mark.parametrize("wrong", ["mcp__github__creat_issue", "github-create-isue", "create_isue"])
def test_a_name_that_is_nearly_right_gets_near_ones(wrong):
    reply = view(GITHUB, SLACK).describe({"names": [wrong, "slack/post_message"]})
    assert reply["not_found"] == [wrong]
    assert reply["near"][wrong][0] == ISSUE
    assert len(reply["near"][wrong]) <= 3
    assert list(reply["tools"]) == ["mcp__slack__post_message"]


@pytest.mark.parametrize("grant", [Grant(servers=("slack",)), Grant(tools=("slack/*", "merge_pull_request"))])
@pytest.mark.parametrize("wrong", ["creat_issue", "mcp__github__create_isue", "list_issuess", "list"])
@pytest.mark.parametrize("dialect", ["default", "hermes"])
def test_near_names_come_from_the_grant(grant, wrong, dialect):
    seen = view(GITHUB, SLACK, grant=grant, dialect=dialect)
    with pytest.raises(ToolsearchdError) as refused:
        seen.resolve_call(wrong)
    near = [*seen.seen.near_names(wrong, 50), *refused.value.fields["near"]]
    near += seen.describe({"names": [wrong]}).get("near", {}).get(wrong, [])
    assert set(near) <= {seen.name_of(tool) for tool in seen.granted_tools()}


def test_near_names_of_which_search_finds_none_come_from_the_grant():
    """All names of a small catalog are compared then."""
    some = source("srv", {"abcdefgh": "One", "abcdefgx": "Two"})
    assert view(some).seen.near_names("zbcdefg") == ["mcp__srv__abcdefgh", "mcp__srv__abcdefgx"]
    assert view(some, grant=Grant(tools=("abcdefgx",))).seen.near_names("zbcdefg") == ["mcp__srv__abcdefgx"]
    explained = explain(view(some, grant=Grant(tools=("abcdefgx",))), "one", None, limits=Limits())
    assert "abcdefgh" not in json.dumps(explained)
    with pytest.raises(ToolsearchdError) as refused:
        explain(view(some, grant=Grant(tools=("abcdefgx",))), "one", "zbcdefgh", limits=Limits())
    assert "mcp__srv__abcdefgh" not in json.dumps(refused.value.fields)


def test_a_bare_name_of_two_tools_is_not_guessed():
    reply = view(source("a", {"get": "x"}), source("b", {"get": "x"})).describe({"names": ["get"]})
    assert reply["not_found"] == ["get"]
    assert set(reply["near"]["get"]) == {"mcp__a__get", "mcp__b__get"}


def test_directly_listed_tools_are_the_wrong_door():
    reply = view(GITHUB).describe({"names": ["terminal", "tool_search", ISSUE]}, direct={"terminal"})
    assert set(reply["errors"]) == {"terminal", "tool_search"}
    assert list(reply["tools"]) == [ISSUE]


def test_an_endless_name_comes_back_short():
    reply = view(GITHUB).describe({"names": ["n" * 1_000_000]})
    assert reply["not_found"] == ["n" * 200 + "…"]


NEAR = source("my-server", {"get-data": "Get data", "list.items": "List items"})


@pytest.mark.parametrize(
    "name",
    [
        "mcp__my_server__get_data",
        "mcp__my-server__get_data",
        "MCP__My-Server__Get-Data",
        "get_data",
        "getData",
        "GET-DATA",
        "get.data",
        "my-server/get-data",
        "my_server/getData",
        "my-server__get_data",
        "my_server:get_data",
        "my_server_get_data",
        "mcp_my_server_get_data",
        "mcp_my-server_get-data",
        "mcp-my-server-get-data",
        "mcp.my.server.get.data",
        "my-server.get-data",
        "functions/get_data",
        "tools/getData",
        "tools:my_server/get_data",
        "default_api.functions.get_data",
        "Functions.default_api:mcp_my_server_get_data",
        "functions.mcp__my-server__get-data",
        "functions.get_data",
        "default_api.mcp__my_server__get_data",
        "default_api:getData",
    ],
)
def test_a_near_name_is_taken_where_one_granted_tool_fits(name):
    other = source("other", {"get_date": "Get the date", "put_data": "Put data"})
    seen = view(NEAR, other)
    assert seen.resolve_call(name).name == "get-data"
    assert list(seen.describe({"names": [name]})["tools"]) == [seen.resolve_call(name).public_name]
    hidden = view(NEAR, other, grant=Grant(servers=("other",)))
    with pytest.raises(ToolsearchdError) as caught:
        hidden.resolve_call(name)
    assert "get-data" not in json.dumps(caught.value.as_fields()).replace(name, "")


def test_where_two_fit_the_error_names_both():
    seen = view(NEAR, source("b", {"getData": "x"}), source("c", {"other": "x"}))
    with pytest.raises(ToolsearchdError) as caught:
        seen.resolve_call("get_data")
    both = sorted(tool.public_name for tool in seen.granted_tools() if "ata" in tool.name)
    assert caught.value.fields["near"] == both
    assert all(name in caught.value.message for name in both)


def test_a_servers_name_is_not_taken_for_anothers():
    seen = view(source("a", {"bc": "x"}), source("slack", {"post": "x"}))
    for name in ("mcp__ab__c", "ab/c", "mcp__slack__bc", "slack__bc"):
        with pytest.raises(ToolsearchdError):
            seen.resolve_call(name)


def test_near_names_of_a_large_catalog():
    many = source("many", {f"do_thing_{number}": f"Does thing {number}" for number in range(2100)})
    seen = view(NEAR, many, source("users", {"get-user-profile": "x"}))
    assert seen.resolve_call("getData").name == "get-data"
    assert seen.resolve_call("do-thing-77").name == "do_thing_77"
    assert seen.resolve_call("getuserprofile").name == "get-user-profile"
    assert seen.resolve_call("mcp_users_getuserprofile").name == "get-user-profile"


def test_tools_that_meet_in_one_reference_name():
    """Of one server: neither. Of two: the first one's."""
    one, two = source("a.b", {"x-y": "first", "x.y": "second", "z": "z"}), source("a-b", {"z": "other"})
    seen = view(one, two, dialect="hermes")
    assert [tool.public_name for tool in seen.granted_tools()] == [seen.resolve("mcp__a_b__z").public_name]
    assert seen.resolve("mcp__a_b__z").server == "a.b"
    assert seen.search({"queries": ["z"]})["total_available"] == 1
    assert assembled(seen)["deferred_count"] == 1
    both = view(one, two)
    assert len(both) == 4


def test_a_tool_without_a_known_source_is_grouped_under_other():
    loose = source("", {"mcp__x__loose": "No toolset known"}, kind="plugin")
    seen = view(loose, dialect="hermes")
    assert assembled(seen)["listing"].split("\n")[1:] == [
        "other tools (1):",
        "- mcp__x__loose: No toolset known",
    ]
    assert group(seen, "loose")[1]["mcp__x__loose"]["source"] == "other"


@pytest.mark.parametrize(
    ("own", "hides"),
    [
        ({"name": "tool_call", "core": False}, False),
        ({"name": "todo_list", "core": True}, True),
        ({"name": "terminal", "core": True}, False),
        ({"name": "something"}, False),
        ({"name": "window", "core": False, "toolset": "desktop_ui"}, False),
        ({"name": "init", "core": False, "toolset": "project"}, False),
        ({"name": "wizard", "core": False, "toolset": "setup"}, False),
        ({"name": "todo_list", "core": False, "toolset": "setup"}, True),
        ({"name": "weather", "core": False, "toolset": "weather-plugin"}, True),
        ({"name": "weather", "core": False}, True),
    ],
)
@pytest.mark.parametrize("dialect", ["hermes", "nemoclaw-hermes"])
def test_which_own_tools_may_hide(own, hides, dialect):
    """The reference's rule, in its order."""
    sort_own = DIALECTS[dialect].interpreter().sort_own
    sorted_tools = sort_own([own], defer={"todo_list"}, taken=(), limits=Limits())
    names = [one.name for group in sorted_tools.deferred.values() for one in group]
    assert names == ([own["name"]] if hides else [])


# --- what views share -----------------------------------------------------------------------------


def test_views_of_successive_snapshots_share_texts():
    first = view(GITHUB, SLACK)
    texts = ToolTexts()
    more = {"dialect": first.dialect, "settings": first.settings, "limits": Limits(), "texts": texts}
    described = make_view(first.snapshot, Grant(), **more).describe({"names": [ISSUE]})["tools"][ISSUE]
    later = make_view(view(GITHUB).snapshot, Grant(), **more).describe({"names": [ISSUE]})["tools"][ISSUE]
    assert described is later
    changed = source("github", {"create_issue": "Something else"})
    newest = make_view(view(changed).snapshot, Grant(), **more).describe({"names": [ISSUE]})["tools"][ISSUE]
    assert newest["description"] == "Something else"


def test_texts_of_tools_long_gone_are_forgotten():
    texts, tools = ToolTexts(), [d for n in range(30) for d in _many(n)]
    for tool in tools:
        texts.short(tool)
    assert len(texts._short) == 3000
    texts.trim(100)
    assert not texts._short


def _many(round_):
    return source("s", {f"t{round_}_{number}": "x" for number in range(100)}).definitions
