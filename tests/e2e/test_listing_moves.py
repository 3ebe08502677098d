"""When the listing of a session moves: for its own reasons only; every reply says whether it is old."""

import json

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent

TOOLS = [
    {"name": f"zone_{n}", "description": f"Change zone {n}.", "inputSchema": {"type": "object"}}
    for n in range(3)
]
REQUESTS = {
    "ping": {},
    "search": {"queries": ["zone"]},
    "describe": {"names": ["mcp__zones__zone_0"]},
    "explain": {"query": "zone"},
    "stop": {},
    "subscribe": {"events": []},
}


@pytest.fixture
def daemon(tmp_path):
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    servers = {"zones": zoo("steady", "--tools-from", file), "steady": zoo("steady", "echo")}
    config = {
        "tools": {"tool_search": {"enabled": "on"}},
        "limits": {"list_min_interval_s": 0.05},
        "profiles": {"known": {"context_length": 100_000}},
    }
    with DaemonProcess(tmp_path, servers=servers, config=config) as daemon:
        daemon.wait_servers(*servers)
        daemon.tools_file = file
        daemon.entries = servers
        yield daemon


def assemble(wire, **fields):
    reply = wire.ask({"op": "assemble", "id": "assemble", **fields})
    assert reply["op"] == "result", reply
    return reply


def assembled_when(wire, condition, **fields):
    """The first view of which the condition holds."""
    return wait_until(lambda: reply if condition(reply := assemble(wire, **fields)) else None)


def stale(wire):
    return wire.ask({"op": "ping", "id": "p"})["listing_stale"]


def changed(daemon, wire, description):
    """One tool's description changes, and the new listing is there."""
    daemon.tools_file.write_text(json.dumps([TOOLS[0] | {"description": description}, *TOOLS[1:]]))
    wait_until(lambda: stale(wire), what="a listing that is old")


@pytest.mark.parametrize("listing", ["embed", "separate"])
def test_a_tool_that_changes_moves_nothing_until_asked(daemon, listing):
    with agent(daemon, listing=listing) as wire:
        first = assemble(wire)
        assert first["listing_stale"] is False
        changed(daemon, wire, "Quite another thing.")
        for op, fields in REQUESTS.items():
            reply = wire.ask({"op": op, "id": op, **fields})
            assert reply["op"] == "result", reply
            assert reply["listing_stale"] is True, op
        again = assemble(wire)
        assert again.pop("listing_stale") is True
        assert again["generation"] > first["generation"]
        for key in ("tools", "listing", "version", "listing_tokens"):
            assert again[key] == first[key]
        fresh = assemble(wire, refresh=True)
        assert "Quite another thing." in fresh["listing"]
        assert fresh["version"] != first["version"]
        assert fresh["listing_stale"] is stale(wire) is False
        assert (fresh["tools"] == first["tools"]) is (listing == "separate")


def test_a_change_that_is_taken_back_is_not_old(daemon):
    with agent(daemon) as wire:
        first = assemble(wire)
        changed(daemon, wire, "Quite another thing.")
        daemon.tools_file.write_text(json.dumps(TOOLS))
        wait_until(lambda: not stale(wire), what="the listing as it was")
        assert assemble(wire)["version"] == first["version"]


def test_a_server_that_comes_or_goes_moves_it(daemon):
    with agent(daemon, listing="separate") as wire:
        first = assemble(wire)
        daemon.write_servers(daemon.entries | {"third": zoo("steady", "pid")})
        daemon.wait_servers("third")
        grown = assembled_when(wire, lambda reply: "mcp__third__pid" in reply["listing"])
        assert grown["tools"] == first["tools"]
        daemon.write_servers(daemon.entries)
        shrunk = assembled_when(wire, lambda reply: "third" not in reply["listing"])
        assert shrunk["version"] == first["version"]


@pytest.mark.parametrize(
    "fields", [{"context_length": 4000}, {"model": "gpt-4"}, {"encoding": "cl100k_base"}], ids=str
)
def test_another_model_or_context_moves_it(daemon, fields):
    with agent(daemon, context_length=100_000) as wire:
        assemble(wire)
        changed(daemon, wire, "Quite another thing.")
        assert "Quite another thing." not in assemble(wire)["listing"]
        moved = assemble(wire, **fields)
        assert "Quite another thing." in moved["listing"]
        assert moved["listing_stale"] is False
        assert assemble(wire)["version"] == moved["version"]  # what it said of its model stands


def test_the_reference_s_dialect_looks_anew_each_time(daemon):
    with agent(daemon, dialect="hermes") as wire:
        assemble(wire)
        changed(daemon, wire, "Quite another thing.")
        assert "Quite another thing." in assemble(wire)["listing"]


def test_the_budget_is_the_model_s(daemon):
    with agent(daemon, profile="known") as wire:
        assert assemble(wire)["budget_tokens"] == 4000
        small = assemble(wire, context_length=1000)
        assert small["budget_tokens"] == 50
        assert small["listing_tokens"] <= 50
        assert small["listing_form"] in ("groups", "mixed")


def test_an_encoding_without_a_vocabulary_is_estimated_and_says_so(daemon):
    with agent(daemon, encoding="someone_base") as wire:
        guessed = assemble(wire)
        assert guessed["estimate"] is True
        counted = assemble(wire, encoding="o200k_base")
        assert "estimate" not in counted
        assert 0 < guessed["listing_tokens"] < 2 * counted["listing_tokens"]


def test_sessions_that_see_the_same_get_the_same_bytes(daemon):
    with agent(daemon, client="one") as one, agent(daemon, client="two") as two:
        first, second = assemble(one), assemble(two)
        assert (first["version"], first["tools"], first["listing"]) == (
            second["version"],
            second["tools"],
            second["listing"],
        )


def test_counts_are_there_after_a_start(daemon):
    """A second start gives the same text though the worker has nothing to count for it."""
    with agent(daemon) as wire:
        first = assemble(wire)
    wait_until(lambda: list((daemon.state_dir / "tokens").glob("*.counts")), what="counts on the disk")
    daemon.stop()
    daemon.log.write_text("")
    daemon.start()
    daemon.wait_servers(*daemon.entries)
    with agent(daemon) as wire:
        again = assembled_when(wire, lambda reply: reply["version"] == first["version"], refresh=True)
        assert again["listing_tokens"] == first["listing_tokens"]
        assert "estimate" not in again
