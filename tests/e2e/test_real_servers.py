"""Six real MCP servers from PyPI and npm, found, described and called through one daemon."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import mcp
import pytest
import trio

from tests.daemon import BIN, DaemonProcess, processes_with, wait_until
from tests.servers.node import node_server, script

MB = 1024 * 1024


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    root = tmp_path_factory.mktemp("six")
    repository = root / "repo"
    subprocess.run(["git", "init", "-q", repository], check=True)
    files = root / "files"
    files.mkdir()
    (files / "hello.txt").write_text("hello from a file")
    servers = {
        "time": {"command": str(BIN / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        "git": {"command": str(BIN / "mcp-server-git"), "args": ["--repository", str(repository)]},
        "fetch": {"command": str(BIN / "mcp-server-fetch")},
        "everything": node_server("server-everything"),
        "filesystem": node_server("server-filesystem", str(files)),
        "memory": node_server("server-memory", env={"MEMORY_FILE_PATH": str(root / "memory.json")}),
    }
    with DaemonProcess(root, servers=servers) as daemon:
        daemon.names = tuple(servers)
        daemon.files = files
        daemon.ready_state = daemon.ctl("servers")[1]["servers"]
        daemon.early_search = daemon.ctl("search", "xylophone quartz")[1]
        yield daemon


def bare_import_s():
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import trio, msgspec, pyroaring, numpy"], check=True)
    return time.monotonic() - began


def test_ready_comes_before_the_servers_and_soon(six):
    assert any(server["state"] == "starting" for server in six.ready_state)
    (group,) = six.early_search["results"]
    assert group["matches"] == []
    assert {source["name"] for source in group["available_sources"]} == set(six.names)
    assert any(source.get("state") == "starting" for source in group["available_sources"])
    assert six.ready_after_s < 3 * max(bare_import_s() for _ in range(3))


def test_all_six_become_ready_and_stay_small(six):
    six.wait_servers(*six.names)
    assert six.rss_bytes() < 110 * MB


def test_search_describe_call(six):
    six.wait_servers(*six.names)
    status, found = six.ctl("search", "convert time between timezones")
    assert status == 0
    assert found["results"][0]["matches"][0] == "mcp__time__convert_time"
    status, described = six.ctl("describe", "mcp__time__convert_time")
    assert "source_timezone" in described["tools"]["mcp__time__convert_time"]["parameters"]["properties"]
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    status, called = six.ctl("call", "mcp__time__convert_time", json.dumps(arguments))
    assert status == 0
    assert "21:00" in json.dumps(called["results"][0]["response"])


def test_each_server_answers_a_call(six):
    six.wait_servers(*six.names)
    calls = {
        "mcp__everything__echo": ({"message": "n0nce"}, "n0nce"),
        "mcp__filesystem__read_text_file": ({"path": str(six.files / "hello.txt")}, "hello from a file"),
        "mcp__memory__read_graph": ({}, "entities"),
        "mcp__git__git_status": ({"repo_path": str(six.root / "repo")}, "branch"),
    }
    for name, (arguments, expected) in calls.items():
        status, called = six.ctl("call", name, json.dumps(arguments))
        assert status == 0, called
        assert expected in json.dumps(called["results"][0]["response"])


def test_stopping_leaves_no_process(tmp_path):
    servers = {
        "time": {"command": str(BIN / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        "memory": node_server("server-memory"),
        # A shell in between, as npx and uvx put one: its child must go too.
        "wrapped": {"command": "sh", "args": ["-c", f"{BIN}/mcp-server-time --local-timezone UTC; true"]},
    }
    with DaemonProcess(tmp_path, servers=servers) as daemon:
        daemon.wait_servers(*servers)
        marker = f"TOOLSEARCHD_SERVER={daemon.process.pid}:"
        assert len(processes_with(marker)) >= 4
        assert daemon.stop() == 0
        wait_until(lambda: not processes_with(marker), within_s=5, what="no child left")


ZONES = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
CONVERT = [{"name": "mcp__time__convert_time", "arguments": ZONES}]


def relay(daemon):
    return [str(BIN / "toolsearchctl"), "--runtime-dir", str(daemon.runtime_dir), "mcp"]


async def test_the_same_through_the_door_with_an_sdk_client(six):
    await trio.to_thread.run_sync(six.wait_servers, *six.names)
    command, *args = relay(six)
    parameters = mcp.StdioServerParameters(command=command, args=args, env=six.env)
    with trio.fail_after(60):
        async with mcp.Client(parameters, mode="legacy") as client:
            found = await client.call_tool("tool_search", {"queries": ["convert time between timezones"]})
            assert found.structured_content["results"][0]["matches"][0] == CONVERT[0]["name"]
            described = await client.call_tool("tool_describe", {"names": [CONVERT[0]["name"]]})
            assert "source_timezone" in str(described.structured_content)
            called = await client.call_tool("tool_call", {"calls": CONVERT})
            assert "21:00" in called.content[0].text


def test_the_same_through_the_door_with_the_inspector(six):
    six.wait_servers(*six.names)

    def inspect(*args):
        inspector = script("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
        done = subprocess.run(
            [*inspector, "--cli", *relay(six), *args],
            env=six.env,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def call(name, argument):
        return inspect("--method", "tools/call", "--tool-name", name, "--tool-arg", argument)

    assert len(inspect("--method", "tools/list")["tools"]) == 3
    found = call("tool_search", 'queries=["convert time between timezones"]')
    assert found["structuredContent"]["results"][0]["matches"][0] == CONVERT[0]["name"]
    assert "21:00" in call("tool_call", f"calls={json.dumps(CONVERT)}")["content"][0]["text"]


def test_the_relay_is_small(six):
    relaying = subprocess.Popen(relay(six), env=six.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        relaying.stdin.write(json.dumps(message).encode() + b"\n")
        relaying.stdin.flush()
        assert json.loads(relaying.stdout.readline())["id"] == 1
        pages = int(Path(f"/proc/{relaying.pid}/statm").read_text().split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") < 15 * 1000 * 1000
    finally:
        relaying.stdin.close()
        relaying.stdout.close()
        relaying.wait(40)
