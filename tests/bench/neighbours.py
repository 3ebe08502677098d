"""What one agent notices of bad neighbours: its searches and calls, and the daemon's memory.

    python -m tests.bench.neighbours [--rounds N] [--seconds S]

Two daemons with the same servers. A client that never reads, one that floods, a server that writes garbage
and results of 50 MB are set on the second daemon ("beside": the machine is as busy) or on the first
("against"), in turns; an agent of the first measures. So the ratio is what sharing the daemon costs. Asked
for: a p99 of twice at most, and at most 96 MiB over the memory before. Machines are noisy: compare within one
run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

from tests.bench.catalog import perturbed_tools
from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.soak.history import NOT_SENT
from tests.wire import agent

TOOLS = 700
GROWTH_MIB = 96
GARBAGE = zoo("misbehaving", "lines_for_ever", connect_timeout=5)
QUERIES = ["search the notes of a project", "send a message to a channel", "list open issues", "weather"]


def never_reads(place):
    """Asks for much, takes nothing, until it is cut or the budget of what may wait for it is spent."""
    while True:
        with agent(place, client="never-reads") as wire:
            wire.sock.settimeout(5)
            try:
                for number in itertools.count():
                    wire.send({"op": "search", "id": number, "queries": QUERIES, "limit": 25})
            except OSError:
                pass


def floods(place):
    """As many requests as the socket takes, hundreds in a segment; the replies are read and dropped."""
    with agent(place, client="floods") as wire:
        wire.sock.settimeout(600)
        threading.Thread(target=lambda: [None for _ in iter(wire.recv, None)], daemon=True).start()
        for number in itertools.count():
            requests = [
                {"op": "search", "id": f"{number}-{at}", "queries": [f"{random.choice(QUERIES)} {number}"]}
                for at in range(300)
            ]
            wire.send(*requests)


def huge_results(place):
    with agent(place, client="huge") as wire:
        wire.sock.settimeout(600)
        for number in itertools.count():
            reply = wire.ask(
                {"op": "call", "id": number, "calls": [{"name": "mcp__huge__echo", "arguments": {}}]}
            )
            assert reply["results"][0]["error"]["code"] in NOT_SENT | {"RESULT_TOO_LARGE"}, reply
            time.sleep(0.1)


def be_bad(runtime_dir: str) -> None:
    """All of them at once, until killed."""
    place = SimpleNamespace(runtime_dir=Path(runtime_dir))
    for neighbour in (never_reads, floods, huge_results):
        threading.Thread(target=neighbour, args=(place,), daemon=True).start()
    sys.stdin.read()


def measured(daemon, seconds: float) -> dict[str, list[float]]:
    """Milliseconds of searches and calls, taken in turns."""
    times = defaultdict(list)
    with agent(daemon, client="measures") as wire:
        wire.sock.settimeout(120)
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until:
            number += 1
            echo = {"name": "mcp__steady__echo", "arguments": {"text": f"{number}"}}
            ask = {"search": {"queries": [f"{QUERIES[number % 4]} {number}"]}, "call": {"calls": [echo]}}
            for op, fields in ask.items():
                began = time.perf_counter()
                reply = wire.ask({"op": op, "id": number, **fields})
                times[op].append((time.perf_counter() - began) * 1e3)
                assert reply["op"] == "result", reply
            time.sleep(0.002)
    return times


def under(load: DaemonProcess, asked: DaemonProcess, servers: dict, seconds: float):
    """`asked`, measured while the bad neighbours are at `load`; and the most memory that `asked` took."""
    load.write_servers(servers | {"garbage": GARBAGE})
    command = [sys.executable, "-m", "tests.bench.neighbours", "--be-bad", str(load.runtime_dir)]
    most, over = [asked.rss_bytes()], threading.Event()

    def watch():
        while not over.wait(0.05):
            most.append(asked.rss_bytes())

    watching = threading.Thread(target=watch)
    watching.start()
    with subprocess.Popen(command, stdin=subprocess.PIPE) as bad:
        try:
            time.sleep(1)
            times = measured(asked, seconds)
        finally:
            over.set()
            watching.join()
            bad.kill()
    load.write_servers(servers)
    return times, max(most)


def p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--be-bad", metavar="DIR", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.be_bad:
        be_bad(asked.be_bad)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {TOOLS} tools\n")
    with tempfile.TemporaryDirectory() as folder:
        roots = [Path(folder, name) for name in ("first", "second")]
        tools = Path(folder, "tools.json")
        servers = {
            "steady": zoo("steady", "echo"),
            "huge": zoo("misbehaving", "huge_result"),
            "made": zoo("steady", "--tools-from", tools),
        }
        write_tools(tools)
        for root in roots:
            root.mkdir()
        # What is measured is the cost of huge results, not the breaker's pause after three of them.
        config = {"limits": {"breaker_failures": 1_000_000}}
        made = [DaemonProcess(root, servers=servers, config=config) for root in roots]
        with made[0] as first, made[1] as second:
            for daemon in made:
                daemon.wait_servers(*servers)
            report(first, second, servers, asked)


def write_tools(file: Path) -> None:
    file.write_text(json.dumps(perturbed_tools(TOOLS, seed=TOOLS)[0]))


def report(first: DaemonProcess, second: DaemonProcess, servers: dict, asked) -> None:
    measured(first, 2)
    before = first.rss_bytes()
    found, most = {"beside": defaultdict(list), "against": defaultdict(list)}, before
    for _ in range(asked.rounds):
        for where, load in (("beside", second), ("against", first)):
            times, peak = under(load, first, servers, asked.seconds)
            for op, taken in times.items():
                found[where][op] += taken
            if where == "against":
                most = max(most, peak)
    print(f"{'':>7} {'beside p50':>11} {'p99':>8} {'against p50':>12} {'p99':>8}  {'p99 ratio':>9}  (<= 2)")
    for op in ("search", "call"):
        beside, against = found["beside"][op], found["against"][op]
        ratio = p99(against) / p99(beside)
        print(
            f"{op:>7} {statistics.median(beside):11.2f} {p99(beside):8.2f} "
            f"{statistics.median(against):12.2f} {p99(against):8.2f}  {ratio:9.2f}"
        )
    print(f"\nmemory {before / 2**20:.0f} MiB, at most +{(most - before) / 2**20:.0f} MiB (<= {GROWTH_MIB})")


if __name__ == "__main__":
    main()
