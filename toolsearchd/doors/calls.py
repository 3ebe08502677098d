"""One call of the session on its way: its progress, what it is asked meanwhile, then its reply."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import trio

from toolsearchd.errors import ToolsearchdError
from toolsearchd.records import WireRecord
from toolsearchd.system.signal import Signal

_KEPT = 64  # progress reports not sent yet; of more, the oldest are dropped


class Progress(NamedTuple):
    progress: float
    total: float | None
    message: str | None


class ElicitedQuestion:
    """What a server asks for the call; `answer` once."""

    def __init__(self, method: str, params: Mapping[str, Any]) -> None:
        self.method = method
        self.params = params
        self._answered = trio.Event()
        self._answer: Any = None

    def answer(self, answer: Any) -> None:
        self._answer = answer
        self._answered.set()

    async def wait_answer(self) -> Any:
        await self._answered.wait()
        return self._answer


class PendingCall:
    """`deliver` and `report` are the session's to call; `next_news` and `reply` the door's to read."""

    def __init__(self, capabilities: Any = None) -> None:
        """`capabilities`: the client's, where its revision says them with each request."""
        self.capabilities = capabilities
        self.reply: WireRecord | ToolsearchdError | None = None
        self.abandoned = False  # its request was cancelled: whatever comes is not to be sent
        self._reports: deque[Progress] = deque(maxlen=_KEPT)
        self._questions: deque[ElicitedQuestion] = deque()
        self._reached = float("-inf")
        self._news = Signal()

    def deliver(self, reply: WireRecord | ToolsearchdError) -> None:
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

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """The client's answer, however many rounds away. Cancelled, it is not asked any more."""
        question = ElicitedQuestion(method, params)
        self._questions.append(question)
        self._news.set()
        try:
            return await question.wait_answer()
        finally:
            if question in self._questions:
                self._questions.remove(question)

    async def next_news(self) -> Progress | ElicitedQuestion | None:
        """The next report or question, or None when the reply is there. An abandoned call never returns."""
        while True:
            if self.abandoned:
                await trio.sleep_forever()
            if self._reports:
                return self._reports.popleft()
            if self._questions:
                return self._questions.popleft()
            if self.reply is not None:
                return None
            await self._news.wait_next()
