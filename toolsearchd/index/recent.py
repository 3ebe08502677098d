"""A cache of what was used last, up to a number of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
        self.drop([key])
        self._items[key] = value
        self._held += value.nbytes
        while self._held > self._limit and len(self._items) > 1:
            oldest = self._items.pop(next(iter(self._items)))
            self._held -= oldest.nbytes
        return value

    def drop(self, keys: Iterable[K]) -> None:
        """These are not wanted any more, where they are there."""
        for key in keys:
            gone = self._items.pop(key, None)
            if gone is not None:
                self._held -= gone.nbytes

    def clear(self) -> None:
        self._items.clear()
        self._held = 0

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._items))

    @property
    def nbytes(self) -> int:
        """Of all that is kept."""
        return self._held
