"""A daemon with 100,000 tools: how long its loop is held while they compile, its memory, one server's change.

    python -m tests.bench.large [TOOLS]

The loop's lag is what a request that arrives at a random moment would wait for the task step that runs then,
in CPU time of the daemon's thread: what else the machine does is not the daemon's. Definitions are made up,
at least 1 kB each on average.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import sys
import tempfile
import time
from array import array
from pathlib import Path

from tests.bench.catalog import perturbed_tools
from tests.daemon import DaemonProcess, wait_until

SERVERS = 40
SMALL = 30  # tools of the server that changes
STAND_IN = Path(__file__).parents[1] / "servers" / "stand_in.py"


def daemon_main(report: Path, arguments: list[str]) -> None:
    """The daemon itself, each step of its loop timed; the report is written when it ends."""
    import trio

    from toolsearchd import __main__
    from toolsearchd.daemon import app

    class Steps(trio.abc.Instrument):
        def __init__(self) -> None:
            self.began = 0.0
            self.steps = array("d")
            self.slow: list[tuple[float, str]] = []

        def before_task_step(self, task: object) -> None:
            self.began = time.thread_time()

        def after_task_step(self, task: object) -> None:
            took = time.thread_time() - self.began
            self.steps.append(took)
            if took > 0.010:
                self.slow.append((took, getattr(task, "name", "?")))

    collections: list[float] = []
    began = 0.0

    def collected(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.thread_time()
        elif info["generation"] == 2:
            collections.append(time.thread_time() - began)

    gc.callbacks.append(collected)
    steps = Steps()
    run = app.Daemon.run

    async def timed(self: app.Daemon) -> None:
        ready = self.notifier.ready

        def ready_and_counting(status: str) -> None:
            ready(status)
            del steps.steps[:]
            steps.slow.clear()

        self.notifier.ready = ready_and_counting  # type: ignore[method-assign]
        trio.lowlevel.add_instrument(steps)
        await run(self)

    app.Daemon.run = timed  # type: ignore[method-assign]
    sys.argv = ["toolsearchd", *arguments]
    try:
        __main__.main()
    finally:
        report.write_text(
            json.dumps({"steps": steps.steps.tolist(), "slow": steps.slow, "collections": collections})
        )


def lag_ms(steps: list[float], share: float, elapsed_s: float) -> float:
    """The wait that a random moment of the elapsed time exceeds with probability 1 - share."""
    total = max(elapsed_s, sum(steps))
    low, high = 0.0, max(steps)
    for _ in range(60):
        middle = (low + high) / 2
        over = sum(step - middle for step in steps if step > middle) / total
        low, high = (middle, high) if over > 1 - share else (low, middle)
    return 1000 * high


def write_catalog(file: Path, server: str, tools: list[dict]) -> int:
    """One server's part of the catalog; how many bytes it has."""
    with file.open("w") as out:
        for tool in tools:
            line = {"server": server, "name": tool["name"], "description": tool["description"]}
            out.write(json.dumps(line | {"input_schema": tool["inputSchema"]}) + "\n")
    return file.stat().st_size


def entry(file: Path, server: str) -> dict:
    return {"command": sys.executable, "args": [str(STAND_IN), str(file), server]}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    tools, _ = perturbed_tools(count + SMALL)
    for at, tool in enumerate(tools):  # as long as real definitions are
        tool["description"] += f" Case {at % 977} of the {tool['name']} family: " + "see its notes. " * 30
    names = [f"server{number}" for number in range(SERVERS)]
    with tempfile.TemporaryDirectory(prefix="tsd") as place:
        root = Path(place)
        size, servers = 0, {}
        for at, name in enumerate(names):
            size += write_catalog(root / f"{name}.jsonl", name, tools[:count][at::SERVERS])
            servers[name] = entry(root / f"{name}.jsonl", name)
        small = root / "small.jsonl"
        write_catalog(small, "small", tools[count:])
        servers["small"] = entry(small, "small")
        report = root / "steps.json"
        daemon = DaemonProcess(root, servers=servers)
        daemon.program = ["-m", "tests.bench.large", "daemon", str(report)]
        with daemon:
            began = time.monotonic()
            wait_until(lambda: daemon.ctl("status")[1].get("tools") == count + SMALL, within_s=1200)
            elapsed_s = time.monotonic() - began
            memory = rss_mb(daemon.process.pid)
            daemon.ctl("search", "create an issue")
            changed = [tool | {"name": f"new_{tool['name']}"} for tool in tools[count:]]
            write_catalog(small, "small", changed)
            changed_at = time.time()
            daemon.ctl("restart", "small")
            wait_until(lambda: found_new(daemon), within_s=60)
            kept = daemon.state_dir / "catalog"
            wait_until(lambda: kept.exists() and kept.stat().st_mtime > changed_at, within_s=60)
            after = rss_mb(daemon.process.pid)
            log = daemon.log.read_text()
        measured = json.loads(report.read_text())
    compiles = [float(ms) for ms in re.findall(rf"generation \d+: {count + SMALL} tools, ([\d.]+) ms", log)]
    print(f"{count} tools, {size / count:.0f} bytes each, {SERVERS} servers; CPU time of the loop's thread")
    for share in (0.5, 0.9, 0.99, 0.999):
        print(f"  loop lag p{100 * share:g}: {lag_ms(measured['steps'], share, elapsed_s):.2f} ms")
    print(
        f"  {elapsed_s:.0f} s from READY to the last tool, the loop at work for {sum(measured['steps']):.0f}"
    )
    print(f"  longest step: {1000 * max(measured['steps']):.1f} ms")
    for took, task in sorted(measured["slow"], reverse=True)[:12]:
        print(f"    {1000 * took:6.1f} ms  {task}")
    longest = ", ".join(f"{1000 * took:.0f}" for took in sorted(measured["collections"])[-5:])
    print(f"  {len(measured['collections'])} full garbage collections, the longest: {longest} ms")
    print(f"  memory (RSS): {memory:.0f} MB, after a search and a change {after:.0f} MB")
    print(f"  one server of {SMALL} tools replaced: {compiles[-1] if compiles else '?'} ms (wall)")


def found_new(daemon: DaemonProcess) -> bool:
    return any("new_" in name for name in str(daemon.ctl("search", "new issue", "--limit", "20")[1]).split())


def rss_mb(pid: int | str) -> float:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["daemon"]:
        logging.captureWarnings(True)
        daemon_main(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
