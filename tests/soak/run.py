"""Eight agents, hostile servers and clients, files and sockets that vanish: is every word of the daemon true?

    python -m tests.soak.run [--minutes M] [--seed N]

Prints each contradiction with the requests it is about and what was done to the world around that time; exit
status 1 where there is one. The seed makes the choices the same, not the timing.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.daemon import wait_until
from tests.soak.agents import Agent
from tests.soak.deeds import Deeds
from tests.soak.history import Request, Violation, violations
from tests.soak.world import CALLED, World

AGENTS = 8
GROWTH_BYTES = 64 << 20
STEP_MS = 250.0  # of CPU of the loop's thread, in one step of a task
SETTLE_S = 60.0  # parked servers are probed within it
PRINTED = 20
SLICE_NS = 1_000_000_000  # what is printed around a contradiction


class Report(NamedTuple):
    history: list[Request]
    outcomes: Counter[str]  # of entries: "ok" or the error's code
    executed: int
    deeds: int
    growth_bytes: int
    longest: list[tuple[float, str]]  # steps of the loop: milliseconds of CPU, and whose
    found: list[str]  # what must not be, for people

    def table(self) -> str:
        asked = Counter(request.op for request in self.history)
        rows = [("requests", asked), ("entries", self.outcomes)]
        lines = [f"{name:>9}  " + "  ".join(f"{k} {n:,}" for k, n in c.most_common()) for name, c in rows]
        steps = ", ".join(f"{ms:.0f} ms {name}" for ms, name in self.longest)
        tail = f"executed {self.executed:,}, deeds {self.deeds}, memory +{self.growth_bytes / 2**20:.1f} MiB"
        tail += f", longest steps {steps or 'under 5 ms'}"
        return "\n".join([*lines, f"{'world':>9}  {tail}"])


def soak(root: Path, *, seconds: float, seed: int) -> Report:
    """A run in `root`, an empty directory. Takes the seconds and up to two minutes for its end."""
    world = World(root)
    with world:
        world.daemon.wait_servers(*world.servers)
        # What is made once (the worker, the view, the SDK) is made before it is counted.
        warm = _agents(world, seconds=2, seed=seed + 1)
        before, rss, pid = _settled(world), world.daemon.rss_bytes(), world.daemon.process.pid
        over = threading.Event()
        beside = [
            threading.Thread(target=Deeds(world, seed).run, args=(over,)),
            threading.Thread(target=world.answer_approvals, args=(seed, over)),
        ]
        for thread in beside:
            thread.start()
        try:
            agents = warm + _agents(world, seconds=seconds, seed=seed)
        finally:
            over.set()
            for thread in beside:
                thread.join()
        if world.daemon.process.poll() is not None:
            world.found.append(f"the daemon {pid} ended with {world.daemon.process.returncode}")
        found = world.found + _leaks(world, before)
        growth = world.daemon.rss_bytes() - rss
        if growth > GROWTH_BYTES:
            found.append(f"memory grew by {growth / 2**20:.0f} MiB")
    longest = world.longest_steps()
    found += [f"a step of {name} took {ms} ms of CPU" for ms, name in longest if ms > STEP_MS]
    history = sorted((r for agent in agents for r in agent.history), key=lambda r: r.invoked_ns)
    found += [f"{agent.name} failed: {agent.failure!r}" for agent in agents if agent.failure]
    found += [_told(v, history, world.events) for v in violations(history, world.ledger(), world.forbidden)]
    log = world.log_file.read_text()
    if (at := log.find("Traceback")) >= 0:
        found.append("a traceback in the daemon's log:\n" + log[max(0, at - 500) : at + 4000])
    deeds = len(world.events)
    return Report(history, _outcomes(history), len(world.ledger()), deeds, growth, longest[:3], found)


def _agents(world: World, *, seconds: float, seed: int) -> list[Agent]:
    until_s = time.monotonic() + seconds
    agents = [Agent(world.daemon, n, seed, until_s, CALLED) for n in range(AGENTS)]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join()
    return agents


def _settled(world: World) -> dict[str, int]:
    """What the daemon holds when all servers are ready and nobody asks any more."""
    world.daemon.wait_servers(*world.servers, within_s=SETTLE_S)

    def is_quiet():
        servers = world.ask("servers")["servers"]
        return not world.ask("sessions")["sessions"] and not any(
            s["in_flight"] + s["queued"] for s in servers
        )

    wait_until(is_quiet, within_s=SETTLE_S, what="the end of all sessions and calls")
    return world.holdings()


def _leaks(world: World, before: dict[str, int]) -> list[str]:
    """What is left of the run. Bounded waits: a process takes a while to die, a descriptor to close."""
    try:
        now = _settled(world)
        deadline = time.monotonic() + SETTLE_S
        while (grown(before, now) or world.strays()) and time.monotonic() < deadline:
            time.sleep(0.5)
            now = world.holdings()
    except AssertionError as error:
        return [f"{error}; {world.ask('servers')}"]
    found = [f"{name}: {before[name]} before, {now[name]} at the end" for name in grown(before, now)]
    return found + [f"a server's process is left: {stray}" for stray in world.strays()]


def grown(before: dict[str, int], now: dict[str, int]) -> list[str]:
    return [name for name in now if now[name] > before[name]]


def _told(violation: Violation, history: list[Request], events: list[str]) -> str:
    """With the requests concerned, those of their sessions about that time, and the deeds about that time."""
    lines = [violation.what]
    if violation.about:
        sessions = {request.session for request in violation.about}
        first = min(r.invoked_ns for r in violation.about) - SLICE_NS
        last = max(max(r.invoked_ns, r.replied_ns) for r in violation.about) + SLICE_NS
        slice_ = [r for r in history if r.session in sessions and first <= r.invoked_ns <= last]
        lines += [("  > " if r in violation.about else "    ") + r.line() for r in slice_[:60]]
        lines += [f"  * {e}" for e in events if first <= float(e.split()[0]) * 1e9 <= last]
    return "\n".join(lines)


def _outcomes(history: list[Request]) -> Counter[str]:
    return Counter(
        slot.get("error", {}).get("code", "ok")
        for request in history
        if request.op == "call"
        for reply in request.replies
        for slot in reply.get("results", ())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = soak(Path(folder), seconds=asked.minutes * 60, seed=asked.seed)
    print(report.table())
    for found in report.found[:PRINTED]:
        print(f"\n{found}")
    print(f"\n{len(report.found)} contradictions")
    sys.exit(bool(report.found))


if __name__ == "__main__":
    main()
