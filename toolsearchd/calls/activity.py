"""The live activity feed: one event per step, with real tool names, to whoever watches. Never waits.

An event that a subscriber can't take now is dropped for that subscriber and counted by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolsearchd.protocol.events import ActivityStep
from toolsearchd.system.guard import guarded

Subscriber = Callable[[ActivityStep], None]


class Activity:
    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """`subscriber(event)` for each event from now on; returns what ends it."""
        self._subscribers.add(subscriber)
        return lambda: self._subscribers.discard(subscriber)

    def publish(self, step: str, **fields: Any) -> None:
        if not self._subscribers:
            return
        event = ActivityStep(step=step, **fields)
        for subscriber in tuple(self._subscribers):
            with guarded("telling the live feed"):
                subscriber(event)
