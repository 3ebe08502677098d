"""Which sessions listen to which resource: a server is told once, and again when the last one leaves."""

from __future__ import annotations

from typing import NamedTuple


class Watch(NamedTuple):
    server: str
    uri: str  # as its server writes it


class Watches:
    """Shared by all sessions of the door."""

    def __init__(self) -> None:
        self._listening: dict[Watch, set[object]] = {}

    def add(self, watch: Watch, who: object) -> None:
        self._listening.setdefault(watch, set()).add(who)

    def has(self, watch: Watch, who: object) -> bool:
        return who in self._listening.get(watch, ())

    def remove(self, watch: Watch, who: object) -> bool:
        """True where nobody listens any more."""
        listening = self._listening.get(watch, set())
        listening.discard(who)
        if not listening:
            self._listening.pop(watch, None)
        return not listening

    def drop(self, who: object) -> list[Watch]:
        """What nobody listens to any more, now that `who` left."""
        mine = [watch for watch, listening in self._listening.items() if who in listening]
        return [watch for watch in mine if self.remove(watch, who)]
