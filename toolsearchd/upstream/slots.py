"""A server's concurrency, shared fairly: whoever waits for it has their turn, however much others ask.

Callers are served round robin, the calls of one caller in the order in which they came.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import trio


class FairSlots:
    def __init__(self, total: int) -> None:
        self._total = total
        self._held = 0
        self._waiting: OrderedDict[Hashable, deque[trio.Event]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        self._total = total
        self._grant()

    @asynccontextmanager
    async def held(self, caller: Hashable) -> AsyncIterator[None]:
        """A slot. Cancelling the wait leaves nothing behind."""
        if self._held < self._total and not self._waiting:
            self._held += 1
        else:
            await self._wait_turn(caller)
        try:
            yield
        finally:
            self._held -= 1
            self._grant()

    async def _wait_turn(self, caller: Hashable) -> None:
        turn = trio.Event()
        self._waiting.setdefault(caller, deque()).append(turn)
        try:
            await turn.wait()
        except trio.Cancelled:
            if turn.is_set():
                self._held -= 1
                self._grant()
            else:
                self._leave(caller, turn)
            raise

    def _leave(self, caller: Hashable, turn: trio.Event) -> None:
        turns = self._waiting[caller]
        turns.remove(turn)
        if not turns:
            del self._waiting[caller]

    def _grant(self) -> None:
        while self._waiting and self._held < self._total:
            caller, turns = self._waiting.popitem(last=False)
            self._held += 1
            turns.popleft().set()
            if turns:
                self._waiting[caller] = turns  # behind all others
