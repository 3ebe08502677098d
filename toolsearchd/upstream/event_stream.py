"""Bytes of a server-sent event stream → events, as WHATWG's HTML has them (§9.2.6). Pure; bounded.

One thing is taken more generously: what stands before the stream's end is an event without its blank line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from toolsearchd.system.lines import LineSplitter, Piece
from toolsearchd.upstream.envelope import EDGE

_BOM = b"\xef\xbb\xbf"
_FIELD_BYTES = 1024  # of an event's name, id and retry


class StreamEvent(NamedTuple):
    """`data`: its lines joined by line feeds, or, where they are over the bound, their first bytes;
    `tail`: then the last ones."""

    data: bytes
    fields: dict[bytes, bytes]  # `event`, `id`, `retry`, those that stand there
    tail: bytes | None = None

    def encoded(self, data: bytes) -> bytes:
        """The event with other data, as bytes of a stream."""
        lines = [b"%s: %s\n" % field for field in self.fields.items()]
        lines += [b"data: %s\n" % line for line in data.split(b"\n")]
        return b"".join((*lines, b"\n"))


class EventReader:
    """`feed` chunks, then `finish`. No more than `max_bytes` of data and a chunk are held."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lines = LineSplitter(max_bytes)
        self._first = True
        self._after_cr = False  # a line feed that comes next belongs to the end of line before
        self._forget()

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        """The events that end in `chunk`. To be iterated to the end before the next chunk."""
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        elif not chunk:
            return
        self._after_cr = chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        for item in self._lines.feed(chunk):
            if isinstance(item, Piece):
                self._take_piece(item)
            elif item and not (self._first and item == _BOM):
                self._take_line(item.removeprefix(_BOM) if self._first else item)
            else:
                yield from self._ended()
            self._first = False

    def finish(self) -> Iterator[StreamEvent]:
        """The event that the stream's end cut off from its blank line."""
        rest = self._lines.take_rest()
        if rest:
            self._take_line(rest.removeprefix(_BOM) if self._first else rest)
        yield from self._ended()

    def _forget(self) -> None:
        self._data = bytearray()
        self._fields: dict[bytes, bytes] = {}
        self._has_data = False
        self._tail: bytes | None = None
        self._in_data = False  # the line that comes in pieces is one of data

    def _ended(self) -> Iterator[StreamEvent]:
        data, fields, tail, has_data = bytes(self._data), self._fields, self._tail, self._has_data
        self._forget()
        if has_data:
            yield StreamEvent(data if tail is not None else data[:-1], fields, tail)

    def _take_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value + b"\n")
        elif name in (b"event", b"id", b"retry") and len(value) <= _FIELD_BYTES:
            self._fields[name] = value

    def _take_piece(self, piece: Piece) -> None:
        data = piece.data
        if piece.begins:
            self._in_data = data.startswith(b"data:")
            data = data[5:]
        if self._in_data:
            self._has_data = True
            self._cut(data)

    def _add(self, value: bytes) -> None:
        self._has_data = True
        if self._tail is not None or len(self._data) + len(value) > self._max_bytes + 1:
            self._cut(value)
        else:
            self._data += value

    def _cut(self, more: bytes) -> None:
        """Too much: only the beginning and the end are kept, which say whom it answers."""
        before = bytes(self._data[-EDGE:]) if self._tail is None else self._tail
        self._data = self._data[:EDGE] or bytearray(more[:EDGE])
        self._tail = (before + more[-EDGE:])[-EDGE:]
