"""Bytes of a stdio server → lines of JSON. Pure; never holds more than the line limit and a chunk."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from toolsearchd.catalog.definition import clip_depth, json_depth
from toolsearchd.limits import Limits

_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"(?:[^"\\]|\\.){1,200}")')
_EDGE = 4096  # bytes kept of an over-long line, at its head and at its end, to find the id in


class Message(NamedTuple):
    """A JSON object that a server sent, decoded."""

    fields: dict[str, object]


class Lost(NamedTuple):
    """A line that can't be used but answers a request: that request fails now instead of running out."""

    request_id: int | str
    reason: str  # "too large" | "bad"


class LineReader:
    """`feed` chunks, get messages. `junk` counts lines that are none, `too_long` those over the limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self._first = True
        self._head = b""
        self._tail = b""
        self.junk = 0
        self.too_long = 0

    def feed(self, chunk: bytes) -> list[Message | Lost]:
        found: list[Message | Lost] = []
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            found += self._end_line(end)
        if rest:
            self._collect(rest)
        return found

    def _collect(self, part: bytes) -> None:
        self._size += len(part)
        if self._skipping:
            self._tail = (self._tail + part)[-_EDGE:]
        elif self._size > self._limits.line_bytes:
            whole = b"".join(self._parts) + part
            self._head, self._tail = whole[:_EDGE], whole[-_EDGE:]
            self._parts, self._skipping = [], True
        else:
            self._parts.append(part)

    def _end_line(self, end: bytes) -> list[Message | Lost]:
        if self._skipping or self._size + len(end) > self._limits.line_bytes:
            self._collect(end)
            lost = self._too_long()
            self._reset()
            return lost
        line = b"".join(self._parts) + end if self._parts else end
        self._reset()
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        return self._decode(line)

    def _reset(self) -> None:
        self._parts, self._size, self._skipping = [], 0, False

    def _too_long(self) -> list[Message | Lost]:
        self.too_long += 1
        # The id stands beside `result`, so at one of the line's edges, outside of what the tool wrote.
        head = self._head.partition(b'"result"')[0]
        match = _ID.search(head) or _last(_ID, self._tail.rpartition(b"}")[0])
        return [Lost(msgspec.json.decode(match[1]), "too large")] if match else []

    def _decode(self, line: bytes) -> list[Message | Lost]:
        stripped = line.strip()
        if not stripped:
            return []
        if stripped[:1] != b"{":
            self.junk += 1
            return []
        depth = self._limits.schema_depth
        if json_depth(stripped, depth) > depth:
            stripped = clip_depth(stripped, depth)
        try:
            value = msgspec.json.decode(stripped)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.junk += 1
            match = _ID.search(stripped[:_EDGE].partition(b'"result"')[0]) or _last(_ID, stripped[-_EDGE:])
            return [Lost(msgspec.json.decode(match[1]), "bad")] if match else []
        return [Message(value)]


def _last(pattern: re.Pattern[bytes], data: bytes) -> re.Match[bytes] | None:
    matches = list(pattern.finditer(data))
    return matches[-1] if matches else None
