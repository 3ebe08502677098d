"""The four that connect to a daemon, each tried once on a runtime directory."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import trio

from tests.daemon import BIN
from toolsearchd.async_client import AsyncClient
from toolsearchd.client import Client, ControlClient
from toolsearchd.errors import ToolsearchdError

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "ends", "version": "1"},
    },
}
_AT_MOST_S = 60


class Ending(NamedTuple):
    """`status` is a process's exit status, None for a library."""

    code: str
    message: str
    status: int | None = None


def by_client(runtime_dir):
    return _raised(lambda: Client(client="ends", runtime_dir=runtime_dir).close())


def by_control_client(runtime_dir):
    return _raised(lambda: ControlClient(runtime_dir=runtime_dir).close())


def by_async_client(runtime_dir):
    async def connect():
        async with AsyncClient.connect(client="ends", runtime_dir=runtime_dir):
            pass

    return _raised(lambda: trio.run(connect))


def by_toolsearchctl(runtime_dir):
    done = subprocess.run(
        [BIN / "toolsearchctl", "--runtime-dir", runtime_dir, "--json", "status"],
        capture_output=True,
        text=True,
        timeout=_AT_MOST_S,
        check=False,
    )
    error = json.loads(done.stdout).get("error", {"code": "", "message": done.stdout})
    if error["code"]:
        assert done.stderr.startswith(f"toolsearchctl: {error['code']}: "), done.stderr
    return Ending(error["code"], error["message"], done.returncode)


def by_relay(runtime_dir):
    """What the MCP client is told. A relay that starts a daemon of its own would be a failure."""
    relay = subprocess.Popen(
        [BIN / "toolsearchctl", "--runtime-dir", runtime_dir, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": str(runtime_dir)},
    )
    try:
        relay.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        relay.stdin.flush()
        answer = json.loads(relay.stdout.readline())
        status = relay.wait(_AT_MOST_S)  # its input stays open: it ends by itself
    finally:
        relay.kill()
        _, said = relay.communicate()
    error = answer.get("error", {"message": str(answer), "data": {"code": ""}})
    assert answer["id"] == INITIALIZE["id"]
    assert error["message"].removeprefix("toolsearchd: ") in said.decode()
    return Ending(error["data"]["code"], error["message"], status)


ALL = (by_client, by_control_client, by_async_client, by_toolsearchctl, by_relay)


def endings(runtime_dir):
    """Of all of them at once, by name: some wait for their whole time limit."""
    with ThreadPoolExecutor(len(ALL)) as threads:
        asked = {ask.__name__: threads.submit(ask, runtime_dir) for ask in ALL}
        return {name: one.result() for name, one in asked.items()}


def _raised(connect):
    try:
        connect()
    except ToolsearchdError as error:
        return Ending(error.code, error.message)
    return Ending("", "")
