"""Lines out of a stream of bytes, within a bound. Pure; time grows with the bytes, however they are cut.

Standard library only, and little of it: the relay runs in every agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """Of a line that is over the bound: what came of it, as it came."""

    data: bytes
    begins: bool  # the first of its line, and longer than the bound
    ends: bool


class LineSplitter:
    """No more than `max_bytes` and a chunk are held."""

    __slots__ = ("_is_long", "_max_bytes", "_rest")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest = bytearray()  # of a line that has not ended
        self._is_long = False  # its beginning was handed out already

    def feed(self, chunk: bytes) -> Iterator[bytes | Piece]:
        """Each line that ends in `chunk`, without its end; of a line over the bound its pieces. To be
        iterated to the end before the next chunk."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield self._ended(end)
        if rest and self._is_long:
            yield Piece(rest, begins=False, ends=False)
        elif rest:
            self._rest += rest
            if len(self._rest) > self._max_bytes:
                self._is_long = True
                yield Piece(self.take_rest(), begins=True, ends=False)

    def take_rest(self) -> bytes:
        """What came of the line that has not ended, but for the pieces that were handed out."""
        rest, self._rest = bytes(self._rest), bytearray()
        return rest

    def _ended(self, end: bytes) -> bytes | Piece:
        if self._is_long:
            self._is_long = False
            return Piece(end, begins=False, ends=True)
        if self._rest:
            self._rest += end
            end = self.take_rest()
        return end if len(end) <= self._max_bytes else Piece(end, begins=True, ends=True)
