"""What the daemon adds to a call: the same server through it, and bare through the MCP SDK's client.

    python -m tests.bench.overhead [--calls N]

Both are asked in turns from one process, `--calls` times each, in blocks of 50, so that a busy moment meets
both. Microseconds at the client; read the ratio of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import trio
from mcp import Client, StdioServerParameters

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import DoorWire, agent

BLOCK = 50
TEXT = "hello"


def through_daemon(wire, calls):
    times = []
    for number in range(calls):
        entry = {"name": "mcp__steady__echo", "arguments": {"text": TEXT}}
        began = time.perf_counter()
        reply = wire.ask({"op": "call", "id": number, "calls": [entry]})
        times.append((time.perf_counter() - began) * 1e6)
        assert reply["results"][0]["response"]["content"][0]["text"] == TEXT, reply
    return times


def through_door(door, calls):
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        result = door.call("mcp__steady__echo", text=TEXT)
        times.append((time.perf_counter() - began) * 1e6)
        assert result["content"][0]["text"] == TEXT, result
    return times


async def through_sdk(client, calls):
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        result = await client.call_tool("echo", {"text": TEXT})
        times.append((time.perf_counter() - began) * 1e6)
        assert result.content[0].text == TEXT
    return times


async def measure(daemon, calls):
    entry = zoo("steady")
    found = {"bare SDK client": [], "daemon, socket": [], "daemon, MCP door": []}
    server = StdioServerParameters(command=entry["command"], args=entry["args"])
    async with Client(server, mode="legacy") as client:
        with agent(daemon) as wire, DoorWire(daemon) as door:
            door.initialize()
            for block in range(calls // BLOCK + 1):
                taken = (
                    await through_sdk(client, BLOCK),
                    through_daemon(wire, BLOCK),
                    through_door(door, BLOCK),
                )
                if block:  # the first one warms all of them
                    for times, more in zip(found.values(), taken, strict=True):
                        times += more
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with DaemonProcess(Path(folder), servers={"steady": zoo("steady")}) as daemon:
            daemon.wait_servers("steady")
            found = trio.run(measure, daemon, options.calls)
    base = statistics.median(found["bare SDK client"])
    print(f"{'':18} {'p50':>7} {'p99':>7}   us   ratio of p50")
    for name, times in found.items():
        p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
        print(f"{name:18} {p50:7.0f} {p99:7.0f}        {p50 / base:.2f}")


if __name__ == "__main__":
    sys.exit(main())
