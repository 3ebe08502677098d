"""Owns the snapshots that hold one session's own tools on top of the newest catalog.

A session's tools are indexed for it alone: nobody else's statistics, listing or generation change. A new
catalog is laid under each overlay in the background, in slices; until then the session sees the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from toolsearchd.catalog.compile import MemoKey, SnapshotCompile
from toolsearchd.catalog.model import Definition, Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import make_analyzer
from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.document import Analysis
from toolsearchd.limits import Limits
from toolsearchd.system.guard import guarded
from toolsearchd.system.pacing import Slices

_KEPT_WORDS = 4_096  # read by the owners' analyzers: a session's 30 tools have some hundred


Toolsets = Mapping[str, tuple[Definition, ...]]  # how listings and search call an agent's own tools → those


class _Overlay(msgspec.Struct):
    toolsets: Toolsets
    base: Snapshot
    snapshot: Snapshot
    memo: dict[MemoKey, Analysis]


class Overlays:
    """`base()`: the newest catalog. `on_laid(owner)` runs when an owner's snapshot is another one."""

    def __init__(self, base: Callable[[], Snapshot], limits: Limits) -> None:
        self._base = base
        self._limits = limits
        self._of: dict[str, _Overlay] = {}
        self._like: Mapping[str, Analyzer] = {}
        self._analyzers: dict[str, Analyzer] = {}
        self.on_laid: Callable[[str], None] = lambda _owner: None

    def snapshot(self, owner: str) -> Snapshot:
        """What this owner sees; the catalog itself where it has no tools of its own."""
        overlay = self._of.get(owner)
        return self._base() if overlay is None else overlay.snapshot

    async def lay(self, owner: str, toolsets: Toolsets) -> None:
        """These are the owner's tools from now on. Cancelled, it leaves the ones before."""
        if not toolsets:
            self.lift(owner)
            self.on_laid(owner)
            return
        self._of[owner] = await self._compiled(toolsets, {})
        self.on_laid(owner)
        await self.renew(owner)

    async def renew(self, owner: str) -> None:
        """Lays the newest catalog under the owner's tools; returns when there is no newer one."""
        while (overlay := self._of.get(owner)) is not None and not self._is_new(overlay):
            renewed = await self._compiled(overlay.toolsets, overlay.memo)
            if self._of.get(owner) is overlay:  # else its tools changed, or it went, meanwhile
                self._of[owner] = renewed
                self.on_laid(owner)

    async def renew_all(self) -> None:
        for owner in tuple(self._of):
            with guarded("laying the catalog under an agent's own tools"):
                await self.renew(owner)

    def lift(self, owner: str) -> None:
        """The owner has no tools of its own any more."""
        self._of.pop(owner, None)

    def _analyzers_like(self, shared: Mapping[str, Analyzer]) -> Mapping[str, Analyzer]:
        """Equal ones, for all owners: what they keep of words is theirs, and little."""
        if self._like is not shared:
            self._like, self._analyzers = shared, {}
            for name, analyzer in shared.items():
                self._analyzers[name] = make_analyzer(name, analyzer.options)
                self._analyzers[name].kept_words = _KEPT_WORDS
        return self._analyzers

    def _is_new(self, overlay: _Overlay) -> bool:
        return overlay.base is self._base()

    async def _compiled(self, toolsets: Toolsets, memo: dict[MemoKey, Analysis]) -> _Overlay:
        base, slices = self._base(), Slices(self._limits.compile_slice_s)
        sources = list(base.sources)
        for toolset, definitions in toolsets.items():
            name = _free_name(toolset, {source.name for source in sources} | toolsets.keys() - {toolset})
            sources.append(Source(name=name, kind="plugin", definitions=definitions))
        analyzers = self._analyzers_like(base.analyzers)
        work = SnapshotCompile(
            base.branch(analyzers),
            sources,
            analyzers=analyzers,
            analysed_bytes=self._limits.analysed_bytes,
            memo=memo,
        )
        for _ in work.prepare():
            await slices.breathe()
        while work.step():
            await slices.breathe()
        return _Overlay(toolsets, base, work.snapshot, work.memo)


def _free_name(toolset: str, taken: Collection[str]) -> str:
    """The toolset's, with a number where a server or another toolset bears it."""
    name, number = toolset, 1
    while name in taken:
        number += 1
        name = f"{toolset}-{number}"
    return name
