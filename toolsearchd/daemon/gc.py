"""Keeps what lives long out of the garbage collector's sight.

A full collection walks every container there is, while nothing else runs: 100 ms for the modules and 20,000
tools. What was frozen is still freed by its reference count; only cycles in it stay, so it is done seldom.
"""

from __future__ import annotations

import ctypes
import gc

from toolsearchd.index.mapped import let_go

_GROWTH = 1.25  # of the catalog since the last time; fewer new tools are not worth it
_TOOLS = 1_000
_M_MMAP_THRESHOLD = -3  # of malloc.h
_LARGE_BYTES = 256 * 1024


class Heap:
    """Tell it when the start is over, how large each snapshot is, and when things are quiet."""

    def __init__(self) -> None:
        self._tools = 0
        libc = ctypes.CDLL(None)
        self._malloc_trim = getattr(libc, "malloc_trim", None)  # musl has none
        if (mallopt := getattr(libc, "mallopt", None)) is not None:
            # Large blocks go back to the system when they are freed. By default the first large one that is
            # freed raises the bound to its size, and results of 8 MiB leave holes in the heap from then on.
            mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)

    def started(self) -> None:
        """Imports and tables are done with: they stay until the end. Collections begin, if they were off."""
        gc.freeze()
        gc.enable()

    def holds(self, tools: int) -> None:
        """A snapshot of so many tools is in force now."""
        if tools > self._tools * _GROWTH + _TOOLS:
            self._tools = tools
            gc.collect(1)
            gc.freeze()

    def trim(self) -> None:
        """Gives free memory back, a third of a large compile, and the tables' pages. 10 ms: for a thread."""
        let_go()
        if self._malloc_trim is not None:
            self._malloc_trim(0)
