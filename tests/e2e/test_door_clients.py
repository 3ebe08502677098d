"""Other people's clients through the door: the MCP inspector's CLI, and Claude Code where it is installed."""

import json
import os
import shutil
import subprocess

import pytest

from tests.daemon import BIN, DaemonProcess
from tests.servers.node import script
from tests.servers.zoo import zoo

INSPECTOR = script("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {
        "time": {"command": str(BIN / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        "steady": zoo("steady", "echo"),
    }
    config = {"tools": {"tool_search": {"enabled": "on"}}}
    with DaemonProcess(tmp_path_factory.mktemp("clients"), servers=servers, config=config) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


def relay(daemon):
    return [str(BIN / "toolsearchctl"), "--runtime-dir", str(daemon.runtime_dir), "mcp"]


def inspect(daemon, method, *args):
    done = subprocess.run(
        [*INSPECTOR, "--cli", *relay(daemon), "--method", method, *args],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_the_inspector_lists_the_tools(daemon):
    tools = inspect(daemon, "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["tool_search", "tool_describe", "tool_call"]
    assert all(tool["_meta"] == {"anthropic/alwaysLoad": True} for tool in tools)


def test_the_inspector_searches_describes_and_calls(daemon):
    def call(name, argument):
        return inspect(daemon, "tools/call", "--tool-name", name, "--tool-arg", argument)

    found = call("tool_search", 'queries=["convert time between timezones"]')["structuredContent"]
    name = found["results"][0]["matches"][0]
    assert name == "mcp__time__convert_time"
    described = call("tool_describe", f'names=["{name}"]')["structuredContent"]
    assert "source_timezone" in described["tools"][name]["parameters"]["properties"]
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    called = call("tool_call", "calls=" + json.dumps([{"name": name, "arguments": arguments}]))
    assert "21:00" in called["content"][0]["text"]


def test_claude_code_connects(daemon, tmp_path):
    claude = shutil.which("claude")
    if claude is None:
        pytest.skip("Claude Code is not on PATH")
    command, *args = relay(daemon)
    entry = {"type": "stdio", "command": command, "args": args}
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": {"toolsearchd": entry}}))
    done = subprocess.run(
        [claude, "mcp", "list"],
        env=os.environ | {"HOME": str(tmp_path), "DISABLE_AUTOUPDATER": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("toolsearchd:")]
    assert "Connected" in line
