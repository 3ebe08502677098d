"""What `assemble` costs: with nothing changed beside `ping`, and after one server's tools changed.

    python -m tests.bench.assemble [--tools N]…

A real daemon, a client on its socket, servers of 100 tools each. "changed" is the time from the event that a
new snapshot is there to the reply with the new view: its listing counted, fitted and sent. Times are the
client's, encoding and decoding included. Machines are noisy: compare rows of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.catalog import perturbed_tools
from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import agent

SIZES = (700, 3_300, 10_000)
PER_SERVER = 100
ROUNDS, CHANGES = 1000, 12
CONTEXT = 200_000


def replaced(file: Path, tools: list[dict]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(tools))
    new.replace(file)


def timed(wire, message: dict) -> tuple[float, dict]:
    began = time.perf_counter()
    reply = wire.ask(message)
    return (time.perf_counter() - began) * 1e3, reply


def unchanged(wire) -> tuple[list[float], list[float], dict]:
    """Milliseconds of ping and of assemble, taken in turns; and the view."""
    view = wire.ask({"op": "assemble", "id": "first"})
    pings, assembles = [], []
    for number in range(ROUNDS):
        pings.append(timed(wire, {"op": "ping", "id": number})[0])
        took, reply = timed(wire, {"op": "assemble", "id": number})
        assert reply["version"] == view["version"]
        assembles.append(took)
    return pings[50:], assembles[50:], view


def changed(wire, file: Path, tools: list[dict]) -> list[float]:
    """Milliseconds from the event of the new snapshot to the new view, for each of some changes."""
    wire.ask({"op": "subscribe", "id": "s", "events": ["catalog_changed"]})
    versions = {wire.ask({"op": "assemble", "id": "a"})["version"]}
    times = []
    for turn in range(CHANGES):
        words = f"Take turn {turn} of this and report it."
        replaced(file, [tool | {"description": words} if not at else tool for at, tool in enumerate(tools)])
        while wire.recv().get("op") != "catalog_changed":
            pass
        took, reply = timed(wire, {"op": "assemble", "id": turn, "refresh": True})
        assert reply["version"] not in versions
        versions.add(reply["version"])
        times.append(took)
    return times


def quantiles(times: list[float]) -> str:
    hundredth = statistics.quantiles(times, n=100)[98] if len(times) > 100 else max(times)
    return f"{statistics.median(times):9.3f} {hundredth:9.3f}"


def measure(size: int, root: Path) -> str:
    tools, _ = perturbed_tools(size, seed=size)
    servers = {}
    # The last server is small: its descriptions are shown, so that a change of one changes the listing.
    for at in range(0, size, PER_SERVER):
        file = root / f"tools{at}.json"
        replaced(file, tools[at : at + PER_SERVER])
        servers[f"made{at}"] = zoo("steady", "--tools-from", file)
    small = root / "small.json"
    replaced(small, tools[:3])
    servers["a-small-one"] = zoo("steady", "--tools-from", small)
    limits = {"list_min_interval_s": 0.05, "list_changes": 1000}
    with DaemonProcess(root, servers=servers, config={"limits": limits}) as daemon:
        daemon.wait_servers(*servers, within_s=180)
        with agent(daemon, context_length=CONTEXT) as wire:
            wire.sock.settimeout(120)
            pings, assembles, view = unchanged(wire)
            after = changed(wire, small, tools[:3])
        ratio = statistics.median(assembles) / statistics.median(pings)
        return (
            f"{size:6,} {view['listing_form']:>6} {view['listing_tokens']:6,}  {quantiles(pings)}  "
            f"{quantiles(assembles)}  {ratio:5.2f}  {quantiles(after)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tools", type=int, action="append", default=[])
    sizes = parser.parse_args().tools or SIZES
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; milliseconds\n")
    print(
        f"{'tools':>6} {'form':>6} {'tokens':>6}  {'ping p50':>9} {'p99':>9}  {'assemble':>9} {'p99':>9}  "
        f"ratio  {'changed':>9} {'max':>9}"
    )
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(size, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
