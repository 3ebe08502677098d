"""One daemon, several clients that each forbid something else: what their sessions see, and what may run."""

import json
import subprocess

import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent

ENTRY = zoo("steady", "echo", "pid")
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def codex(entry, *lines):
    args = json.dumps(entry["args"])
    return "\n".join(
        ["[mcp_servers.time]", f"command = {json.dumps(entry['command'])}", f"args = {args}", *lines, ""]
    )


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("restrictions")
    files = {
        ".claude.json": {"mcpServers": {"time": ENTRY}},
        ".claude/settings.json": {"permissions": {"deny": ["mcp__time__pid"]}},
        ".cursor/mcp.json": {"mcpServers": {"time": ENTRY | {"disabled": True}}},
        ".gemini/settings.json": {
            "mcpServers": {
                "time": ENTRY | {"excludeTools": ["echo"]},
                "token": ENTRY | {"env": {"T": "${NOT_SET}"}},
            }
        },
        ".codex/config.toml": codex(
            ENTRY, 'default_tools_approval_mode = "prompt"', 'enabled_tools = ["echo"]'
        ),
    }
    for place, content in files.items():
        (root / place).parent.mkdir(exist_ok=True)
        (root / place).write_text(content if isinstance(content, str) else json.dumps(content))
    config = {"sources": "auto", "tools": {"tool_search": {"enabled": "off"}}, "approval": {"wait_s": 1}}
    with DaemonProcess(root, config=config) as daemon:
        daemon.wait_servers("time")
        yield daemon


def shown(daemon, client, **hello):
    with agent(daemon, client=client, **hello) as wire:
        wait_until(lambda: wire.ask({"op": "ping", "id": 1}))
        reply = wire.ask({"op": "assemble", "id": 2})
        return {tool["function"]["name"].rpartition("__")[2] for tool in reply["tools"]}


def end(daemon, client, tool):
    with agent(daemon, client=client) as wire:
        arguments = {"text": "x"} if tool == "echo" else {}
        call = {"name": f"mcp__time__{tool}", "arguments": arguments}
        (slot,) = wire.ask({"op": "call", "id": 1, "calls": [call]})["results"]
        return slot["error"]["code"] if slot.get("error") else "ok"


ENDS = {  # client → (echo, pid)
    "claude-code": ("ok", "TOOL_NOT_FOUND"),
    "cursor-vscode": ("TOOL_NOT_FOUND", "TOOL_NOT_FOUND"),
    "gemini-cli-mcp-client": ("TOOL_NOT_FOUND", "ok"),
    "codex-mcp-client": ("NO_APPROVER", "TOOL_NOT_FOUND"),
    "someone": ("TOOL_NOT_FOUND", "TOOL_NOT_FOUND"),
}


def moved(daemon):
    (server,) = daemon.ctl("servers", "time", "--origins")[1]["servers"]
    return sum(bool(origin["kept_in"]) for origin in server["origins"])


def check(daemon):
    for client, (echo, pid) in ENDS.items():
        assert (end(daemon, client, "echo"), end(daemon, client, "pid")) == (echo, pid), client
        expected = {tool for tool, code in (("echo", echo), ("pid", pid)) if code != "TOOL_NOT_FOUND"}
        assert shown(daemon, client) == expected, client


def test_each_clients_rules_bind_its_sessions_in_place_and_behind_the_daemon(daemon):
    server = daemon.server("time")
    check(daemon)
    for client in ("claude-code", "cursor", "gemini", "codex"):
        assert daemon.ctl("install", client)[0] == 0
    wait_until(lambda: moved(daemon) == 4, what="all four entries behind the daemon")
    check(daemon)
    assert daemon.server("time")["pid"] == server["pid"]
    # A client that calls itself otherwise is known by the entry that starts its door.
    entry = json.loads((daemon.root / ".gemini/settings.json").read_text())["mcpServers"]["toolsearchd"]
    first = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    messages = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": first}, LIST]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input="".join(json.dumps(message) + "\n" for message in messages),
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = {one.get("id"): one for one in map(json.loads, done.stdout.splitlines())}
    assert {tool["name"] for tool in answers[2]["result"]["tools"]} == {"time__pid"}
    for client in ("claude-code", "cursor", "gemini", "codex"):
        assert daemon.ctl("uninstall", client)[0] == 0
    wait_until(lambda: moved(daemon) == 0, what="all entries back")
    check(daemon)


def test_a_rule_binds_open_sessions_as_soon_as_it_is_written(daemon):
    settings = daemon.root / ".claude/settings.json"
    before = settings.read_text()
    with agent(daemon, client="claude-code") as wire:

        def outcome():
            call = {"name": "mcp__time__echo", "arguments": {"text": "x"}}
            (slot,) = wire.ask({"op": "call", "id": 1, "calls": [call]})["results"]
            return slot["error"]["code"] if slot.get("error") else "ok"

        assert outcome() == "ok"
        settings.write_text(json.dumps({"permissions": {"deny": ["mcp__time"]}}))
        wait_until(lambda: outcome() == "TOOL_NOT_FOUND", what="the denial")
        settings.write_text(json.dumps({"permissions": {"ask": ["mcp__time__*"]}}))
        wait_until(lambda: outcome() == "NO_APPROVER", what="the question")
        settings.write_text(before)
        wait_until(lambda: outcome() == "ok", what="as it was")


def test_a_server_that_needs_a_variable_says_so(daemon):
    server = daemon.server("token")
    assert (server["state"], server["reason"], server["pid"]) == (
        "not_started",
        "needs variable NOT_SET",
        None,
    )
    assert "environment.file" in server["mend"]
    status, done = daemon.ctl("restart", "token")
    assert status == 1
    assert "needs variable NOT_SET" in done["error"]["message"]
    checked = subprocess.run(
        [BIN / "toolsearchd", "--config", daemon.config_file, "--check-config"],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert checked.returncode == 0
    assert "token (needs variable NOT_SET: set NOT_SET in" in checked.stdout
    assert "needs variable NOT_SET" in checked.stderr
    findings = daemon.ctl("doctor")[1]["findings"]
    (finding,) = [one for one in findings if "needs variable NOT_SET" in one["message"]]
    assert "environment.file" in finding["mend"]


def test_a_server_that_stays_with_its_client_is_not_run_as_well(tmp_path):
    cursor = tmp_path / ".cursor/mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": {"mine": ENTRY}}))
    with DaemonProcess(tmp_path, config={"sources": "auto"}) as daemon:
        daemon.wait_servers("mine")
        assert daemon.ctl("install", "cursor", "--keep", "mine")[0] == 0
        daemon.wait_servers("mine", state="not_started")
        server = daemon.server("mine")
        assert (server["reason"], server["pid"]) == ("kept by cursor", None)
        (finding,) = [one for one in daemon.ctl("doctor")[1]["findings"] if one["about"] == "mine"]
        assert "install cursor --move mine" in finding["mend"]
        assert daemon.ctl("install", "cursor", "--move", "mine")[0] == 0
        daemon.wait_servers("mine")


@pytest.mark.parametrize(
    "words",
    [
        ("search", "x", "--limit", "-1"),
        ("search", "x", "--limit", "0"),
        ("listing", "--context", "0"),
        ("listing", "--context", "-5"),
        ("journal", "--limit", "-1"),
        ("journal", "--limit", "²"),
    ],
)
def test_numbers_out_of_bounds_are_wrong_usage(daemon, words):
    status, said = daemon.ctl(*words)
    assert status == 2
    assert "expected a whole number" in said["stderr"]


def test_numbers_that_no_message_holds(daemon):
    for words in (("search", "x", "--limit", 10**30), ("listing", "--context", 10**30)):
        status, done = daemon.ctl(*words)
        assert (status, done["error"]["code"]) == (1, "BAD_ARGUMENTS")
    assert daemon.ctl("journal", "--limit", 10**30)[0] == 0


@pytest.mark.parametrize(
    "words", [("search", "x"), ("listing",), ("describe", "x"), ("call", "x"), ("tokens",), ("explain", "x")]
)
def test_a_profile_that_there_is_not_is_an_error(daemon, words):
    status, done = daemon.ctl(*words, "--profile", "nobody")
    assert status == 1
    assert "'nobody'" in done["error"]["message"]


def test_nothing_is_installed_for_a_profile_that_there_is_not(daemon):
    before = (daemon.root / ".gemini/settings.json").read_bytes()
    status, done = daemon.ctl("install", "gemini", "--profile", "nobody")
    assert (status, done["error"]["code"]) == (1, "BAD_ARGUMENTS")
    assert (daemon.root / ".gemini/settings.json").read_bytes() == before
