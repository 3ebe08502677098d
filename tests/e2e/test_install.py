"""A client's servers go behind a running daemon and come back; nothing restarts, nothing is lost."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo

SERVERS = {
    "one": zoo("steady", "echo", "pid", env={"WHO": "${env:SECRET}"}),
    "two": zoo("steady", "progress", env={"WHO": "two"}),
}


@pytest.fixture(params=["auto", "named"])
def daemon(request, tmp_path):
    cursor = tmp_path / ".cursor/mcp.json"
    cursor.parent.mkdir()
    remote = {"tracker": {"url": "https://mcp.tracker.invalid/mcp"}}
    cursor.write_text(json.dumps({"mcpServers": SERVERS | remote}, indent=2))
    sources = "auto" if request.param == "auto" else [{"path": str(cursor), "format": "cursor"}]
    config = {"sources": sources, "tools": {"tool_search": {"enabled": "on"}}}
    with DaemonProcess(tmp_path, config=config, env={"SECRET": "hunter2"}) as daemon:
        daemon.cursor = cursor
        daemon.wait_servers("one", "two")
        yield daemon


def pids(daemon):
    return {s["name"]: s["pid"] for s in daemon.ctl("servers")[1]["servers"] if s["name"] in SERVERS}


def origins(daemon):
    found = daemon.ctl("servers", "--origins")[1]["servers"]
    return {s["name"]: [origin["kept_in"] for origin in s["origins"]] for s in found if s["name"] in SERVERS}


def tools_through(entry, daemon):
    """What a client that reads this entry of its config is shown."""
    messages = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "cursor-vscode", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input="".join(json.dumps(message) + "\n" for message in messages),
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = {one.get("id"): one for one in map(json.loads, done.stdout.splitlines())}
    return {tool["name"] for tool in answers[2]["result"]["tools"]}


def test_the_daemon_serves_what_was_moved_and_gives_it_back(daemon):
    original, before = daemon.cursor.read_bytes(), pids(daemon)
    status, dry = daemon.ctl("install", "cursor", "--dry-run")
    assert (status, daemon.cursor.read_bytes()) == (0, original)
    assert '+    "toolsearchd": {' in dry["diff"]

    status, done = daemon.ctl("install", "cursor")
    assert status == 0
    assert (done["moved"], [one["name"] for one in done["kept"]]) == (["one", "two"], ["tracker"])
    wait_until(
        lambda: set(map(tuple, origins(daemon).values())) == {(done["moved_file"],)}, what="the new origins"
    )
    assert pids(daemon) == before
    entries = json.loads(daemon.cursor.read_text())["mcpServers"]
    assert list(entries) == ["toolsearchd", "tracker"]
    bridge = {"tool_search", "tool_describe", "tool_call"}
    assert tools_through(entries["toolsearchd"], daemon) == bridge
    assert daemon.ctl("search", "report progress")[1]["results"][0]["matches"] == ["mcp__two__progress"]

    assert daemon.ctl("disclosure", "cursor", "direct")[0] == 0
    entries = json.loads(daemon.cursor.read_text())["mcpServers"]
    assert {"one__echo", "two__progress"} <= tools_through(entries["toolsearchd"], daemon)

    # A server that is edited where it is kept now.
    file = Path(done["moved_file"])
    moved = json.loads(file.read_text())
    moved["mcpServers"]["two"] = zoo("steady", "erase")
    file.write_text(json.dumps(moved))
    wait_until(lambda: daemon.ctl("describe", "mcp__two__erase")[1].get("tools"), what="the edited server")
    moved["mcpServers"]["two"] = SERVERS["two"]
    file.write_text(json.dumps(moved))
    daemon.wait_servers("one", "two")
    wait_until(lambda: daemon.ctl("describe", "mcp__two__progress")[1].get("tools"), what="as it was")
    before = pids(daemon)

    status, back = daemon.ctl("uninstall", "cursor")
    assert (status, back["restored"]) == (0, ["one", "two"])
    assert json.loads(daemon.cursor.read_text()) == json.loads(original)
    wait_until(lambda: set(map(tuple, origins(daemon).values())) == {("",)}, what="the old origins")
    assert pids(daemon) == before
    assert not (daemon.root / "clients").exists()


def test_untouched_it_comes_back_byte_for_byte(daemon):
    original = daemon.cursor.read_bytes()
    assert daemon.ctl("install", "cursor")[0] == 0
    assert (daemon.root / "clients/cursor.json").stat().st_mode & 0o777 == 0o600
    assert daemon.ctl("uninstall", "cursor")[1]["identical"] is True
    assert daemon.cursor.read_bytes() == original
    assert "cursor" not in str(daemon.ctl("reload")[1]["problems"])
    log = daemon.log.read_text()
    assert "hunter2" not in log


def test_what_uninstall_removes_is_not_missed(tmp_path):
    """Neither a client's file that was none before, nor moved entries whose client is no source."""
    cursor, codex = tmp_path / ".cursor/mcp.json", tmp_path / ".codex/config.toml"
    cursor.parent.mkdir()
    codex.parent.mkdir()
    codex.write_text('[mcp_servers.one]\ncommand = "true"\n')
    sources = [{"path": str(cursor), "format": "cursor"}]
    with DaemonProcess(tmp_path, config={"sources": sources}) as daemon:
        for client in ("cursor", "codex"):
            assert daemon.ctl("install", client)[0] == 0
        wait_until(lambda: [s["name"] for s in daemon.ctl("servers")[1]["servers"]] == ["one"])
        for client in ("cursor", "codex"):
            assert daemon.ctl("uninstall", client)[0] == 0
        assert not cursor.exists()
        assert daemon.ctl("reload")[1]["problems"] == []
        assert daemon.ctl("servers")[1]["servers"] == []
