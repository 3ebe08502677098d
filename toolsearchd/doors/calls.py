"""One request of the client on its way: its progress, what the client is asked meanwhile, then its reply."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import trio

from toolsearchd.records import WireRecord
from toolsearchd.system.signal import Signal

_KEPT = 64  # progress reports not sent yet; of more, the oldest are dropped


Reply = WireRecord | dict[str, Any] | Exception


class Progress(NamedTuple):
    progress: float
    total: float | None
    message: str | None


Asked = Mapping[str, tuple[str, Mapping[str, Any]]]
"""What is asked at once: by its key, (method, params)."""


class ElicitedQuestions:
    """What a server asks at once for the call; `answer` once, by their keys."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._answered = trio.Event()
        self._answers: Any = None

    def answer(self, answers: Any) -> None:
        self._answers = answers
        self._answered.set()

    async def wait_answers(self) -> dict[str, Any]:
        await self._answered.wait()
        return self._answers if isinstance(self._answers, dict) else {}


class PendingCall:
    """`deliver` and `report` are for who works at it to call; `next_news` and `reply` the door's to read."""

    def __init__(self, subject: tuple[str, ...] = (), capabilities: Any = None) -> None:
        """`subject`: what is asked for, by method and name. `capabilities`: the client's, where its revision
        says them with each request."""
        self.subject = subject
        self.capabilities = capabilities
        self.stop: Callable[[], None] = lambda: None
        self.reply: Reply | None = None
        self.abandoned = False  # its request was cancelled: whatever comes is not to be sent
        self._reports: deque[Progress] = deque(maxlen=_KEPT)
        self._questions: deque[ElicitedQuestions] = deque()
        self._reached = float("-inf")
        self._news = Signal()

    def deliver(self, reply: Reply) -> None:
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

    async def ask(self, asked: Asked) -> dict[str, Any]:
        """The client's answers, by the same keys, as far as it gives some; however many rounds away.
        Cancelled, it is not asked any more."""
        question = ElicitedQuestions(asked)
        self._questions.append(question)
        self._news.set()
        try:
            return await question.wait_answers()
        finally:
            if question in self._questions:
                self._questions.remove(question)

    async def next_news(self) -> Progress | ElicitedQuestions | None:
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
