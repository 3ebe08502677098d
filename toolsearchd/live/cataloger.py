"""Owns the compile: the analysis memo and the newest snapshot. One compile running, one pending, newest wins.

Receives "something changed" from the fleet (sources) and the config; emits an immutable snapshot by one
assignment, then tells its subscribers. Small changes compile here, in slices of `compile_slice_s`; large ones
are analysed in the worker process first, so that the loop never stalls.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import trio

from toolsearchd.catalog.compile import SnapshotCompile
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import make_analyzer
from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.document import Analysis
from toolsearchd.limits import Limits
from toolsearchd.live.worker import Worker, WorkerError
from toolsearchd.system.pacing import Slices
from toolsearchd.system.signal import Signal
from toolsearchd.worker import AnalyseDocuments

log = logging.getLogger(__name__)

_MEMO_SPARE = 1_000  # analyses kept of tools that are gone: a list that flips back costs nothing
_WORKER_BATCH = 2_000  # documents a request: the answer decodes within a few slices


class Cataloger:
    """`sources()`: the newest sources in catalog order; `options()`: those of the default analyzer.
    `on_snapshot(generation)` runs after publication."""

    def __init__(
        self,
        *,
        sources: Callable[[], tuple[Source, ...]],
        options: Callable[[], Mapping[str, Any]],
        worker: Worker,
        limits: Limits,
        snapshot: Snapshot,
    ) -> None:
        """`snapshot`: the first one, of an earlier run or empty."""
        self._sources = sources
        self._options = options
        self._worker = worker
        self._limits = limits
        self._dirty = Signal()
        self._published = Signal()
        self._analyzers: dict[str, Analyzer] = {"default": make_analyzer("default", options())}
        self._memo: dict[tuple[str, str], Analysis] = {}
        for name in snapshot.indexes:
            self._analyzers.setdefault(name, make_analyzer(name))
        self.snapshot = snapshot.read_by(self._analyzers)
        self.on_snapshot: list[Callable[[int], None]] = []
        self.compile_ms = 0.0

    def mark_dirty(self) -> None:
        """Something may have changed; a compile follows. Cheap, and coalesced."""
        self._dirty.set()

    def want_analyzer(self, name: str) -> None:
        """Snapshots are to carry an index made with this analyzer, soon."""
        if name not in self._analyzers:
            self._analyzers[name] = make_analyzer(name)
            self.mark_dirty()

    async def ensure_analyzer(self, name: str) -> None:
        """Waits until snapshots carry an index made with this analyzer."""
        self.want_analyzer(name)
        while name not in self.snapshot.indexes:
            await self._published.wait_next()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Compiles what is there now before it counts as started, then whenever marked dirty."""
        await self._compile()
        task_status.started()
        while True:
            await self._dirty.wait_and_clear()
            await self._compile()

    async def _compile(self) -> None:
        started = time.perf_counter()
        slices = Slices(self._limits.compile_slice_s)
        self._apply_options()
        compile_ = SnapshotCompile(
            self.snapshot,
            self._sources(),
            analyzers=self._analyzers,
            analysed_bytes=self._limits.analysed_bytes,
            memo=self._memo,
        )
        for _ in compile_.prepare():
            await slices.breathe()
        if len(compile_.missing) > self._limits.compile_inline_tools:
            await self._analyse_elsewhere(compile_, slices)
        while compile_.step():
            await slices.breathe()
        for server, tool, error in compile_.failed:
            log.error("%s/%s is not indexed, no search finds it: %s", server, tool, error)
        if compile_.snapshot is self.snapshot:
            return
        self.snapshot = compile_.snapshot
        if len(self._memo) > 2 * len(self.snapshot) + _MEMO_SPARE:
            self._memo.clear()
        self._memo.update(compile_.memo)
        self.compile_ms = round((time.perf_counter() - started) * 1000, 1)
        log.debug(
            "generation %d: %d tools, %.1f ms", self.snapshot.generation, len(self.snapshot), self.compile_ms
        )
        self._published.set()
        for tell in self.on_snapshot:
            tell(self.snapshot.generation)

    def _apply_options(self) -> None:
        """Between two compiles: another analyzer means another index, and nothing of the old one's memo."""
        options = self._options()
        if options != self._analyzers["default"].options:
            self._analyzers["default"] = make_analyzer("default", options)
            self._memo.clear()

    async def _analyse_elsewhere(self, compile_: SnapshotCompile, slices: Slices) -> None:
        """Has the worker process analyse what is missing; without it, the compile does so, in slices."""
        by_analyzer: dict[str, list[tuple[str, str]]] = {}
        documents: Mapping[tuple[str, str], object] = {
            (name, digest): document for name, digest, document in compile_.missing
        }
        for key in documents:
            by_analyzer.setdefault(key[0], []).append(key)
        try:
            for name, keys in by_analyzer.items():
                for at in range(0, len(keys), _WORKER_BATCH):
                    batch = keys[at : at + _WORKER_BATCH]
                    raw = []
                    for key in batch:
                        raw.append(msgspec.Raw(msgspec.msgpack.encode(documents[key])))
                        await slices.breathe()
                    request = AnalyseDocuments(name, self._analyzers[name].options, raw)
                    answer = await self._worker.ask(request, list[msgspec.Raw])
                    analyses = {}
                    for key, analysis in zip(batch, answer, strict=True):
                        analyses[key] = msgspec.msgpack.decode(analysis, type=Analysis)
                        await slices.breathe()
                    compile_.give(analyses)
        except WorkerError as error:
            log.warning("analysing %d documents in the daemon itself: %s", len(documents), error)
