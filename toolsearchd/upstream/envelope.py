"""Which request does a line answer that can't be decoded? Reads the outermost keys only. Pure.

JSON-RPC servers write `id` before `result` (Python) or after it (TypeScript), so it stands in the line's head
or at its very end; what a tool wrote into its result never counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

EDGE = 4096  # bytes looked at, at each end

_TOKEN = re.compile(
    rb'\s*+(?:(?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<mark>[\[\]{},:])|(?P<word>[^\s\[\]{},:"]++))',
    re.DOTALL,
)
_ID = rb'(\d{1,18}|"(?:[^"\\]|\\.){1,200}")'
_ID_ALONE = re.compile(_ID)
_ID_AT_END = re.compile(rb'[,{]\s*"id"\s*:\s*' + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class Envelope(NamedTuple):
    """The outermost keys of a JSON object, as far as its head shows them."""

    keys: tuple[bytes, ...]
    request_id: int | str | None

    @property
    def is_request(self) -> bool:
        """It asks or tells something: it answers nothing."""
        return b'"method"' in self.keys

    @property
    def has_doubles(self) -> bool:
        return len(set(self.keys)) < len(self.keys)


def read_envelope(head: bytes) -> Envelope:
    """What the first bytes of an object show. Stops at a text or a number that the head cuts."""
    keys: list[bytes] = []
    request_id = None
    for key, value in _outermost(head):
        keys.append(key)
        if key == b'"id"' and request_id is None and _ID_ALONE.fullmatch(value):
            request_id = _decoded(value)
    return Envelope(tuple(keys), request_id)


def id_at_end(tail: bytes) -> int | str | None:
    """The id of an answer that closes with it. One closing brace: so it stands outermost."""
    match = _ID_AT_END.search(tail)
    return _decoded(match[1]) if match else None


def _outermost(head: bytes) -> list[tuple[bytes, bytes]]:
    """(key, first token of its value) at depth 1; the value is empty where the head cuts it."""
    found: list[tuple[bytes, bytes]] = []
    depth, at, wants_key, wants_value = 0, 0, False, False
    while match := _TOKEN.match(head, at):
        at = match.end()
        if match["word"] and at == len(head):
            break  # a number may go on: its beginning is another request's id
        token = match[0].strip()
        if wants_value and token != b":":
            found[-1] = (found[-1][0], token)
            wants_value = False
        elif wants_key and match["text"]:
            found.append((token, b""))
            wants_key, wants_value = False, True
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        if depth == 1 and token in (b",", b"{"):
            wants_key = True
    return found


def _decoded(token: bytes) -> int | str | None:
    try:
        value = msgspec.json.decode(token)
    except (msgspec.DecodeError, UnicodeError):
        return None
    return value if isinstance(value, int | str) else None
