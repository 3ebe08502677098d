"""Token counts that are known, of one encoding: what the worker process counted is not counted again.

Kept by the text's digest on the disk, so that a start counts nothing that was counted before; in memory by
the text itself where that is short, since the listing's lines are held anyway. Bounded, but never below what
one catalog needs; the oldest go first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from toolsearchd.disclosure.tokens import UncountedError

MOST_COUNTS = 100_000  # listing lines and schemas of 30,000 tools; 2 MB on the disk
_SHORT = 256  # characters
_DIGEST_BYTES = 12  # a collision gives a listing some tokens too many: one in 10^19 at this size
_CHECK_BYTES = 16

Key = str | bytes


class _Stored(msgspec.Struct, array_like=True):
    fingerprint: str  # of the vocabulary and the way of counting
    counts: dict[bytes, Annotated[int, Meta(ge=0)]]


_decoder = msgspec.msgpack.Decoder(_Stored)


class KnownCounts:
    """Called with a text it gives its tokens, or raises `UncountedError`."""

    def __init__(
        self, fingerprint: str, *, most: int = MOST_COUNTS, below: KnownCounts | None = None
    ) -> None:
        """`fingerprint`: counts under another are not taken from the disk. `below`: known too, and learns
        nothing of what is learnt here."""
        self._fingerprint = fingerprint
        self.below = below
        self._most = self._room = most
        self._known: dict[Key, int] = {}
        self._stored: dict[bytes, int] = {}  # by digest, oldest first

    def __call__(self, text: str) -> int:
        count = self._find(text)
        if count is None:
            raise UncountedError(text)
        return count

    def __len__(self) -> int:
        return len(self._stored)

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Each text whose count is not known, once."""
        return [text for text in dict.fromkeys(texts) if self._find(text) is None]

    def make_room(self, texts: int) -> None:
        """From now on the counts of so many texts that belong together are kept, whatever the bound."""
        self._room = max(self._room, 2 * texts)

    def learn(self, texts: Sequence[str], counts: Sequence[int]) -> None:
        for text, count in zip(texts, counts, strict=True):
            self._known[_key(text)] = count
            self._stored[_digest(text)] = count
        for kept in (self._known, self._stored):
            _trim(kept, self._room)

    def packed(self) -> bytes:
        """For a file: a checksum, then what is known."""
        newest = dict(islice(self._stored.items(), max(0, len(self._stored) - self._most), None))
        body = msgspec.msgpack.encode(_Stored(self._fingerprint, newest))
        return _check(body) + body

    def load(self, packed: bytes) -> None:
        """Takes over what `packed` gave. Raises ValueError, saying why, where that is not usable."""
        check, body = packed[:_CHECK_BYTES], packed[_CHECK_BYTES:]
        if check != _check(body):
            raise ValueError("its checksum is wrong")
        try:
            stored = _decoder.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(str(error)) from error
        if stored.fingerprint != self._fingerprint:
            raise ValueError(f"it was counted by {stored.fingerprint!r}")
        self._stored = stored.counts | self._stored

    def _find(self, text: str) -> int | None:
        key = _key(text)
        count = self._known.get(key)
        if count is None and self.below is not None:
            count = self.below._find(text)
            if count is not None:
                return count
        if count is None and self._stored:
            count = self._stored.get(key if isinstance(key, bytes) else _digest(text))
            if count is not None:
                self._known[key] = count
        return count


def _trim(kept: dict[Any, int], most: int) -> None:
    if len(kept) > most:
        for oldest in list(islice(kept, len(kept) - most * 3 // 4)):  # some more, so as not to trim each time
            del kept[oldest]


def _key(text: str) -> Key:
    return text if len(text) <= _SHORT else _digest(text)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _check(body: bytes) -> bytes:
    return blake2b(body, digest_size=_CHECK_BYTES).digest()
