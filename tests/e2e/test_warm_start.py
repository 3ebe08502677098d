"""A start answers from the last run's catalog, before any server is up; nothing damaged or excluded shows."""

import re
import shlex

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent
from toolsearchd.daemon.app import LATER


def gated(gate, *tools):
    """A server that comes up once the file `gate` exists."""
    server = zoo("steady", *tools)
    command = shlex.join([server["command"], *server["args"]])
    return {
        "command": "sh",
        "args": ["-c", f"while [ ! -e {shlex.quote(str(gate))} ]; do sleep 0.05; done; exec {command}"],
    }


@pytest.fixture
def gate(tmp_path):
    gate = tmp_path / "gate"
    gate.touch()
    return gate


@pytest.fixture
def daemon(tmp_path, gate):
    """Stopped, after a run in which its server was up."""
    daemon = DaemonProcess(tmp_path, servers={"one": gated(gate, "echo", "pid", "erase")})
    with daemon:
        daemon.wait_servers("one")
        assert finds(daemon, "echo")
    gate.unlink()
    return daemon


def finds(daemon, query):
    with agent(daemon) as wire:
        found = wire.ask({"op": "search", "id": 1, "queries": [query]})["results"][0]
    return found["matches"] + found["near"]


def state(daemon):
    return daemon.server("one")["state"]


def test_the_last_catalog_answers_before_the_server_is_up(daemon, gate):
    with daemon.start():
        assert "mcp__one__echo" in finds(daemon, "echo")
        assert state(daemon) == "starting"
        described = daemon.ctl("describe", "mcp__one__echo")[1]["tools"]["mcp__one__echo"]
        assert described["parameters"]["properties"]
        generation = daemon.ctl("status")[1]["generation"]
        gate.touch()
        daemon.wait_servers("one")
        status, reply = daemon.ctl("call", "mcp__one__echo", '{"text": "up"}')
        assert status == 0, reply
        assert daemon.ctl("status")[1]["generation"] >= generation > 0


def told(daemon, **hello):
    """What a model is told of one tool by search and describe, and its listing."""
    with agent(daemon, **hello) as wire:
        (name,) = (found := wire.ask({"op": "search", "id": 1, "queries": ["echo"]}))["results"][0]["matches"]
        described = wire.ask({"op": "describe", "id": 2, "names": [name]})["tools"][name]
        given = wire.ask({"op": "assemble", "id": 3})
    return found["tools"][name], described, (given["tools"], given["listing"], given["version"])


def test_what_no_server_has_confirmed_is_marked_and_moves_no_listing(daemon, gate):
    with daemon.start():
        found, described, listing = told(daemon)
        assert (found["stale"], described["stale"]) == (True, True)
        assert listing[1]
        assert all("stale" not in part for part in told(daemon, dialect="hermes")[:2])
        assert daemon.server("one")["stale"] is True
        assert daemon.ctl("status")[1]["stale_tools"] == 3
        gate.touch()
        daemon.wait_servers("one")
        now_found, now_described, now_listing = told(daemon)
        assert now_listing == listing
        assert now_found == {key: value for key, value in found.items() if key != "stale"}
        assert now_described == {key: value for key, value in described.items() if key != "stale"}
        assert daemon.server("one")["stale"] is False
        assert daemon.ctl("status")[1]["stale_tools"] == 0


def test_a_tool_excluded_meanwhile_is_not_shown(daemon, gate):
    entry = gated(gate, "echo", "pid", "erase") | {"tools": {"exclude": ["erase"]}}
    daemon.write_servers({"one": entry})
    with daemon.start():
        assert "mcp__one__echo" in finds(daemon, "echo")
        assert "mcp__one__erase" not in finds(daemon, "erase everything")


def test_a_server_that_is_configured_otherwise_shows_nothing_of_the_old_one(daemon, gate):
    daemon.write_servers({"one": gated(gate, "echo", "pid")})
    with daemon.start():
        assert finds(daemon, "echo") == []


def test_what_changed_meanwhile_replaces_what_was_kept(daemon, gate, tmp_path):
    """The server's command is the same, what it offers is not: its answer counts, and is kept in turn."""
    tools = tmp_path / "tools"
    tools.write_text("echo")
    server = zoo("steady")
    command = shlex.join([server["command"], *server["args"]])
    script = f"while [ ! -e {gate} ]; do sleep 0.05; done; exec {command} $(cat {tools})"
    daemon.write_servers({"two": {"command": "sh", "args": ["-c", script]}})
    gate.touch()
    with daemon.start():
        daemon.wait_servers("two")
        assert finds(daemon, "echo") == ["mcp__two__echo"]
    gate.unlink()
    tools.write_text("erase")
    with daemon.start():
        assert finds(daemon, "echo") == ["mcp__two__echo"]
        gate.touch()
        wait_until(lambda: finds(daemon, "erase everything") == ["mcp__two__erase"])
        assert finds(daemon, "echo") == []
    gate.unlink()
    with daemon.start():
        assert finds(daemon, "erase everything") == ["mcp__two__erase"]


@pytest.mark.parametrize("damage", ["bit", "cut", "length"])
def test_a_damaged_catalog_is_said_and_not_used(daemon, gate, damage):
    kept = daemon.state_dir / "catalog"
    whole = kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    head = whole.index(b"\n") + 1  # behind it: a section's length, eight bytes
    longer = whole[:head] + b"\x7f" + whole[head + 1 :]
    kept.write_bytes({"bit": flipped, "cut": whole[:middle], "length": longer}[damage])
    with daemon.start():
        assert finds(daemon, "echo") == []
        assert "is not used, tools are found as their servers come up" in daemon.log.read_text()
        gate.touch()
        daemon.wait_servers("one")
        assert "mcp__one__echo" in finds(daemon, "echo")


# What no first answer needs: libraries, what calls go through, the words of other agents.
NOT_BEFORE_READY = {
    *("mcp", "mcp_types", "jsonschema_rs", "yaml", "tomllib", "email", "urllib.request", "difflib"),
    *("toolsearchd.upstream.upstream", "toolsearchd.dispatch.arguments", "toolsearchd.dispatch.validate"),
    *("toolsearchd.config.install.json_edit", "toolsearchd.dialects.openclaw.dialect"),
}


def imported(daemon):
    """Modules that it imported before it was ready, and since, by the log of a `python -v`."""
    before, _, since = daemon.log.read_text().rpartition("toolsearchd.daemon.app: ready:")
    assert before
    return tuple(set(re.findall(r"^import '([\w.]+)' #", part, re.M)) for part in (before, since))


def test_a_start_imports_only_what_answers(tmp_path):
    """No config file: what a client has configured is found where the client keeps it."""
    daemon = DaemonProcess(tmp_path)
    daemon.config_file = None
    daemon.servers_file = tmp_path / ".cursor" / "mcp.json"
    daemon.servers_file.parent.mkdir()
    daemon.write_servers({"one": zoo("steady", "echo")})
    with daemon:
        daemon.wait_servers("one")
    daemon.log.unlink()
    daemon.program = ["-v", *daemon.program]
    with daemon.start():
        assert finds(daemon, "echo") == ["mcp__one__echo"]
        before, _ = imported(daemon)
        assert "toolsearchd.sessions.sessions" in before
        assert before & NOT_BEFORE_READY == set()
        wait_until(lambda: set(LATER) <= imported(daemon)[1], what="the rest of the modules")
        status, reply = daemon.ctl("call", "mcp__one__echo", '{"text": "up"}')
        assert status == 0, reply


def test_a_stop_while_the_rest_is_imported(daemon):
    daemon.start()
    assert daemon.stop() == 0
