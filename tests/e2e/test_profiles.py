"""Profiles: by the client's name, every key of them in force, narrowed by a hello and never widened."""

import pytest
import trio

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent
from toolsearchd.async_client import AsyncClient
from toolsearchd.client import Client

PROFILES = {
    "readers": {
        "match": {"client": "reader-*"},
        "servers": ["a"],
        "tools": ["echo", "pid", "erase"],
        "pins": ["pid"],
        "context_length": 50_000,
        "options": {"listing_max_tokens": 300, "max_search_limit": 7},
        "approval": "deny",
    },
    "old": {"match": {"client": ["june-*"]}, "dialect": "hermes-v1", "enabled": "on"},
    "plain": {"match": {"client": "plain"}, "enabled": "off"},
    "small": {"match": {"client": "small"}, "enabled": "fit", "options": {"fit_pct": 50}},
    "everything": {"approval": "allow"},
    "typo": {"match": {"client": "typo"}, "servers": ["aa"]},
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {name: zoo("steady", env={"WHO": name}) for name in ("a", "b")}
    config = {
        "profiles": PROFILES,
        "servers": {"c": zoo("steady", "echo", "sleep", pins=["sl*"])},
        "approval": {"rules": [{"profile": "readers", "tool": "echo", "then": "allow"}]},
    }
    with DaemonProcess(tmp_path_factory.mktemp("profiles"), servers=servers, config=config) as daemon:
        daemon.wait_servers("a", "b", "c")
        yield daemon


def names(reply):
    return [tool["function"]["name"] for tool in reply["tools"]]


def call(wire, number, name, **arguments):
    reply = wire.ask({"op": "call", "id": number, "calls": [{"name": name, "arguments": arguments}]})
    return reply["results"][0]


def test_a_profile_is_found_by_the_clients_name_and_all_of_it_holds(daemon):
    with agent(daemon, client="reader-1") as wire:
        assert wire.welcome["profile"] == "readers"
        given = wire.ask({"op": "assemble", "id": 1})
        assert names(given) == ["tool_search", "tool_describe", "tool_call", "mcp__a__pid"]
        assert (given["deferred_count"], given["budget_tokens"]) == (2, 300)
        assert "mcp__a__pid" not in given["listing"]
        search = given["tools"][0]["function"]["parameters"]["properties"]
        assert search["limit"]["maximum"] == 7
        found = wire.ask({"op": "search", "id": 2, "queries": ["erase", "sleep", "mcp__b__echo"]})
        assert found["results"][0]["matches"] == ["mcp__a__erase"]
        assert not found["tools"].keys() - {"mcp__a__echo", "mcp__a__erase", "mcp__a__pid"}
        assert found["total_available"] == 3
        assert call(wire, 3, "mcp__a__pid")["error"]["code"] == "DENIED"
        assert "response" in call(wire, 4, "mcp__a__echo", text="x")
        assert call(wire, 5, "mcp__b__echo", text="x")["error"]["code"] == "TOOL_NOT_FOUND"


def test_enabled_and_dialect_of_a_profile(daemon):
    with agent(daemon, client="june-agent") as wire:
        assert wire.welcome["dialect"] == "hermes-v1"
        assert len(wire.ask({"op": "assemble", "id": 1, "context_length": 10**6})["tools"]) == 3 + 1
    with agent(daemon, client="june-agent", dialect="hermes") as wire:
        assert wire.welcome["dialect"] == "hermes"
    with agent(daemon, client="plain") as wire:
        assert wire.ask({"op": "assemble", "id": 1})["tier"] == 0
    with agent(daemon, client="small") as wire:
        assert wire.ask({"op": "assemble", "id": 1, "context_length": 100_000})["tier"] == 0
        assert wire.ask({"op": "assemble", "id": 2, "context_length": 100})["tier"] != 0


def test_a_servers_pins_hold_for_everyone(daemon):
    with agent(daemon, client="someone") as wire:
        assert names(wire.ask({"op": "assemble", "id": 1}))[3:] == ["mcp__c__sleep"]


def test_a_hello_narrows_and_never_widens(daemon):
    with agent(daemon, client="reader-2", profile="everything") as wire:
        assert wire.welcome["profile"] == "everything"
        found = wire.ask({"op": "search", "id": 1, "queries": ["echo"]})
        assert found["total_available"] == 3
        assert call(wire, 2, "mcp__b__echo", text="x")["error"]["code"] == "TOOL_NOT_FOUND"
        assert call(wire, 3, "mcp__a__pid")["error"]["code"] == "DENIED"
    with agent(daemon, client="someone", profile="readers") as wire:
        assert wire.ask({"op": "search", "id": 1, "queries": ["echo"]})["total_available"] == 3


def test_a_sub_agent_says_what_it_needs_and_every_verb_obeys(daemon):
    scope = {"only": {"servers": ["a", "c"]}, "without": {"tools": ["erase", "c/sleep", "mcp__a__p*"]}}
    with agent(daemon, **scope) as wire:
        given = wire.ask({"op": "assemble", "id": 1})
        assert "mcp__a__echo" in given["listing"]
        for gone in ("mcp__b__", "erase", "mcp__c__sleep", "mcp__a__pid"):
            assert gone not in str(given)
        found = wire.ask({"op": "search", "id": 2, "queries": ["erase everything", "mcp__b__echo", "echo"]})
        assert found["results"][0]["matches"] == []
        assert not [name for name in found["tools"] if "erase" in name or name.startswith("mcp__b__")]
        assert sorted(found["results"][2]["matches"]) == ["mcp__a__echo", "mcp__c__echo"]
        assert found["total_available"] == given["deferred_count"]
        described = wire.ask({"op": "describe", "id": 3, "names": ["mcp__a__erase", "c/sleep", "a/echo"]})
        assert (list(described["tools"]), described["not_found"]) == (
            ["mcp__a__echo"],
            ["mcp__a__erase", "c/sleep"],
        )
        explained = wire.ask({"op": "explain", "id": 4, "query": "erase", "tool": "mcp__a__erase"})
        assert "mcp__a__erase" not in str(explained.get("candidates"))
        for number, name in enumerate(("mcp__b__echo", "mcp__a__erase", "mcp__c__sleep"), 5):
            assert call(wire, number, name, text="x", s=0)["error"]["code"] == "TOOL_NOT_FOUND"
        assert "response" in call(wire, 9, "mcp__c__echo", text="x")


def test_a_sub_agent_gets_no_more_than_its_profile(daemon):
    with agent(daemon, client="reader-3", only={"servers": ["*"], "tools": ["*", "mcp__b__*"]}) as wire:
        assert wire.ask({"op": "search", "id": 1, "queries": ["echo"]})["total_available"] == 3
    with agent(daemon, client="reader-3", only={"servers": ["b"]}) as wire:
        assert wire.ask({"op": "search", "id": 1, "queries": ["echo"]})["total_available"] == 0


@pytest.mark.parametrize("scope", [{"only": ["a"]}, {"without": {"server": ["a"]}}])
def test_a_scope_of_another_shape_opens_no_session(daemon, scope):
    with agent(daemon, **scope) as wire:
        assert (wire.welcome["op"], wire.welcome["code"]) == ("error", "BAD_ARGUMENTS")


def test_both_clients_can_say_it(daemon):
    only = {"only": {"tools": ["echo"]}, "without": {"servers": ["c"]}}
    with Client(client="sub", runtime_dir=daemon.runtime_dir, **only) as client:
        assert client.search(["echo"])["total_available"] == 2

    async def total():
        async with AsyncClient.connect(client="sub", runtime_dir=daemon.runtime_dir, **only) as client:
            return (await client.search(["echo"]))["total_available"]

    assert trio.run(total) == 2


def test_an_unknown_profile_grants_nothing_and_says_so(daemon):
    with agent(daemon, client="someone", profile="no-such") as wire:
        assert "no-such" in wire.welcome["warnings"][0]
        assert wire.ask({"op": "search", "id": 1, "queries": ["echo"]})["total_available"] == 0
        assert wire.ask({"op": "assemble", "id": 2})["deferred_count"] == 0
        assert call(wire, 3, "mcp__a__echo", text="x")["error"]["code"] == "TOOL_NOT_FOUND"
    assert "no-such" in daemon.log.read_text()


def test_a_server_that_there_is_not_grants_nothing_and_is_named(daemon):
    with agent(daemon, client="typo") as wire:
        assert "'aa'" in wire.welcome["warnings"][0]
        assert wire.ask({"op": "search", "id": 1, "queries": ["echo"]})["total_available"] == 0
    findings = daemon.ctl("doctor")[1]["findings"]
    assert "'aa'" in next(one["message"] for one in findings if one["about"] == "profiles.typo.servers")


def test_a_changed_profile_binds_open_sessions(tmp_path):
    config = {"profiles": {"p": {"match": {"client": "x"}, "servers": ["a"]}}}
    with DaemonProcess(tmp_path, servers={"a": zoo("steady")}, config=config) as daemon:
        daemon.wait_servers("a")
        with agent(daemon, client="x") as wire, agent(daemon, client="x", only={"tools": ["pid"]}) as sub:
            assert wire.ask({"op": "search", "id": 1, "queries": ["echo"]})["total_available"] == 7
            assert sub.ask({"op": "search", "id": 1, "queries": ["echo"]})["total_available"] == 1
            config = daemon.config | {"profiles": {"p": {"match": {"client": "x"}, "tools": ["echo"]}}}
            daemon.write_config(config)
            numbers = iter(range(2, 10_000))

            def narrowed():
                reply = wire.ask({"op": "search", "id": next(numbers), "queries": ["echo"]})
                return reply["total_available"] == 1

            wait_until(narrowed, what="the narrower grant")
            assert sub.ask({"op": "search", "id": 2, "queries": ["echo"]})["total_available"] == 0


def test_an_odd_option_is_a_warning_with_its_place(tmp_path):
    config = {"profiles": {"p": {"options": {"listing_max_tokens": 5, "colour": "red"}}}}
    daemon = DaemonProcess(tmp_path, config=config)
    with daemon:
        problems = daemon.ctl("doctor")[1]
        text = str(problems)
        assert "profiles.p.options.listing_max_tokens" in text
        assert "profiles.p.options.colour" in text
