"""Which of a server's tools there are is the person's word: an edit acts on the listing in hand, whatever the
server does, and on what waits."""

import shlex

import pytest

from tests.daemon import wait_until
from tests.e2e.test_approvals import Asked, Calling
from tests.servers.zoo import zoo
from tests.wire import agent

RECORD, PEEK = "mcp__one__record", "mcp__one__peek"
ONLY_PEEK = {"tools": {"include": ["peek"]}}
NO_RECORD = {"tools": {"exclude": ["rec*"]}}
OFF = {"enabled": False}


@pytest.fixture
def daemon(tmp_path):
    """With a server that lists its tools once only, takes one call at a time and writes it down."""
    config = {"approval": {"wait_s": 30}, "tools": {"tool_search": {"enabled": "on"}}}
    with Asked(tmp_path, config=config) as daemon:
        daemon.gate = tmp_path / "gate"
        daemon.entry = zoo("ledger", tmp_path / "ledger", daemon.gate, max_concurrency=1)
        daemon.write_servers({"one": daemon.entry})
        daemon.wait_servers("one")
        yield daemon
        daemon.close_agents()


def edit(daemon, **keys):
    """Saves the server's entry and has it in force."""
    daemon.write_servers({"one": daemon.entry | keys})
    assert daemon.ctl("reload")[0] == 0


def call_of(nonce, tool=RECORD, **arguments):
    return {"name": tool, "arguments": {"nonce": nonce, **arguments}}


def recorded(daemon):
    file = daemon.root / "ledger"
    return [line.split()[1] for line in file.read_text().splitlines()] if file.exists() else []


def seen(daemon):
    """The names of the tools by each way to them; every way must agree."""
    with agent(daemon) as wire:
        search = wire.ask({"op": "search", "id": 1, "queries": ["record or look up a nonce in the ledger"]})
        described = wire.ask({"op": "describe", "id": 2, "names": [RECORD, PEEK]})
        listing = wire.ask({"op": "assemble", "id": 3})["listing"]
    found = [
        set(search["tools"]),
        set(described["tools"]),
        {tool for tool in (RECORD, PEEK) if tool in listing},
    ]
    return found[0] if all(one == found[0] for one in found) else None


def test_an_edit_acts_at_once_whatever_the_server_does(daemon):
    pid = daemon.server("one")["pid"]
    assert seen(daemon) == {RECORD, PEEK}
    edit(daemon, **ONLY_PEEK)
    wait_until(lambda: seen(daemon) == {PEEK}, within_s=5)
    with agent(daemon) as wire:
        reply = wire.ask({"op": "call", "id": 1, "calls": [call_of("x"), call_of("y", PEEK)]})
    assert reply["results"][0]["error"]["code"] == "TOOL_NOT_FOUND"
    assert reply["results"][1]["response"]
    edit(daemon, tools={"exclude": ["peek"]})
    wait_until(lambda: seen(daemon) == {RECORD}, within_s=5)
    edit(daemon)
    wait_until(lambda: seen(daemon) == {RECORD, PEEK}, within_s=5)
    assert daemon.server("one")["pid"] == pid
    edit(daemon, **OFF)
    wait_until(lambda: seen(daemon) == set(), within_s=5)
    assert recorded(daemon) == ["y"]


def test_a_server_that_is_enabled_again_is_found_before_it_is_up(daemon):
    """By what it listed last, until it says otherwise."""
    may_start = daemon.root / "may-start"
    may_start.touch()
    server = shlex.join([daemon.entry["command"], *daemon.entry["args"]])
    wait = f"while [ ! -e {may_start} ]; do sleep 0.05; done"
    daemon.entry = {"command": "sh", "args": ["-c", f"{wait}; exec {server}"]}
    edit(daemon)
    daemon.wait_servers("one")
    edit(daemon, **OFF)
    wait_until(lambda: seen(daemon) == set(), within_s=5)
    may_start.unlink()
    edit(daemon)
    wait_until(lambda: seen(daemon) == {RECORD, PEEK}, within_s=5)
    assert daemon.server("one")["state"] == "starting"


def test_a_list_that_was_under_way_brings_nothing_back(daemon):
    """The server is asked for its list, the filter is edited, the answer comes: the filter holds."""
    Calling(daemon, call_of("change", how="change")).result()
    edit(daemon, **ONLY_PEEK)
    wait_until(lambda: seen(daemon) == {PEEK}, within_s=5)
    daemon.gate.touch()
    Calling(daemon, call_of("after", PEEK)).result()
    assert seen(daemon) == {PEEK}


def test_widened_while_the_server_is_down_and_after_a_start(daemon):
    """What was filtered away is kept, over a restart of the daemon too."""
    edit(daemon, **ONLY_PEEK)
    wait_until(lambda: seen(daemon) == {PEEK}, within_s=5)
    assert daemon.stop() == 0
    daemon.write_servers({"one": daemon.entry | ONLY_PEEK | {"start": "lazy"}})
    daemon.start()
    wait_until(lambda: seen(daemon) == {PEEK}, within_s=5)
    edit(daemon, start="lazy")
    wait_until(lambda: seen(daemon) == {RECORD, PEEK}, within_s=5)
    assert daemon.server("one")["state"] == "not_started"
    edit(daemon, start="lazy", **NO_RECORD)
    wait_until(lambda: seen(daemon) == {PEEK}, within_s=5)
    assert recorded(daemon) == []


EDITS = {
    "include": (ONLY_PEEK, "TOOL_NOT_FOUND"),
    "exclude": (NO_RECORD, "TOOL_NOT_FOUND"),
    "enabled": (OFF, "SERVER_UNAVAILABLE"),
}
edits = pytest.mark.parametrize(("keys", "code"), EDITS.values(), ids=EDITS)


@edits
def test_a_call_that_waits_for_its_turn_is_not_sent(daemon, keys, code):
    running = Calling(daemon, call_of("first", s=60 if keys is OFF else 2))
    wait_until(lambda: recorded(daemon) == ["first"], what="the call that runs")
    waiting = Calling(daemon, call_of("second"), wire=daemon.agent())
    wait_until(lambda: daemon.server("one")["queued"] == 1, what="the call that waits")
    edit(daemon, **keys)
    error = waiting.result()["error"]
    assert (error["code"], "disabled" in error["message"]) == (code, keys is OFF)
    assert running.result().get("error", {}).get("code") == ("INDETERMINATE" if keys is OFF else None)
    assert recorded(daemon) == ["first"]


@edits
def test_a_call_that_waits_for_an_approval_is_not_sent(daemon, keys, code):
    daemon.write_config(daemon.config | {"approval": {"wait_s": 30, "default": "ask"}})
    assert daemon.ctl("reload")[0] == 0
    waiting = Calling(daemon, call_of("asked"))
    wait_until(lambda: daemon.control("approvals")["approvals"], what="the prompt")
    edit(daemon, **keys)
    assert waiting.result()["error"]["code"] == code
    assert daemon.control("approvals")["approvals"] == []
    assert recorded(daemon) == []
