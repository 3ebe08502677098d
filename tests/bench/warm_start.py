"""How long from the start of a daemon that knows 10,000 tools to the answer of its first search?

    python -m tests.bench.warm_start [TOOLS]

Beside it, in the same run and in turns: a process that only imports trio, msgspec, pyroaring and numpy. The
first daemon learns the tools from 30 stand-in servers; those measured find them on the disk.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.catalog import perturbed_tools
from tests.daemon import DaemonProcess, wait_until
from tests.wire import Wire

SERVERS = 30
ROUNDS = 9
IMPORTS = "import trio, msgspec, pyroaring, numpy"
STAND_IN = Path(__file__).parents[1] / "servers" / "stand_in.py"


def learn(root, tools):
    """A stopped daemon whose state directory holds the catalog."""
    file = root / "catalog.jsonl"
    names = [f"server{number}" for number in range(SERVERS)]
    with file.open("w") as out:
        for at, tool in enumerate(tools):
            line = {"server": names[at % SERVERS], "name": tool["name"]}
            line |= {"description": tool["description"], "input_schema": tool["inputSchema"]}
            out.write(json.dumps(line) + "\n")
    servers = {n: {"command": sys.executable, "args": [str(STAND_IN), str(file), n]} for n in names}
    daemon = DaemonProcess(root, servers=servers)
    with daemon:
        wait_until(lambda: daemon.ctl("status")[1]["tools"] == len(tools), within_s=300)
    return daemon


def import_s():
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    return time.perf_counter() - began


def first_search_s(daemon, query):
    """Seconds from the fork to the answer, and whether the MCP SDK was loaded by then."""
    began = time.perf_counter()
    daemon.start(wait=False)
    while True:
        try:
            wire = Wire(daemon.runtime_dir / "agent.sock")
            break
        except OSError:
            time.sleep(0.002)
    with wire:
        wire.send({"op": "hello", "protocol": 1, "client": "bench"})
        wire.recv()
        reply = wire.ask({"op": "search", "id": 1, "queries": [query]})
    took = time.perf_counter() - began
    maps = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    assert reply["results"][0]["matches"] or reply["results"][0]["near"], reply
    daemon.process.kill()
    daemon.process.wait()
    return took, "pydantic_core" in maps


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    tools, words = perturbed_tools(count)
    with tempfile.TemporaryDirectory(prefix="tsd") as root:
        daemon = learn(Path(root), tools)
        bare, found, with_sdk = [], [], 0
        for number in range(ROUNDS):
            bare.append(import_s())
            took, sdk = first_search_s(daemon, f"{words[number]} {words[-1 - number]}")
            found.append(took)
            with_sdk += sdk
    bare_ms, found_ms = (1000 * statistics.median(times) for times in (bare, found))
    print(f"{count} tools on the disk, medians of {ROUNDS} rounds, in turns")
    print(f"  {IMPORTS:50} {bare_ms:7.0f} ms")
    print(
        f"  {'start to the first answer of a search':50} {found_ms:7.0f} ms   {found_ms / bare_ms:.2f} times"
    )
    print(f"  runs in which the MCP SDK was loaded by then: {with_sdk} of {ROUNDS}")


if __name__ == "__main__":
    main()
