"""What a person's config forbids stays forbidden, whatever becomes of the file."""

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent

RECORD, PEEK = "mcp__one__record", "mcp__one__peek"
DENY = {"approval": {"rules": [{"tool": "record", "then": "deny"}]}}
OWN = {"name": "weather_report", "description": "Tell the weather.", "core": False}
# So that a file is missed soon; its grace is for editors, not for what is in force.
LIMITS = {"limits": {"deleted_grace_s": 0.2}}


@pytest.fixture
def daemon(tmp_path):
    servers = {"one": zoo("ledger", tmp_path / "ledger")}
    with DaemonProcess(tmp_path, servers=servers, config=DENY | LIMITS) as daemon:
        daemon.wait_servers("one")
        yield daemon


def code_of(daemon, name):
    reply = daemon.ctl("call", name, '{"nonce": "n"}')[1]
    return reply["results"][0].get("error", {}).get("code")


def recorded(daemon):
    file = daemon.root / "ledger"
    return file.read_text() if file.exists() else ""


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"\xef\xbb\xbf", bytes(100), b"approval: {"])
def test_a_config_that_is_lost_while_it_runs_forbids_what_it_forbade(daemon, content):
    if content is None:
        daemon.config_file.unlink()
    else:
        daemon.config_file.write_bytes(content)
    wait_until(lambda: "config.yaml" in str(daemon.ctl("status")[1]["problems"]), within_s=10)
    status, reply = daemon.ctl("reload")
    assert (status, reply["failed"]) == (1, [str(daemon.config_file)])
    assert "config.yaml" in str(daemon.ctl("doctor")[1]["findings"])
    assert (code_of(daemon, RECORD), code_of(daemon, PEEK)) == ("DENIED", None)
    assert "record" not in recorded(daemon)


def own_call(daemon):
    """What becomes of a call of an agent's own tool."""
    with agent(daemon, tools=[OWN]) as wire:
        wire.send({"op": "call", "id": 1, "calls": [{"name": "weather_report", "arguments": {}}]})
        reply = wire.recv()
        if reply["op"] == "call_requested":
            return None
        return reply["results"][0]["error"]["code"]


@pytest.mark.parametrize("content", [None, b"", b"approval: {default: dney}"])
def test_a_start_without_the_config_that_was_there(daemon, content):
    assert daemon.stop() == 0
    good = daemon.config_file.read_bytes()
    if content is None:
        daemon.config_file.unlink()
    else:
        daemon.config_file.write_bytes(content)
    daemon.start()
    assert daemon.ctl("servers")[1]["servers"] == []
    assert "config.yaml" in str(daemon.ctl("status")[1]["problems"])
    assert [code_of(daemon, RECORD), code_of(daemon, PEEK)] == ["BAD_CONFIG"] * 2
    assert own_call(daemon) == "BAD_CONFIG"
    with agent(daemon) as wire:
        assert wire.ask({"op": "search", "id": 1, "queries": ["record"]})["results"][0]["matches"] == []
    new = daemon.config_file.with_name("new")
    new.write_bytes(good)
    new.replace(daemon.config_file)
    daemon.wait_servers("one")
    assert daemon.ctl("status")[1]["problems"] == []
    assert own_call(daemon) is None
    assert (code_of(daemon, RECORD), code_of(daemon, PEEK)) == ("DENIED", None)
    assert "record" not in recorded(daemon)


def test_a_person_says_that_it_is_meant(daemon):
    daemon.stop()
    daemon.config_file.unlink()
    daemon.start()
    assert own_call(daemon) == "BAD_CONFIG"
    assert daemon.ctl("reload")[1]["accepted"] == []
    assert own_call(daemon) == "BAD_CONFIG"
    assert daemon.ctl("reload", "--accept-missing")[1]["accepted"] == [str(daemon.config_file)]
    assert own_call(daemon) is None
    daemon.stop()
    daemon.start()
    assert own_call(daemon) is None
    assert daemon.ctl("status")[1]["problems"] == []


def test_an_agents_client_of_the_door_is_told_too(daemon):
    """Its calls go the same way."""
    daemon.stop()
    daemon.config_file.write_text("approval: {default: dney}")
    daemon.start()
    with agent(daemon) as wire:
        use = {"op": "use", "id": 1, "tool": "tool_call", "arguments": {"name": RECORD, "arguments": {}}}
        assert "BAD_CONFIG" in str(wire.ask(use))
