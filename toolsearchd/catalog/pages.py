"""A list that comes in pages: when to ask for the next one, and what of it is too much. Pure; bytes are the
sender's JSON."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from toolsearchd.limits import Limits

_NUMBER_BITS = 64


class Pages:
    """`turn` after each page. `cut`: why the list was not read to its end; empty: it was, or may be yet."""

    def __init__(self, limits: Limits, max_bytes: int) -> None:
        """`max_bytes`: of all items together."""
        self._limits = limits
        self._room = max_bytes
        self._max_bytes = max_bytes
        self._seen: set[bytes] = set()  # digests: a cursor may be as long as a line
        self._read = 0
        self.cut = ""

    def admits(self, size: int) -> bool:
        """Does the next item, of so many bytes, still find room? The first that does not ends the list."""
        self._room -= size
        if self._room < 0:
            self.cut = self.cut or f"its list takes more than {self._max_bytes >> 20} MiB"
        return not self.cut

    def turn(self, cursor: Any) -> str | float | None:
        """The cursor to go on with, as the page gave it: text, the empty one too, or a number. None where the
        list ends, or is to be cut there."""
        self._read += 1
        if self.cut or isinstance(cursor, bool) or not isinstance(cursor, str | int | float):
            return None
        if isinstance(cursor, str) and len(cursor) > self._limits.cursor_chars:
            self.cut = f"a cursor of {len(cursor):,} characters; {self._limits.cursor_chars:,} are accepted"
            return None
        if isinstance(cursor, int) and cursor.bit_length() > _NUMBER_BITS:
            self.cut = f"a cursor that is a number of {cursor.bit_length():,} bits"
            return None
        text = f"{type(cursor).__name__} {cursor}"
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self._seen:  # it goes round in a circle: all was read
            return None
        self._seen.add(digest)
        if self._read >= self._limits.list_pages:
            self.cut = f"its list has more than {self._limits.list_pages} pages"
            return None
        return cursor


def json_bytes(value: Any) -> int | None:
    """What a decoded value takes as JSON; None where it has no such form."""
    try:
        return len(msgspec.json.encode(value))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
