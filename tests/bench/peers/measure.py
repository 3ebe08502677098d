"""The two measurements: how good the answers are on each data set, and what they cost at each size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.bench.peers.catalogs import DataSet, Tool, written
from tests.bench.peers.process import PeerFailedError, PeerProcess
from tests.bench.peers.registry import Peer
from toolsearchd.index.evaluate import MEASURES, figures, judge, limit_for

FIGURES = (*MEASURES, "false_match", "false_any")
REAL = ("livemcp", "mcpmix", "cloudflare")
LOAD_S = 600
ANSWERS_S = 900  # for a data set's queries
SPEED_S = 30  # of searching, per peer and size
CHUNK = 25  # queries in a row to one peer: a busy moment of the machine meets all of them

Ready = dict[str, tuple[Peer, Path]]  # name → the peer, its interpreter
Row = dict[str, Any]


def quality(ready: Ready, sets: Sequence[DataSet], work: Path) -> tuple[dict[str, Row], dict[str, str]]:
    """Per peer: means over (data set, kind) cells, and hit@5 by data set. And who failed, with the reason."""
    rows: dict[str, Row] = {}
    failed: dict[str, str] = {}
    files = {one.name: written(one.tools, work / f"{one.name}.jsonl") for one in sets}
    for name, (peer, python) in ready.items():
        cells: dict[tuple[str, str], Row] = {}
        if peer.answers_as in ready:
            failed[name] = f"the same answers as {peer.answers_as}"
            continue
        try:
            for one in sets:
                if peer.most_tools is not None and len(one.tools) > peer.most_tools:
                    raise PeerFailedError(f"not asked above {peer.most_tools} tools: {peer.because}")
                with PeerProcess(peer, python, work / f"{name}.log") as process:
                    process.load(files[one.name], LOAD_S)
                    cells |= _cells(process, one)
        except PeerFailedError as error:
            failed[name] = str(error)
        else:
            rows[name] = _summary(cells)
    return rows, failed


def _cells(process: PeerProcess, one: DataSet) -> dict[tuple[str, str], Row]:
    asked = [(query.query, limit_for(query)) for query in one.queries]
    answer = process.search(asked, ANSWERS_S)
    if len(answer["us"]) < len(asked):
        raise PeerFailedError(f"{len(answer['us'])} of {one.name}'s {len(asked)} queries in {ANSWERS_S} s")
    kinds: dict[str, list[Any]] = {}
    for query, (matches, near), us in zip(one.queries, answer["found"], answer["us"], strict=True):
        kinds.setdefault(query.kind, []).append(judge(query, matches, near, us))
    return {(one.name, kind): figures(judged) for kind, judged in kinds.items()}


def _summary(cells: dict[tuple[str, str], Row]) -> Row:
    def mean(figure: str, sets: Sequence[str] = (), kind: str = "") -> float | None:
        kept = [
            cell[figure]
            for (name, of_kind), cell in cells.items()
            if cell[figure] is not None and (not sets or name in sets) and (not kind or of_kind == kind)
        ]
        return fmean(kept) if kept else None

    return {
        **{figure: mean(figure) for figure in FIGURES},
        "real": mean("hit@5", sets=REAL),
        "keyword": mean("hit@5", kind="keyword"),
        "paraphrase": mean("hit@5", kind="paraphrase"),
        "agent": mean("hit@5", kind="agent"),
        "sets": {name: mean("hit@5", sets=(name,)) for name in dict.fromkeys(name for name, _ in cells)},
    }


def speed(ready: Ready, tools: list[Tool], queries: list[str], work: Path) -> Iterator[Row]:
    """One row per peer. All peers hold the same catalog at once and are asked in turns."""
    size = len(tools)
    file = written(tools, work / f"sized{size}.jsonl")
    rows: dict[str, Row] = {}
    with contextlib.ExitStack() as open_processes:
        running: dict[str, PeerProcess] = {}
        for name, (peer, python) in ready.items():
            rows[name] = {"peer": name, "tools": size, "us": []}
            if peer.most_tools is not None and size > peer.most_tools:
                rows[name]["failed"] = f"not asked above {peer.most_tools} tools: {peer.because}"
                continue
            running[name] = open_processes.enter_context(
                PeerProcess(peer, python, work / f"{name}{size}.log")
            )
            try:
                rows[name] |= running[name].load(file, LOAD_S)
            except PeerFailedError as error:
                rows[name]["failed"] = str(error)
                del running[name]
        _ask_in_turns(running, rows, queries)
    for row in rows.values():
        yield row | _times(row.pop("us"))


def _ask_in_turns(running: dict[str, PeerProcess], rows: dict[str, Row], queries: list[str]) -> None:
    asked = dict.fromkeys(running, 0)
    while running:
        for name, process in list(running.items()):
            us = rows[name]["us"]
            chunk = [(query, 5) for query in queries[asked[name] : asked[name] + CHUNK]]
            left_s = SPEED_S - sum(us) / 1e6
            if not chunk or left_s <= 0:
                del running[name]
                continue
            try:
                us += process.search(chunk, min(left_s, SPEED_S / 4))["us"]
            except PeerFailedError as error:
                rows[name]["failed"] = str(error)
                del running[name]
            asked[name] += CHUNK


def _times(us: list[float]) -> Row:
    """The first search, then the quantiles of all others; p99 only where there are a hundred."""
    if len(us) < 2:
        return {"first_us": us[0] if us else None, "p50_us": None, "p99_us": None, "queries": len(us)}
    rest = sorted(us[1:])
    p99 = rest[int(len(rest) * 0.99)] if len(rest) >= 99 else None
    return {"first_us": us[0], "p50_us": rest[len(rest) // 2], "p99_us": p99, "queries": len(us)}
