"""Round trips through a real daemon: ping, search and call, at 700 to 10,000 tools, for 1 and 8 clients.

    python -m tests.bench.latency

Each client is a process of its own, closed loop, distinct queries. Times are microseconds at the client,
encoding and decoding included. Machines are noisy: compare rows of one run.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.catalog import perturbed_tools
from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import agent

SIZES = (700, 3_300, 10_000)
SERVERS = 20
CLIENTS = (1, 8)
ROUNDS = {"ping": 1500, "search": 1500, "call": 300}


def requests_of(kind, chance, words):
    if kind == "ping":
        return {"op": "ping"}
    if kind == "search":
        return {"op": "search", "queries": [" ".join(chance.sample(words, 4))]}
    calls = [{"name": "mcp__steady__echo", "arguments": {"text": "hello"}}]
    return {"op": "call", "calls": calls}


def client(runtime_dir, seed, words_file):
    """One closed-loop client: prints its latencies as JSON, per kind, after a line read from stdin."""
    chance, words = random.Random(int(seed)), json.loads(Path(words_file).read_text())

    class Place:
        pass

    Place.runtime_dir = Path(runtime_dir)
    with agent(Place) as wire:
        for kind, rounds in ROUNDS.items():
            for warm in range(50):
                wire.ask(requests_of(kind, chance, words) | {"id": warm})
            print("warm", flush=True)
            sys.stdin.readline()
            times = []
            for number in range(rounds):
                request = requests_of(kind, chance, words) | {"id": number}
                began = time.perf_counter()
                reply = wire.ask(request)
                times.append((time.perf_counter() - began) * 1e6)
                assert reply["op"] == "result", reply
            print(json.dumps(times), flush=True)


def measure(daemon, clients, words_file):
    command = [sys.executable, "-m", "tests.bench.latency", "client", str(daemon.runtime_dir)]
    running = [
        subprocess.Popen(
            [*command, str(seed), str(words_file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for seed in range(clients)
    ]
    found = {}
    for kind in ROUNDS:
        for process in running:
            assert process.stdout.readline().strip() == "warm"
        for process in running:
            process.stdin.write("go\n")
            process.stdin.flush()
        found[kind] = [t for process in running for t in json.loads(process.stdout.readline())]
    for process in running:
        process.wait(10)
    return found


def main():
    print(
        f"{'tools':>6} {'clients':>7}  " + "  ".join(f"{k + ' p50':>11} {'p99':>8}" for k in ROUNDS) + "   us"
    )
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            tools, words = perturbed_tools(size, seed=size)
            words_file = root / "words.json"
            words_file.write_text(json.dumps(words))
            servers = {"steady": zoo("steady", "echo")}
            for at in range(SERVERS):
                file = root / f"tools{at}.json"
                file.write_text(json.dumps(tools[at::SERVERS]))
                servers[f"made{at}"] = zoo("steady", "--tools-from", file)
            with DaemonProcess(root, servers=servers) as daemon:
                daemon.wait_servers(*servers)
                time.sleep(5)  # the views in use are made ready
                for clients in CLIENTS:
                    found = measure(daemon, clients, words_file)
                    cells = "  ".join(
                        f"{statistics.median(times):11.0f} {statistics.quantiles(times, n=100)[98]:8.0f}"
                        for times in found.values()
                    )
                    print(f"{size:6} {clients:7}  {cells}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(*sys.argv[2:])
    else:
        main()
