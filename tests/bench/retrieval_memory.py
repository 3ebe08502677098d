"""What the second stage costs in memory: a catalog of 20,000 tools that was searched, and a daemon at rest.

    python -m tests.bench.retrieval_memory

Each figure is of a process of its own: with the tables, and without them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.bench.catalog import perturbed_tools
from tests.bench.evaluate_adapter import snapshot_of
from tests.bench.large import entry, rss_mb, write_catalog
from tests.daemon import DaemonProcess, wait_until
from toolsearchd.dialects.registry import RANKINGS

TOOLS = 20_000
TOOLS_AT_REST = 300
ROUNDS = 3
REST_S = 5.0  # after the last tool is there: what the start left is given back by then


def searched(*, tables: bool) -> None:
    """In a process of its own: prints the megabytes that are resident once a search was answered."""
    made, _ = perturbed_tools(TOOLS)
    tools = [
        {
            "server": tool["name"].partition("_")[0],
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool["inputSchema"],
        }
        for tool in made
    ]
    snapshot = snapshot_of(tools, tables=tables)
    found = snapshot.searcher(RANKINGS["default"], snapshot.live).search("create an issue in the tracker", 5)
    assert found.matches or found.near
    print(rss_mb("self"))


def of_catalog(*, tables: bool) -> float:
    command = [sys.executable, "-m", "tests.bench.retrieval_memory", "on" if tables else "off"]
    return median(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(ROUNDS)
    )


def at_rest(*, tables: bool) -> float:
    """Megabytes of a daemon that nobody asked anything."""

    def once() -> float:
        with tempfile.TemporaryDirectory(prefix="tsd") as place:
            file = Path(place) / "tools.jsonl"
            write_catalog(file, "server", perturbed_tools(TOOLS_AT_REST)[0])
            daemon = DaemonProcess(
                Path(place),
                servers={"server": entry(file, "server")},
                config={"tools": {"tool_search": {"tables": tables}}},
            )
            with daemon:
                wait_until(lambda: daemon.ctl("status")[1].get("tools") == TOOLS_AT_REST, within_s=120)
                time.sleep(REST_S)
                return rss_mb(daemon.process.pid)

    return median(once() for _ in range(ROUNDS))


def memory() -> None:
    """Prints the table."""
    print("\n| memory (RSS, MB) | tables on | off | more | asked |\n|---|---|---|---|---|", flush=True)
    rows = (
        (f"{TOOLS:,} tools, one search", of_catalog, "≤ 30"),
        (f"a daemon at rest, {TOOLS_AT_REST} tools", at_rest, "≤ 2"),
    )
    for name, measure, asked in rows:
        on, off = measure(tables=True), measure(tables=False)
        print(f"| {name} | {on:.1f} | {off:.1f} | {on - off:+.1f} | {asked} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        searched(tables=sys.argv[1] == "on")
    else:
        memory()
