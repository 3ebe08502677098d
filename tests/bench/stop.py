"""How long a stop takes to be acknowledged: 8 agents, each with a full window of full batches, slow servers.

    python -m tests.bench.stop [--agents N] [--rounds N]

Each agent is a process of its own: it fills its window (15 calls of 64 entries, the 16th place is a ping's),
waits until its share is on its way, stops, and fills it again, while the others do the same. Milliseconds at
the client, from the send to the acknowledgement. When it has come nothing more of the stopped calls is sent:
the entries that were running and those that never were are counted in it.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import agent

SERVERS = 4
CALLS = 15
ENTRIES = 64
BOUND_MS = 20


def fill(wire, round_, chance):
    """A window of calls that would take an hour."""
    for number in range(CALLS):
        names = [f"mcp__slow{chance.randrange(SERVERS)}__sleep" for _ in range(ENTRIES)]
        calls = [{"name": name, "arguments": {"s": 60}} for name in names]
        wire.send({"op": "call", "id": f"{round_}.{number}", "calls": calls})
    wire.ask({"op": "ping", "id": f"{round_}.ping"})  # all of them were read


def stop(wire, round_):
    """Milliseconds to the acknowledgement, and its counts; then all calls' replies are read."""
    began = time.perf_counter()
    wire.send({"op": "stop", "id": round_})
    open_calls, took, counts = CALLS, 0.0, {}
    while open_calls or not counts:
        reply = wire.recv()
        if reply.get("id") == round_:
            took = (time.perf_counter() - began) * 1000
            counts = {key: reply[key] for key in ("interrupted", "running")}
        elif "results" in reply:
            open_calls -= 1
            codes = {result["error"]["code"] for result in reply["results"]}
            assert codes <= {"INTERRUPTED", "INDETERMINATE"}, codes
    assert counts["interrupted"] + counts["running"] == CALLS * ENTRIES, counts
    return took, counts["running"]


def client(runtime_dir, seed, rounds):
    class Place:
        pass

    Place.runtime_dir, chance = Path(runtime_dir), random.Random(int(seed))
    with agent(Place) as wire:
        wire.sock.settimeout(60)
        found = []
        for round_ in range(int(rounds)):
            fill(wire, round_, chance)
            time.sleep(chance.uniform(0, 0.2))
            found.append(stop(wire, round_))
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    servers = {
        f"slow{at}": zoo("steady", env={"NAME": str(at)}, supports_parallel_tool_calls=True)
        for at in range(SERVERS)
    }
    with tempfile.TemporaryDirectory() as folder, DaemonProcess(Path(folder), servers=servers) as daemon:
        daemon.wait_servers(*servers)
        print(f"{'agents':>6} {'stops':>6} {'running':>8}  {'p50':>6} {'p99':>6} {'most':>6}   ms")
        for agents in sorted({1, options.agents}):
            command = [sys.executable, "-m", "tests.bench.stop", "client", str(daemon.runtime_dir)]
            running = [
                subprocess.Popen(
                    [*command, str(seed), str(options.rounds)], stdout=subprocess.PIPE, text=True
                )
                for seed in range(agents)
            ]
            found = [pair for process in running for pair in json.loads(process.communicate()[0])]
            times = [took for took, _ in found]
            p99 = statistics.quantiles(times, n=100)[98]
            print(
                f"{agents:6} {len(times):6} {sum(count for _, count in found):8}  "
                f"{statistics.median(times):6.1f} {p99:6.1f} {max(times):6.1f}   "
                f"{'within' if p99 <= BOUND_MS else 'over'} {BOUND_MS} ms",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(*sys.argv[2:])
    else:
        main()
