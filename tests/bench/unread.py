"""What eight agents cost that call for large results and read nothing.

    python -m tests.bench.unread [--agents N] [--entries N] [--kind image|structured|text] [--door]

Each fills its window with batches of 64 results of 7 MiB. Printed: the daemon's memory over the start as it
goes, what it counts as held, what another agent's calls take meanwhile, and the stop of one and of all. Asked
for: 100 MiB over the start at most.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import DoorWire, Wire, agent

GROWTH_MIB = 100
SERVERS = {
    "large": zoo("misbehaving", "long_results", supports_parallel_tool_calls=True),
    "probe": zoo("steady"),
}


def ask_for_much(wire, calls):
    wire.send(*({"op": "call", "id": f"c{number}", "calls": calls} for number in range(16)))


def ask_for_much_by_the_door(wire, calls):
    for number in range(16):
        wire.tell("tools/call", id=f"c{number}", name="tool_call", arguments={"calls": calls})


def timed(ask):
    started = time.perf_counter()
    ask()
    return (time.perf_counter() - started) * 1000


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--agents", type=int, default=8)
    options.add_argument("--entries", type=int, default=64)
    options.add_argument("--seconds", type=float, default=25)
    options.add_argument("--kind", default="image")
    options.add_argument("--door", action="store_true")
    chosen = options.parse_args()
    arguments = {"bytes": 7 << 20, "kind": chosen.kind}
    calls = [{"name": "mcp__large__echo", "arguments": arguments}] * chosen.entries
    with tempfile.TemporaryDirectory() as root, DaemonProcess(Path(root), servers=SERVERS) as daemon:
        daemon.wait_servers(*SERVERS)
        with agent(daemon, client="probe") as probe, Wire(daemon.runtime_dir / "control.sock") as control:
            call = {
                "op": "call",
                "id": 1,
                "calls": [{"name": "mcp__probe__echo", "arguments": {"text": "x"}}],
            }
            probe.ask(call)
            before, most, slowest = daemon.rss_bytes(), 0, 0.0
            hungry, sessions = [], []
            for _ in range(chosen.agents):
                if chosen.door:
                    hungry.append(DoorWire(daemon))
                    hungry[-1].initialize()
                    ask_for_much_by_the_door(hungry[-1], calls)
                else:
                    hungry.append(agent(daemon, client="hungry"))
                    ask_for_much(hungry[-1], calls)
            watching = True

            def watch():
                nonlocal most
                while watching:
                    most = max(most, daemon.rss_bytes())
                    time.sleep(0.005)

            watcher = threading.Thread(target=watch)
            watcher.start()
            started = time.monotonic()
            while (passed := time.monotonic() - started) < chosen.seconds:
                slowest = max(slowest, timed(lambda: probe.ask(call)))
                time.sleep(0.05)
                if int(passed) != int(passed - 0.05) and int(passed) % 5 == 0:
                    sessions = control.ask({"op": "sessions", "id": 1})["sessions"]
                    held = [session["outstanding_bytes"] >> 20 for session in sessions]
                    grown = (daemon.rss_bytes() - before) >> 20
                    print(f"{passed:4.0f} s  +{grown} MiB  held {held}", flush=True)
            one = control.ask({"op": "sessions", "id": 1})["sessions"][-1]["session"]
            one_ms = timed(lambda: control.ask({"op": "stop", "id": 2, "session": one}))
            all_ms = timed(lambda: control.ask({"op": "stop", "id": 3}))
            watching = False
            watcher.join()
            for wire in hungry:
                (wire.file if chosen.door else wire).close()
            print(f"at most +{(most - before) >> 20} MiB (asked for: {GROWTH_MIB})")
            print(f"another agent's slowest call {slowest:.0f} ms")
            print(f"stop of one {one_ms:.0f} ms, of all {all_ms:.0f} ms")


if __name__ == "__main__":
    main()
