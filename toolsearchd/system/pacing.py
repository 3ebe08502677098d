"""Long work in the loop, in pieces: what `compile_slice_s` and `turn_s` are for."""

from __future__ import annotations

import time

import trio


class Slices:
    """Lets other tasks run after each `slice_s` seconds of work."""

    def __init__(self, slice_s: float) -> None:
        self._slice_s = slice_s
        self._until = time.perf_counter() + slice_s

    async def breathe(self) -> None:
        """A checkpoint, if the slice is used up."""
        if time.perf_counter() >= self._until:
            await trio.lowlevel.checkpoint()
            self._until = time.perf_counter() + self._slice_s
