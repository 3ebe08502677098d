"""Newline-delimited JSON text, taken apart: bytes in, lines out. Never a socket, never a decoder."""

from __future__ import annotations

import json
from collections.abc import Iterator


class LineDecoder:
    """Collects received bytes and hands out whole lines, without their ends.

    A line over `max_bytes` is skipped to its end and handed out as None: the peer can be told, and the
    stream goes on after it. No more than `max_bytes` and one read are held.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._scanned = 0  # bytes known to hold no newline
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        buffer = self._buffer
        buffer += data
        while (end := buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            self._scanned = 0
            if self._skipping:
                self._skipping = False  # the end of a line that was reported already
            elif len(line) > self._max_bytes:
                yield None
            elif line.strip():
                yield line
        self._scanned = len(buffer)
        if len(buffer) > self._max_bytes:
            buffer.clear()
            self._scanned = 0
            if not self._skipping:
                self._skipping = True
                yield None


def mend(line: bytes) -> bytes | None:
    """The line with what is no Unicode replaced, or None where it is no JSON object even so.

    Clients cut texts in the middle of a surrogate pair and send its half: the standard decoder takes it,
    stricter ones refuse the whole message.
    """
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")


def id_in(line: bytes) -> int | str | None:
    """The request id that an unusable message bears, so that its sender can be told which one failed."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None
