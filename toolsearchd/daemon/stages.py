"""The daemon's actors, started one after the other and stopped in reverse."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import trio

log = logging.getLogger(__name__)

Run = Callable[..., Awaitable[Any]]


class Stages:
    """The started actors, in order. Each has a scope of its own, so that they can be stopped one by one."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._started: list[tuple[str, trio.CancelScope, trio.Event]] = []

    async def start(self, name: str, run: Run) -> None:
        """Returns when the actor is at work. What escapes it ends the nursery."""
        scope, ended = trio.CancelScope(), trio.Event()

        async def body(*, task_status: trio.TaskStatus[None]) -> None:
            try:
                with scope:
                    await run(task_status=task_status)
            finally:
                ended.set()

        await self._nursery.start(body, name=name)
        self._started.append((name, scope, ended))

    async def stop_all(self) -> None:
        """Last started, first stopped; each has ended before the one before it is told."""
        for name, scope, ended in reversed(self._started):
            scope.cancel()
            await ended.wait()
            log.debug("%s stopped", name)


def after(event: trio.Event, run: Run) -> Run:
    """An actor that counts as started now and begins after `event`."""

    async def waiting(*, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await event.wait()
        await run()

    return waiting
