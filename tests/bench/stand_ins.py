"""`eval` through a real daemon with a stand-in for every server of a catalog, beside `eval --catalog`.

    python -m tests.bench.stand_ins [--data DIR] [--set NAME]

DIR/catalogs/NAME.jsonl and DIR/queries/NAME.jsonl; without DIR the set in tests/data/livemcp. Exits 1 where a
figure differs by more than a thousandth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.peers.catalogs import OWN, unpacked
from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from toolsearchd.client import ControlClient
from toolsearchd.index.evaluate import MEASURES

FIGURES = (*MEASURES, "false_match", "false_any")
SAME = 1e-3


def stand_ins(catalog: Path) -> dict[str, dict]:
    """An `mcpServers` entry for each server in the catalog."""
    names = [json.loads(line)["server"] for line in catalog.read_text("utf-8").splitlines()]
    return {name: zoo("stand_in", catalog, name) for name in dict.fromkeys(names)}


def evaluated(
    catalog: Path, queries: Path, root: Path, within_s: float = 300
) -> tuple[dict, dict, dict[str, float]]:
    """The reports through the daemon and of the file alone; and what the daemon took: seconds, bytes."""
    servers = stand_ins(catalog)
    with DaemonProcess(root, servers=servers) as daemon:
        began = time.monotonic()
        wait_ready(daemon, set(servers), within_s)
        cost = {"ready_s": time.monotonic() - began, "rss": daemon.rss_bytes()}
        reports = [
            daemon.ctl("eval", queries, *more, timeout=within_s) for more in ((), ("--catalog", catalog))
        ]
    for status, report in reports:
        assert status == 0, report
    return reports[0][1], reports[1][1], cost


def wait_ready(daemon: DaemonProcess, names: set[str], within_s: float = 60) -> None:
    """Asks on one connection: starting a program for each question would take the servers' time."""
    with ControlClient(runtime_dir=daemon.runtime_dir, timeout_s=within_s) as control:

        def ready() -> bool:
            time.sleep(0.05)
            servers = control.request("servers")["servers"]
            return {server["name"] for server in servers if server["state"] == "ready"} == names

        wait_until(ready, within_s=within_s, what=f"{len(names)} servers ready")


def differences(through: dict, alone: dict) -> dict[str, tuple[float, float]]:
    """Figures that are not the same, as "kind figure"."""
    kinds = {"all": (through, alone)}
    kinds |= {kind: (through["kinds"][kind], found) for kind, found in alone["kinds"].items()}
    return {
        f"{kind} {figure}": (one[figure], other[figure])
        for kind, (one, other) in kinds.items()
        for figure in FIGURES
        if (one[figure] is None) != (other[figure] is None)
        or (one[figure] is not None and abs(one[figure] - other[figure]) > SAME)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--set", default="livemcp")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if args.data:
            catalog, queries = (args.data / kind / f"{args.set}.jsonl" for kind in ("catalogs", "queries"))
        else:
            catalog, queries = root / "catalog.jsonl", root / "queries.jsonl"
            for path in (catalog, queries):
                path.write_bytes(b"\n".join(unpacked(OWN / f"{path.name}.xz")))
        through, alone, cost = evaluated(catalog.absolute(), queries.absolute(), root)
        servers = len(stand_ins(catalog))
    print(f"{servers} servers ready after {cost['ready_s']:.1f} s, daemon at {cost['rss'] / 2**20:.0f} MiB")
    print("\n| figure | through the daemon | of the file |\n| --- | --- | --- |")
    for figure in FIGURES:
        print(f"| {figure} | {_figure(through[figure])} | {_figure(alone[figure])} |")
    print(f"| p50 us | {through['p50_us']:.0f} | {alone['p50_us']:.0f} |")
    if different := differences(through, alone):
        print("\ndifferent:")
        for name, (one, other) in different.items():
            print(f"{name}: {_figure(one)} through the daemon, {_figure(other)} of the file")
        hits_alone = {miss["id"] for miss in through["misses"]} - {miss["id"] for miss in alone["misses"]}
        print(f"missed through the daemon alone: {', '.join(sorted(hits_alone)) or 'none'}")
        sys.exit(1)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    main()
