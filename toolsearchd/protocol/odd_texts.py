"""Texts in a MessagePack payload that are no UTF-8, read as the bytes that they are. Pure.

An agent may send half of a surrogate pair, as its model's cut text: the decoder refuses the whole frame. With
those texts as bytes it can be read, and what they stand in is refused by itself, with its place.
"""

from __future__ import annotations

_MOST_ITEMS = 50_000  # looked at, some 50 ms: a frame that has more and is odd is refused as a whole

# Bytes of a header that say a length, by its first byte.
_TEXTS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_BINARY = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}
# Bytes behind the first one, of what has no length of its own.
_FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_FIXED |= {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}


def odd_texts_as_bytes(payload: bytes) -> bytes | None:
    """The payload with each such text as binary; None where there is none, or it is too long to be looked
    through, or ends too soon."""
    made: list[bytes] = []
    kept = 0  # where what was not copied yet begins
    at = 0
    for _ in range(_MOST_ITEMS):
        if at >= len(payload):
            return b"".join([*made, payload[kept:]]) if made and at == len(payload) else None
        first = payload[at]
        if 0xA0 <= first <= 0xBF:
            body, size = at + 1, first & 0x1F
        elif first in _TEXTS:
            body, size = _length(payload, at, _TEXTS[first])
        else:
            at = _end(payload, at, first)
            continue
        text = payload[body : body + size]
        if not _is_utf8(text):
            made += [payload[kept:at], b"\xc6", len(text).to_bytes(4, "big"), text]
            kept = body + size
        at = body + size
    return None


def _end(payload: bytes, at: int, first: int) -> int:
    """Where the item at `at` ends; of a list or map, where its first item begins."""
    if first in _BINARY:
        return sum(_length(payload, at, _BINARY[first]))
    if first in _EXTENSIONS:
        return sum(_length(payload, at, _EXTENSIONS[first])) + 1
    if first in _LISTS:
        return at + 1 + _LISTS[first]
    if first in _MAPS:
        return at + 1 + _MAPS[first]
    return at + 1 + _FIXED.get(first, 0)


def _length(payload: bytes, at: int, size: int) -> tuple[int, int]:
    """(where its body begins, how long that is)."""
    body = at + 1 + size
    return body, int.from_bytes(payload[at + 1 : body], "big")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
