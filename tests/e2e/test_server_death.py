"""A server that dies takes its own calls with it, quickly and with a code; the others never notice."""

import os
import signal
import time

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent


@pytest.fixture
def daemon(tmp_path):
    servers = {"mortal": zoo("steady", env={"WHO": "mortal"}), "other": zoo("steady", env={"WHO": "other"})}
    with DaemonProcess(tmp_path, servers=servers) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


def call(tool, **arguments):
    return [{"name": tool, "arguments": arguments}]


def test_kill_9(daemon):
    victim, other = daemon.server("mortal")["pid"], daemon.server("other")["pid"]
    with agent(daemon) as wire, agent(daemon) as bystander:
        wire.send({"op": "call", "id": 1, "calls": call("mcp__mortal__sleep", s=30)})
        wait_until(lambda: daemon.server("mortal")["in_flight"] == 1)
        bystander.send({"op": "call", "id": 1, "calls": call("mcp__other__sleep", s=1)})
        os.kill(victim, signal.SIGKILL)
        began = time.monotonic()
        slot = wire.recv()["results"][0]
        assert time.monotonic() - began < 1
        assert slot["error"]["code"] == "INDETERMINATE"
        assert bystander.recv()["success_count"] == 1
    wait_until(lambda: (daemon.server("mortal") or {}).get("pid") not in (victim, None))
    daemon.wait_servers("mortal")
    assert daemon.server("other")["pid"] == other
    status, reply = daemon.ctl("call", "mcp__mortal__echo", '{"text": "back"}')
    assert status == 0
    assert "back" in str(reply)


def test_a_stopped_daemon_ends_each_entry_once(daemon):
    with agent(daemon) as wire:
        calls = call("mcp__mortal__sleep", s=60) + call("mcp__mortal__echo", text="never")
        wire.send({"op": "call", "id": 1, "calls": calls})
        wait_until(lambda: daemon.server("mortal")["in_flight"] == 1)
        daemon.process.send_signal(signal.SIGTERM)
        slots = wire.recv()["results"]
        assert [slot["error"]["code"] for slot in slots] == ["INDETERMINATE", "INTERRUPTED"]
    assert daemon.process.wait(15) == 0


def test_restart_by_hand(daemon):
    before = daemon.server("mortal")["pid"]
    assert daemon.ctl("restart", "mortal")[0] == 0
    wait_until(lambda: (daemon.server("mortal") or {}).get("pid") not in (before, None))
    daemon.wait_servers("mortal")
    assert daemon.ctl("restart", "nobody")[0] == 1


def test_a_rule_on_a_public_name_decides(tmp_path):
    config = {"approval": {"rules": [{"tool": "mcp__mortal__e*", "then": "deny"}]}}
    with DaemonProcess(tmp_path, servers={"mortal": zoo("steady")}, config=config) as daemon:
        daemon.wait_servers("mortal")
        with agent(daemon) as wire:
            calls = call("mcp__mortal__echo", text="x") + call("nobody") + call("mcp__mortal__pid")
            slots = wire.ask({"op": "call", "id": 1, "calls": calls})["results"]
        assert [slot.get("error", {}).get("code") for slot in slots] == ["DENIED", "TOOL_NOT_FOUND", None]
