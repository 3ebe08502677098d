"""How long from the start of a daemon that knows 10,000 tools to the answer of its first search?

    python -m tests.bench.warm_start [TOOLS]

Beside it, in the same run and in turns: a process that only imports trio, msgspec, pyroaring and numpy. The
first daemon learns the tools from 30 stand-in servers; those measured find them on the disk. Time on the
clock is what a person waits; processor time (user and system, all threads) is what can be compared on a busy
machine.
"""

from __future__ import annotations

import json
import os
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
    # Bytecode is kept, as that of anything installed is, also where this environment forbids it.
    daemon = DaemonProcess(root, servers=servers, env={"PYTHONDONTWRITEBYTECODE": ""})
    with daemon:
        wait_until(lambda: daemon.ctl("status")[1]["tools"] == len(tools), within_s=300)
    return daemon


def bare_import():
    """Seconds on the clock of a process that only imports, and of its processor until it has."""
    began = time.perf_counter()
    script = f"{IMPORTS}, time; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    return time.perf_counter() - began, float(done.stdout)


def cpu_s(pid):
    """Processor seconds that the process took so far: proc(5), fields utime and stime, in ticks of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_search(daemon, query):
    """Seconds from the fork to the answer, on the clock and of the processor; and was the MCP SDK loaded?"""
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
    cpu = cpu_s(daemon.process.pid)
    maps = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    assert reply["results"][0]["matches"] or reply["results"][0]["near"], reply
    daemon.process.kill()
    daemon.process.wait()
    return (took, cpu), "pydantic_core" in maps


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    tools, words = perturbed_tools(count)
    with tempfile.TemporaryDirectory(prefix="tsd") as root:
        daemon = learn(Path(root), tools)
        bare, found, with_sdk = [], [], 0
        for number in range(ROUNDS):
            bare.append(bare_import())
            times, sdk = first_search(daemon, f"{words[number]} {words[-1 - number]}")
            found.append(times)
            with_sdk += sdk
    print(f"{count} tools on the disk, medians of {ROUNDS} rounds, in turns")
    print(f"  {'':50} {'clock':>10} {'processor':>10}")
    bare_ms, found_ms = (
        [1000 * statistics.median(kind) for kind in zip(*times, strict=True)] for times in (bare, found)
    )
    for what, (clock, cpu) in ((IMPORTS, bare_ms), ("start to the first answer of a search", found_ms)):
        print(f"  {what:50} {clock:7.0f} ms {cpu:7.0f} ms")
    clock, cpu = (ours / theirs for ours, theirs in zip(found_ms, bare_ms, strict=True))
    print(f"  {'times':50} {clock:10.2f} {cpu:10.2f}")
    print(f"  runs in which the MCP SDK was loaded by then: {with_sdk} of {ROUNDS}")


if __name__ == "__main__":
    main()
