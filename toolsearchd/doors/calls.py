"""One call of the session on its way: its progress, then its reply."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import trio

_KEPT = 64  # progress reports not sent yet; of more, the oldest are dropped


class Progress(NamedTuple):
    progress: float
    total: float | None
    message: str | None


class PendingCall:
    """`deliver` and `report` are the session's to call; `next_progress` and `reply` the door's to read."""

    def __init__(self) -> None:
        self.reply: dict[str, Any] | None = None
        self.abandoned = False  # its request was cancelled: whatever comes is not to be sent
        self._reports: deque[Progress] = deque(maxlen=_KEPT)
        self._reached = float("-inf")
        self._news = trio.Event()

    def deliver(self, reply: dict[str, Any]) -> None:
        self.reply = reply
        self._news.set()

    def report(self, entry: Any, progress: float, total: float | None, message: str | None) -> None:
        """Progress of an entry as progress of the batch: with several entries, each counts for one."""
        entries = len(entry.batch.entries)
        if entries > 1:
            share = min(progress / total, 1.0) if total else 0.0
            progress, total = entry.index + share, float(entries)
            message = f"{entry.name}: {message}" if message else entry.name
        if progress > self._reached:  # MCP: it must increase
            self._reached = progress
            self._reports.append(Progress(progress, total, message))
            self._news.set()

    async def next_progress(self) -> Progress | None:
        """The next report, or None when the reply is there. An abandoned call never returns from here."""
        while True:
            if self.abandoned:
                await trio.sleep_forever()
            if self._reports:
                return self._reports.popleft()
            if self.reply is not None:
                return None
            self._news = trio.Event()
            await self._news.wait()
