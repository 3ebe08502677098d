"""Bytes of a stdio server → JSON-RPC messages. Pure; never holds more than the line limit and a chunk.

A line that can't be used costs itself: it is counted, and where it answers a request that request is named,
so that its caller hears at once instead of running into a timeout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from toolsearchd.catalog.definition import ENVELOPE_DEPTH, clip_depth, json_depth
from toolsearchd.limits import Limits
from toolsearchd.system.lines import LineSplitter, Piece
from toolsearchd.upstream.envelope import EDGE, id_at_end, read_envelope

_LINE_COST = 64  # a short line costs as much time as this many bytes
_JUNK_CHARS = 500  # of the first line that is no message: it mostly says why there are none
_BOM = b"\xef\xbb\xbf"
_decoder = msgspec.json.Decoder(dict[str, Any])


class Message(NamedTuple):
    """A JSON object that a server sent, and the bytes it was decoded from."""

    fields: dict[str, Any]
    line: bytes


class Lost(NamedTuple):
    """A line that can't be used but answers a request: that request fails now."""

    request_id: int | str | None  # None: some request, it can't be seen which
    reason: Literal["too large", "too deep", "bad"]


class LineReader:
    """`feed` chunks, iterate messages. `junk` counts lines that are none, `too_long` those over the limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._depth = depth_bound(limits)
        self._lines = LineSplitter(limits.line_bytes)
        self._answers = False  # the line that is too long was reported already, or answers nothing
        self._tail = b""
        self._first = True
        self._heard = False
        self._dropped_bytes = 0  # since the last message
        self.junk = 0
        self.first_junk = ""  # the beginning of the first such line, as it came
        self.too_long = 0

    @property
    def has_spoken(self) -> bool:
        """There was a message."""
        return self._heard

    @property
    def complaint(self) -> str:
        """Why this output is to be given up; empty while it is not."""
        bound = self._limits.junk_bytes if self._heard else self._limits.line_bytes
        if self._dropped_bytes <= bound:
            return ""
        return f"its output is no MCP: more than {bound >> 20} MiB without a message"

    def feed(self, chunk: bytes) -> Iterator[Message | Lost | None]:
        """One item per line that ends in `chunk` (None: nothing to do for it), and one for a line that grew
        too long. To be iterated to its end before the next chunk."""
        for item in self._lines.feed(chunk):
            found = self._skip(item) if isinstance(item, Piece) else self._decode(self._without_bom(item))
            if not isinstance(item, Piece) or item.ends:
                self._first = False
            yield found

    def _skip(self, piece: Piece) -> Lost | None:
        """Of a line that is too long. It is told of as soon as it is, if its head says whom it answers, else
        when it ends."""
        self._dropped_bytes += len(piece.data)
        told = self._begin_skipping(piece.data) if piece.begins else None
        self._tail = (self._tail + piece.data[-EDGE:])[-EDGE:]
        if piece.ends and told is None and not self._answers:
            return Lost(id_at_end(self._tail), "too large")
        return told

    def _begin_skipping(self, data: bytes) -> Lost | None:
        self.too_long += 1
        self._tail = b""
        envelope = read_envelope(self._without_bom(data[:EDGE]))
        if not envelope.keys:
            self._note_junk(data[:EDGE])
        self._answers = envelope.is_request or not envelope.keys or envelope.request_id is not None
        if envelope.is_request or envelope.request_id is None:
            return None
        return Lost(envelope.request_id, "too large")

    def _without_bom(self, line: bytes) -> bytes:
        return line.removeprefix(_BOM) if self._first else line

    def _decode(self, line: bytes) -> Message | Lost | None:
        found = read_message(line, self._depth)
        if isinstance(found, Message):
            self._heard, self._dropped_bytes = True, 0
        else:
            self._note_junk(line)
            self._dropped_bytes += len(line) + _LINE_COST
        return found

    def _note_junk(self, line: bytes) -> None:
        if line and not line.isspace():
            self.junk += 1
            self.first_junk = (
                self.first_junk or line[: 4 * _JUNK_CHARS].decode("utf-8", "replace")[:_JUNK_CHARS]
            )


def depth_bound(limits: Limits) -> int:
    """How deep a message may nest: a tool's schema, and what stands around it in a listing."""
    return limits.schema_depth + ENVELOPE_DEPTH


def read_message(line: bytes, max_depth: int) -> Message | Lost | None:
    """The message in a line; or whom a line that can't be used answers; or nothing.

    Too deep a schema in a listing is cut and costs that schema only; any other answer that nests too deeply
    is lost, for a part of it would pass for the whole.
    """
    line = line.strip()
    if line[:1] == b"[":
        line = _only_one_of(line)
    if line[:1] != b"{":
        return None
    is_deep = json_depth(line, max_depth) > max_depth
    if is_deep:
        line = clip_depth(line, max_depth)
    try:
        fields = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        odd = _decode_odd_values(line)
        if odd is None:
            return _answered_by(line)
        fields = odd
    if line[:EDGE].count(b'"id"') > 1 and read_envelope(line[:EDGE]).has_doubles:
        return None  # which of the two is meant can't be known
    if is_deep and not _is_listing(fields) and "method" not in fields:
        request_id = fields.get("id")
        return Lost(request_id, "too deep") if isinstance(request_id, int | str) else None
    return Message(fields, line)


def _only_one_of(batch: bytes) -> bytes:
    """The message of a batch of one; nothing where it is none."""
    try:
        (only,) = msgspec.json.decode(batch, type=list[msgspec.Raw])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return b""
    return bytes(only)


def _decode_odd_values(line: bytes) -> dict[str, Any] | None:
    """JSON but for its values: half characters, NaN, numbers past all bounds. They stay in what is returned
    as Python has them (an integer of thousands of digits as text); None where it is no JSON at all."""
    try:
        value = json.loads(line.decode(), parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _integer(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:  # more digits than Python reads
        return digits


def _is_listing(fields: dict[str, Any]) -> bool:
    """A tools/list answer: too deep a schema in it costs that schema only."""
    result = fields.get("result")
    return isinstance(result, dict) and isinstance(result.get("tools"), list)


def _answered_by(line: bytes) -> Lost | None:
    """Whom a line that is no JSON answers, if anyone."""
    envelope = read_envelope(line[:EDGE])
    if envelope.is_request:
        return None
    request_id = envelope.request_id if envelope.request_id is not None else id_at_end(line[-EDGE:])
    return Lost(request_id, "bad") if request_id is not None else None
