"""python -m tests.bench.peers [--data DIR] [--only PEER,…] [--sets NAME,…] [--large] [--quality | --speed]

DIR/catalogs/*.jsonl and DIR/queries/*.jsonl; without it, the set in tests/data/livemcp, which is small.
Tables on stdout; the figures as JSON and the pictures in tests/bench/out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.peers.catalogs import LARGE, SIZES, bytes_of, data_sets, pooled, sized
from tests.bench.peers.measure import Ready, quality, speed
from tests.bench.peers.pictures import draw
from tests.bench.peers.registry import PEERS
from tests.bench.peers.tables import quality_table, sets_table, speed_table
from tests.bench.peers.venvs import NotInstalledError, python_for

OUT = Path(__file__).parents[1] / "out"


def main() -> None:
    args = _arguments()
    ready, absent = _ready(tuple(filter(None, args.only.split(","))))
    sets = data_sets(args.data, tuple(filter(None, args.sets.split(","))))
    tools, queries = sum(len(one.tools) for one in sets), sum(len(one.queries) for one in sets)
    place = "the tests' own small set" if args.data is None else "the sets given"
    print(f"{place}: {', '.join(one.name for one in sets)}: {tools:,} tools, {queries:,} queries")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    rows: dict[str, dict[str, Any]] = {}
    times: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as work:
        if not args.speed:
            rows, failed = quality(ready, sets, Path(work))
            print(f"\nMeans over (data set, kind of query):\n\n{quality_table(rows, failed | absent)}")
            print(f"\n{sets_table(rows, failed | absent)}", flush=True)
        if not args.quality:
            pool, distinct = pooled(sets)
            for size in (*SIZES, LARGE) if args.large else SIZES:
                catalog = sized(pool, size)
                mean_bytes = sum(map(bytes_of, catalog)) / size
                of_size = list(speed(ready, catalog, distinct, Path(work)))
                times += of_size
                print(
                    f"\n{size:,} tools of {mean_bytes:,.0f} bytes on average, "
                    f"{len(distinct):,} distinct queries, limit 5:"
                )
                print(f"\n{speed_table(of_size, absent)}", flush=True)
    OUT.mkdir(exist_ok=True)
    (OUT / "peers.json").write_text(json.dumps({"quality": rows, "speed": times}, indent=1), "utf-8")
    try:
        print(f"\ndrawn: {', '.join(path.name for path in draw(rows, times, OUT))} in {OUT}")
    except ImportError:
        print("\nno pictures: matplotlib is not installed (the extra `bench` has it)")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="", help="these peers")
    parser.add_argument("--sets", default="", help="these data sets")
    parser.add_argument("--large", action="store_true", help=f"also {LARGE:,} tools")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quality", action="store_true", help="no speed")
    kind.add_argument("--speed", action="store_true", help="no quality")
    return parser.parse_args()


def _ready(only: tuple[str, ...]) -> tuple[Ready, dict[str, str]]:
    """Who is here, and who isn't with the reason."""
    if unknown := set(only) - {peer.name for peer in PEERS}:
        raise SystemExit(f"no such peer: {', '.join(sorted(unknown))}")
    ready: Ready = {}
    absent: dict[str, str] = {}
    for peer in PEERS:
        if only and peer.name not in only:
            continue
        try:
            ready[peer.name] = (peer, python_for(peer))
        except NotInstalledError as error:
            absent[peer.name] = f"not installed: {error}"
    return ready, absent


if __name__ == "__main__":
    main()
