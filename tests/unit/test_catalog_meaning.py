"""What a name means: the tool that bears it exactly, else the one that fits; never one of several."""

import pytest

from tests.unit.disclosure_catalog import source, view
from toolsearchd.errors import ToolsearchdError


def seen_of(*pairs, **grant):
    servers = {}
    for pair in pairs:
        server, _, tool = pair.partition("/")
        servers.setdefault(server, {})[tool] = "x"
    return view(*(source(server, tools) for server, tools in servers.items()), **grant)


def pair_of(tool):
    return f"{tool.server}/{tool.name}"


@pytest.mark.parametrize(
    ("name", "meant", "pairs"),
    [
        ("tools.list", "a/tools.list", ["a/tools.list", "b/list"]),
        ("tools.list", "tools/list", ["tools/list", "b/list"]),
        ("tools/list", "tools/list", ["tools/list", "b/list"]),
        ("tools:list", "tools/list", ["tools/list", "b/list"]),
        ("functions.run", "a/functions.run", ["a/functions.run", "b/run"]),
        ("default_api:run", "default_api/run", ["default_api/run", "b/run"]),
        ("functions.tools.list", "a/tools.list", ["a/tools.list", "b/list"]),
        ("getData", "a/getData", ["a/getData", "a/get-data", "b/get_data"]),
        ("functions.get_data", "b/get_data", ["a/get-data", "b/get_data"]),
        ("a/get_data", "a/get_data", ["a/get_data", "a/get-data", "b/get_data"]),
        ("mcp_a_get_data", "a/get_data", ["a/get_data", "a/get-data"]),
        ("MCP__a__x/get_data", "a/x/get-data", ["a/x/get-data", "b/get_data"]),
    ],
)
def test_a_name_as_written_is_before_any_other_reading(name, meant, pairs):
    seen = seen_of(*pairs)
    assert pair_of(seen.resolve_call(name)) == meant
    assert list(seen.describe({"names": [name]})["tools"]) == [seen.resolve_call(name).public_name]


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("GETDATA", ["a/getData", "a/get-data"]),
        ("GETDATA", ["a/getData", "b/get_data"]),
        ("getdata", ["a/getData", "b/get_data"]),
        ("A/GetData", ["a/getData", "a/get_data"]),
        ("mcp__A__get.data", ["a/get-data", "a/get_data"]),
        ("tools.list", ["a/tools.list", "tools/list"]),
        ("tools.list", ["a/tools_list", "b/list"]),
        ("mcp_a_b_c", ["a/b_c", "a_b/c"]),
        ("functions.get-data", ["a/getData", "b/get_data"]),
    ],
)
@pytest.mark.parametrize("beside", [0, 2_500])
def test_where_several_fit_none_is_taken_and_all_are_named(name, pairs, beside):
    many = [f"many/do_thing_{number}" for number in range(beside)]
    seen = seen_of(*pairs, *many)
    with pytest.raises(ToolsearchdError) as caught:
        seen.resolve_call(name)
    named = sorted(tool.public_name for tool in seen.granted_tools() if pair_of(tool) in pairs)
    assert caught.value.fields["near"] == named
    assert seen.describe({"names": [name]})["tools"] == {}


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("slack__bc", ["a/bc", "slack/post"]),
        ("mcp__a_b__c", ["a/bc"]),
        ("mcp__a_b__c", ["a/b-c"]),
        ("ab_c", ["a/bc"]),
        ("mcp_ab_c", ["a/bc"]),
        ("github/create_issue", ["evil/github_create_issue"]),
        ("mcp_github_create_issue", ["evil/github_create_issue"]),
    ],
)
def test_no_server_is_taken_for_another(name, pairs):
    with pytest.raises(ToolsearchdError):
        seen_of(*pairs).resolve_call(name)


@pytest.mark.parametrize("tool", ["list.items", "x" * 90, "données"])
def test_a_public_name_with_a_digest_is_found_in_near_form(tool):
    seen = seen_of(f"my-server/{tool}", "b/other")
    (named,) = [one.public_name for one in seen.granted_tools() if one.name == tool]
    for name in (named.upper(), named.replace("-", "_"), f"functions.{named}"):
        assert seen.resolve_call(name).name == tool
