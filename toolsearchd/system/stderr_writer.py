"""Writes the daemon's stderr from a thread of its own: a pipe that nobody reads stops that thread alone.

Everything that goes to `sys.stderr` passes here, log lines, warnings and tracebacks alike. What does not fit
while nobody reads is dropped and counted; the count is written once there is room. A stderr that is closed
costs its lines and nothing else.
"""

from __future__ import annotations

import atexit
import io
import os
import queue
import select
import sys
import threading
import time

from toolsearchd.records import Finding

LINES = 500  # that wait: a start with every server failing writes a hundred …
LINE_CHARS = 16_384  # … and a traceback through the daemon has 5,000: 8 MiB at most, when nobody reads
FLUSH_S = 1.0  # at the end, for a reader that is merely slow


class StderrWriter:
    """`fd` stays open and is written by the thread alone. `start` before the first line."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = fd
        self._lines: queue.Queue[str] = queue.Queue(LINES)
        self._told = 0  # of the dropped, those the reader has been told of
        self.dropped = 0
        self.stream = _Lines(self)

    def start(self) -> None:
        """Takes `sys.stderr`'s place until the process ends. A standard descriptor that is closed leads to
        nowhere from now on, or the next file opened would bear its number and get the log."""
        while (fd := os.open(os.devnull, os.O_RDWR)) <= self._fd:
            os.set_inheritable(fd, True)
        os.close(fd)
        threading.Thread(target=self._write_all, name="stderr", daemon=True).start()
        atexit.register(self.flush)
        sys.stderr = self.stream

    def put(self, line: str) -> None:
        """Never waits."""
        try:
            self._lines.put_nowait(line[:LINE_CHARS])
        except queue.Full:
            self.dropped += 1

    def flush(self, within_s: float = FLUSH_S) -> None:
        """Waits, so long at most, until everything has been written."""
        self.stream.flush()
        deadline = time.monotonic() + within_s
        while self._lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.005)

    def findings(self) -> list[Finding]:
        """For `status` and `doctor`."""
        if not self.dropped:
            return []
        return [
            Finding(
                level="warning",
                about="stderr",
                message=f"{self.dropped} lines of the log were dropped: nobody read the daemon's stderr",
                mend="start the daemon with its stderr in a file or the journal",
                kind="log-dropped",
            )
        ]

    def _write_all(self) -> None:
        while True:
            line = self._lines.get()
            if self._write(line) and (new := self.dropped - self._told):
                self._told += new
                self._write(f"WARNING toolsearchd: {new} lines were dropped here: nobody read stderr")
            self._lines.task_done()

    def _write(self, line: str) -> bool:
        """False where the line is lost."""
        view = memoryview((line + "\n").encode("utf-8", "backslashreplace"))
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:  # somebody made the pipe non-blocking
                select.select([], [self._fd], [], 1.0)
            except OSError:  # closed, or its reader is gone: said nowhere, for there is nowhere
                self.dropped += 1
                return False
        return True


class _Lines(io.TextIOBase):
    """`sys.stderr` for whoever prints to it."""

    def __init__(self, writer: StderrWriter) -> None:
        self._writer = writer
        self._begun = ""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            self._writer.put(line)
        if len(self._begun) > LINE_CHARS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        begun, self._begun = self._begun, ""
        if begun:
            self._writer.put(begun)
