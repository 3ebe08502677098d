"""A cache of what was used last, up to a number of bytes."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K")
V = TypeVar("V", bound=Sized)


class Cache(Generic[K, V]):
    """Past the limit, what was not used for longest goes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._held = 0
        self._items: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._items.pop(key, None)
        if found is not None:
            self._items[key] = found  # the newest again
        return found

    def put(self, key: K, value: V) -> V:
        self._items[key] = value
        self._held += value.nbytes
        while self._held > self._limit and len(self._items) > 1:
            oldest = self._items.pop(next(iter(self._items)))
            self._held -= oldest.nbytes
        return value
