"""Does any reader take more than linear time?

    python -m tests.soak.linear [--reader PART | --from PART] [--pumps N] [--seed N]

Each reader of `readers.py` reads each family of texts in growing lengths: from the one that takes it 20 ms of
thread CPU, three doublings, each of which may take three times what the one before took: in their geometric
mean, since past some size an allocation costs its pages anew, once. A family that ends at the reader's own
limit before that is said to be under 20 ms, and is fine. Beside the families with names there are texts put
together by chance. Prints a row a reader; exit status 1 where one is worse.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from itertools import dropwhile
from random import Random
from statistics import geometric_mean
from typing import NamedTuple

from tests.soak.hostile import NAMED, Family, any_pump
from tests.soak.readers import ROWS, Reader

FIRST_CHARS = 512
START_S = 0.020
DOUBLINGS = 3
MOST_GROWTH = 3.0  # of a doubling: 2 is linear, the rest is for caches that overflow
TRIES = 4  # of a length that seems too slow: a neighbour on the machine is no fault of the reader
PUMPS = 4


class Ladder(NamedTuple):
    """What a family took, by length in characters. `growth`: of a doubling past `START_S`, in the mean."""

    family: str
    times_s: dict[int, float]
    growth: float
    budget_s: float = 0.0

    @property
    def is_linear(self) -> bool:
        return self.growth <= MOST_GROWTH or max(self.times_s.values()) <= self.budget_s

    def __str__(self) -> str:
        steps = ", ".join(f"{n / 1024:g} Ki {1000 * s:.0f} ms" for n, s in list(self.times_s.items())[-4:])
        return f"{self.family}: {steps}"


def cpu_s(reader: Reader, text: str) -> float:
    """Thread CPU that one reading takes, without the collector's turns: they come in steps of their own."""
    gc.collect()
    gc.disable()
    try:
        begin = time.thread_time()
        reader.read(text)
        return time.thread_time() - begin
    finally:
        gc.enable()


def climb(reader: Reader, name: str, family: Family) -> Ladder:
    """Doubles the length until it takes 20 ms, then three times more, within the reader's limit."""
    times: dict[int, float] = {}
    growths: list[float] = []
    chars = FIRST_CHARS
    while len(growths) < DOUBLINGS and chars <= reader.limit:
        text = family(chars)
        before = times.get(chars // 2, 0.0)
        taken = cpu_s(reader, text)
        if before >= START_S:
            steps = [taken / before]
            while steps[-1] > MOST_GROWTH and len(steps) <= TRIES:
                before, taken = cpu_s(reader, family(chars // 2)), cpu_s(reader, text)
                steps.append(taken / before)
            growths.append(min(steps))
        times[chars] = taken
        chars *= 2
    return Ladder(name, times, geometric_mean(growths) if growths else 0.0, reader.budget_s)


def families_of(reader: Reader, pumps: int, seed: int) -> dict[str, Family]:
    random = Random(f"{seed} {reader.name}")
    return {**NAMED, **reader.families, **dict(any_pump(random) for _ in range(pumps))}


def measure(reader: Reader, pumps: int, seed: int) -> list[Ladder]:
    return [climb(reader, name, family) for name, family in families_of(reader, pumps, seed).items()]


def line(reader: Reader, ladders: list[Ladder]) -> str:
    """Of a reader: its slowest family by the character, and its steepest one."""
    slowest = max(ladders, key=lambda one: list(one.times_s.values())[-1] / max(one.times_s))
    steepest = max(ladders, key=lambda one: one.growth)
    if not steepest.growth:
        return f"{reader.name:42} under {1000 * START_S:.0f} ms up to its limit of {reader.limit >> 10:,} KiB"
    return f"{reader.name:42} × {steepest.growth:.1f} at most ({steepest.family}); slowest {slowest}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reader", default="", help="only those whose name holds this")
    parser.add_argument(
        "--from", dest="first", default="", help="only the first whose name holds this, and on"
    )
    parser.add_argument("--pumps", type=int, default=PUMPS, help="texts by chance for each reader")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    found: list[tuple[Reader, Ladder]] = []
    rows = list(dropwhile(lambda one: args.first not in one.name, ROWS))
    for reader in (one for one in rows if args.reader in one.name):
        ladders = measure(reader, args.pumps, args.seed)
        print(line(reader, ladders), flush=True)
        found += [(reader, ladder) for ladder in ladders if not ladder.is_linear]
    for reader, ladder in found:
        print(f"NOT LINEAR  {reader.name}: {ladder}, × {ladder.growth:.1f}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
