"""Owns the last catalog on the disk: read once at the start, written when the catalog has been quiet.

From it searches answer before any server has started; what it holds is `stale` until its server confirms.
"""

from __future__ import annotations

import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import trio

from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.catalog.stored import dump_snapshot, load_snapshot
from toolsearchd.limits import Limits
from toolsearchd.system.files import open_private
from toolsearchd.system.guard import guarded
from toolsearchd.system.pacing import Slices
from toolsearchd.system.signal import Signal
from toolsearchd.system.state_file import replacing

log = logging.getLogger(__name__)

_MAGIC = b"toolsearchd catalog\n"
_SECTION = struct.Struct(">QI")  # length, CRC-32
_QUIET_S = 5.0  # servers come up one by one; a catalog that keeps changing is written once it stops
_AT_LEAST_EVERY_S = 300.0  # … or after so long


class WarmCatalog:
    """`snapshot()`: the newest one. `settled()` runs in a thread when the catalog has been quiet."""

    def __init__(
        self,
        *,
        state_dir: Path,
        snapshot: Callable[[], Snapshot],
        settled: Callable[[], None],
        limits: Limits,
    ) -> None:
        self._path = state_dir / "catalog"
        self._snapshot = snapshot
        self._settled = settled
        self._limits = limits
        self._saved = Snapshot.empty()
        self._changed = Signal()

    def load(self) -> Snapshot:
        """The last catalog, empty where none can be read. Blocks: for the start, before any actor."""
        with guarded("reading the last catalog"):
            try:
                file = open_private(self._path)
                if file is not None:
                    with file:
                        self._saved = load_snapshot(_sections(file), self._limits.analysed_bytes)
            except (OSError, ValueError) as error:
                log.warning("%s is not used, tools are found as their servers come up: %s", self._path, error)
        return self._saved

    def changed(self) -> None:
        """There is a new snapshot."""
        self._changed.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Writes the catalog when it has been quiet, until cancelled; then once more."""
        task_status.started()
        try:
            while True:
                await self._changed.wait()
                with trio.move_on_after(_AT_LEAST_EVERY_S):
                    await self._quiet()
                await self._save()
                await trio.to_thread.run_sync(self._settled)
        finally:
            with trio.CancelScope(shield=True):
                await self._save()

    async def _quiet(self) -> None:
        while self._changed.is_set():
            self._changed.clear()
            with trio.move_on_after(_QUIET_S):
                await self._changed.wait()

    async def _save(self) -> None:
        snapshot = self._snapshot()
        slices = Slices(self._limits.compile_slice_s)
        if await _hold_the_same(self._saved, snapshot, slices):
            return
        try:
            with replacing(self._path) as file:
                await trio.to_thread.run_sync(file.write, _MAGIC)
                for section in dump_snapshot(snapshot, self._limits.analysed_bytes):
                    await slices.breathe()
                    if section is not None:
                        head = _SECTION.pack(len(section), zlib.crc32(section))
                        await trio.to_thread.run_sync(file.write, head + section)
        except OSError as error:
            log.warning("the catalog can't be kept, the next start begins without it: %s", error)
            return
        self._saved = snapshot


async def _hold_the_same(one: Snapshot, other: Snapshot, slices: Slices) -> bool:
    """Would both files say the same tools, found by the same words?"""
    if [(s.name, s.spec_digest, s.aliases) for s in one.sources] != [
        (s.name, s.spec_digest, s.aliases) for s in other.sources
    ] or {name: index.fingerprint for name, index in one.indexes.items()} != {
        name: index.fingerprint for name, index in other.indexes.items()
    }:
        return False
    for before, now in zip(one.sources, other.sources, strict=True):
        if before.definitions is not now.definitions and before.definitions != now.definitions:
            return False
        if before.withheld is not now.withheld and before.withheld != now.withheld:
            return False
        await slices.breathe()
    return True


def _sections(file: BinaryIO) -> Iterator[bytes]:
    """Raises ValueError for a file that is damaged or none of ours."""
    left = os.fstat(file.fileno()).st_size - len(_MAGIC)
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("it is no catalog of this daemon")
    while head := file.read(_SECTION.size):
        left -= len(head)
        if len(head) < _SECTION.size:
            raise ValueError("it ends in the middle")
        length, check = _SECTION.unpack(head)
        if length > left:  # memory is taken for what is there, not for what a damaged length says
            raise ValueError("it is damaged, or ends in the middle")
        section = file.read(length)
        left -= length
        if len(section) < length or zlib.crc32(section) != check:
            raise ValueError("it is damaged")
        yield section
