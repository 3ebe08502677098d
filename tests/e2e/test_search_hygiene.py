"""A session that searches in circles is told so; what it does elsewhere, or a change, starts it afresh."""

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with DaemonProcess(tmp_path_factory.mktemp("hygiene"), servers={"steady": zoo("steady")}) as daemon:
        daemon.wait_servers("steady")
        yield daemon


@pytest.fixture
def session(daemon):
    with agent(daemon) as wire:
        yield wire


def search(wire, *queries, **fields):
    reply = wire.ask({"op": "search", "id": 1, "queries": list(queries), **fields})
    assert reply["op"] == "result", reply
    return reply["results"]


def hint(wire, query):
    return search(wire, query)[0]["hint"]


def test_a_repeat_says_so_and_gives_the_names_again(session):
    (first,) = search(session, "echo a text")
    (second,) = search(session, " ECHO a text")
    assert second["matches"] == first["matches"] == ["mcp__steady__echo"]
    assert "repeat" not in first
    assert (second["repeat"], search(session, "echo a text")[0]["repeat"]) == (2, 3)


def test_another_session_starts_at_the_beginning(daemon, session):
    search(session, "echo a text")
    with agent(daemon) as other:
        assert "repeat" not in search(other, "echo a text")[0]


def test_the_hint_turns_to_not_present_and_back_after_a_call(daemon, session):
    hints = [hint(session, f"zzqqx vvkkj{word}") for word in ("", "a", "b")]
    assert "Search again" in hints[0]
    assert "Search again" in hints[1]
    assert "not present" in hints[2]
    (line,) = [s for s in daemon.ctl("sessions")[1]["sessions"] if s["session"] == session.welcome["session"]]
    assert line["searches_without_call"] == 3
    call = {"name": "mcp__steady__echo", "arguments": {"text": "hi"}}
    reply = session.ask({"op": "call", "id": 2, "calls": [call]})
    assert reply["success_count"] == 1
    assert "Search again" in hint(session, "zzqqx vvkkj")


def test_an_attempt_that_fails_counts_as_a_call(session):
    for _ in range(2):
        hint(session, "zzqqx vvkkj")
    session.ask({"op": "call", "id": 2, "calls": [{"name": "mcp__steady__nothing", "arguments": {}}]})
    assert "Search again" in hint(session, "zzqqx vvkkj")


def test_a_thousand_repeats_are_answered_briefly(session):
    for _ in range(1_000):
        (last,) = search(session, "zzqqx vvkkj")
    assert last["repeat"] == 1_000
    assert "not present" in last["hint"]


def test_the_reference_dialect_keeps_its_words(daemon):
    with agent(daemon, dialect="hermes") as wire:
        replies = [search(wire, "echo", "zzqqx vvkkj") for _ in range(5)]
    assert all(reply == replies[0] for reply in replies)
    assert set(replies[0][1]) == {"query", "matches", "available_sources", "hint"}


def test_a_change_of_the_catalog_starts_afresh(daemon, session):
    for _ in range(3):
        (group,) = search(session, "zzqqx vvkkj")
    assert group["repeat"] == 3
    daemon.write_servers({"steady": zoo("steady"), "more": zoo("steady", "progress")})
    wait_until(lambda: session.ask({"op": "ping", "id": 5})["generation"] > session.welcome["generation"])
    daemon.wait_servers("more")
    (group,) = search(session, "zzqqx vvkkj")
    assert group.get("repeat", 1) < 3
    assert "Search again" in group["hint"]
