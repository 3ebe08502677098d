"""A response's body as it is meant, unpacked in bounded pieces whatever its codings. Owns nothing.

Imports httpx2: to be imported after `load_sdk`.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx2

from toolsearchd.disclosure.sanitise import plain_line

_PIECE_BYTES = 65_536
_PACKED = ("gzip", "x-gzip", "deflate")
_CODINGS = 3  # of one body: nobody in earnest packs more than twice
_CODINGS_CHARS = 100


def unpacked(response: httpx2.Response, most_bytes: int) -> httpx2.AsyncByteStream:
    """Raises httpx2.DecodingError while it is read, where it can't be unpacked. `most_bytes`: of what is
    packed itself. The header goes in any case, for whoever else unpacks by it does so without a bound."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    said = ",".join(response.headers.get_list("content-encoding"))
    codings = [coding for word in said.split(",") if (coding := word.strip().lower()) not in ("", "identity")]
    response.headers.pop("content-encoding", None)
    if len(codings) > _CODINGS or not all(coding in _PACKED for coding in codings):
        return _Unknown(stream, plain_line(said)[:_CODINGS_CHARS])
    for left in range(len(codings) - 1, -1, -1):
        stream = _Inflated(stream, most_bytes if left else None)
    return stream


async def chunks(stream: httpx2.AsyncByteStream) -> AsyncGenerator[bytes, None]:
    """The stream's chunks, as a generator that can be closed early."""
    found = aiter(stream)
    try:
        async for chunk in found:
            yield chunk
    finally:
        if isinstance(found, AsyncGenerator):
            await found.aclose()


class _Inflated(httpx2.AsyncByteStream):
    """A compressed body, a bounded piece at a time; what comes behind its end is dropped. `most_bytes`: in
    all, of what is to be unpacked again, for that may come to nothing that its reader could count."""

    def __init__(self, inner: httpx2.AsyncByteStream, most_bytes: int | None) -> None:
        self._inner = inner
        self._most_bytes = most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, as its head says
        total = 0
        async with aclosing(chunks(self._inner)) as inner:
            async for chunk in inner:
                while chunk and not decoder.eof:
                    try:
                        piece = decoder.decompress(chunk, _PIECE_BYTES)
                    except zlib.error as error:
                        raise httpx2.DecodingError(f"its body can't be unpacked: {error}") from error
                    chunk = decoder.unconsumed_tail
                    total += len(piece)
                    if self._most_bytes is not None and total > self._most_bytes:
                        raise httpx2.DecodingError("its body is packed several times over, and swells")
                    if piece:
                        yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Unknown(httpx2.AsyncByteStream):
    """A body in codings that are not unpacked here."""

    def __init__(self, inner: httpx2.AsyncByteStream, codings: str) -> None:
        self._inner = inner
        self._codings = codings

    def __aiter__(self) -> AsyncIterator[bytes]:
        raise httpx2.DecodingError(f"its body is packed by {self._codings}, which was not asked for")

    async def aclose(self) -> None:
        await self._inner.aclose()
