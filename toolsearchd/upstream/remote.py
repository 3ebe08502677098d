"""Remote servers: the SDK's Streamable HTTP and legacy SSE transports, with our bounds around what arrives.

The SDK reads a body whatever its size and gives up a whole listing for one schema that nests too deeply. So
each message passes `read_message` before the SDK's decoder sees it, as on stdio: one that can't be used is
replaced by an error answer to the request that it answers.

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import msgspec
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.limits import Limits
from toolsearchd.system.lines import LineSplitter, Piece
from toolsearchd.upstream.answers import RequestId, note_sent, usable_answer
from toolsearchd.upstream.envelope import EDGE, id_at_end, read_envelope
from toolsearchd.upstream.lines import Lost, Message, depth_bound, read_message
from toolsearchd.upstream.stdio import error_answer

_CONNECT_S = 30.0
_SSE_BYTES = 1_000_000  # the SDK ends a legacy stream at an event of 1 MiB
_COMMENT = b":"  # a line of an event stream that says nothing
_HINTS = {
    401: "it wants a login, or another token in the entry's headers",
    403: "it refuses these credentials",
    404: "nothing is served at this address",
    405: "what is served at this address is no MCP of this transport",
}


class RemoteTransport:
    """One session's HTTP."""

    def __init__(self, spec: ServerSpec, limits: Limits) -> None:
        self._spec = spec
        self._client = _Client(spec, limits)
        self._line_bytes = limits.line_bytes

    def explain(self, failure: str) -> str:
        """What the server last answered with, where that was an error."""
        return plain_line(self._client.refusal) or failure or "the connection ended"

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """The (read, write) streams of a session."""
        if self._spec.transport == "sse":
            async with sse_client(self._spec.url, httpx_client_factory=self._make_client) as (read, write):
                yield read, write
            return
        async with self._client as client:
            streams = streamable_http_client(
                self._spec.url, http_client=client, max_sse_event_size=2 * self._line_bytes
            )
            async with streams as (read, write):
                yield read, write

    def _make_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """The SDK's own wishes are not heard: the client has what it needs."""
        return self._client


class _Client(httpx2.AsyncClient):
    """Puts `_Body` or `_Events` around what a server answers, and notes its refusals."""

    def __init__(self, spec: ServerSpec, limits: Limits) -> None:
        super().__init__(
            # A compressed body could be any size, and is not to be looked into.
            headers=dict(spec.headers) | {"accept-encoding": "identity"},
            # No read timeout: calls have their own, and a listening stream may be silent for days.
            timeout=httpx2.Timeout(_CONNECT_S, read=None),
        )
        self._transport_kind = spec.transport
        message_bytes = min(limits.line_bytes, _SSE_BYTES) if spec.transport == "sse" else limits.line_bytes
        self._limits = msgspec.structs.replace(limits, line_bytes=message_bytes)
        self.refusal = ""
        self._asked: dict[RequestId, str] = {}  # of a legacy session, whose answers come on one stream

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        asked: dict[RequestId, str] = self._asked if self._transport_kind == "sse" else {}
        _note_asked(request, asked)
        response = await super().send(request, stream=True, **options)
        try:
            self._note_refusal(request, response)
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                response.stream = _Events(response.stream, self._limits, asked)
            else:
                is_answer = kind == "application/json" and response.is_success
                response.stream = _Body(response.stream, self._limits, asked if is_answer else {})
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    def _note_refusal(self, request: httpx2.Request, response: httpx2.Response) -> None:
        # A server need not offer the listening stream (GET), nor the end of a session (DELETE).
        if response.status_code >= 300 and (request.method == "POST" or self._transport_kind == "sse"):
            hint = _HINTS.get(response.status_code)
            if response.is_redirect:  # not followed: the headers are for the address in the entry
                to = response.next_request.url if response.next_request else None
                hint = f"put the address it leads to, at {to.host}, into the entry" if to else None
            words = f"it answered {response.status_code} {response.reason_phrase}"
            self.refusal = words + (f": {hint}" if hint else "")


class _Body(httpx2.AsyncByteStream):
    """A whole JSON body, once it is known to be usable. Without a request id: bytes, up to the limit."""

    def __init__(self, inner: httpx2.AsyncByteStream, limits: Limits, asked: dict[RequestId, str]) -> None:
        self._inner = inner
        self._limits = limits
        self._asked = asked
        self._request_id = next(iter(asked), None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts: list[bytes] = []
        size = 0
        async with aclosing(_chunks(self._inner)) as inner:
            async for part in inner:
                parts.append(part)
                size += len(part)
                if size > self._limits.line_bytes:
                    parts = [self._stand_in("too large")]
                    break
        body = b"".join(parts)
        if self._request_id is None:
            yield body
            return
        found = read_message(body, depth_bound(self._limits))
        if isinstance(found, Message):
            yield _shaped(found, self._asked)
        else:
            yield self._stand_in(found.reason if found else "bad")

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _stand_in(self, reason: str) -> bytes:
        if self._request_id is None:
            return b""
        return msgspec.json.encode(error_answer(self._request_id, reason, self._limits))


class _Events(httpx2.AsyncByteStream):
    """An event stream, line by line. A message stands in one `data:` line."""

    def __init__(self, inner: httpx2.AsyncByteStream, limits: Limits, asked: dict[RequestId, str]) -> None:
        self._inner = inner
        self._limits = limits
        self._asked = asked
        self._lines = LineSplitter(limits.line_bytes)
        self._head = b""  # of a line that is too long; the rest of it is dropped
        self._tail = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(_chunks(self._inner)) as inner:
            async for chunk in inner:
                for item in self._lines.feed(chunk):
                    line = self._skip(item) if isinstance(item, Piece) else self._mended(item)
                    if line is not None:
                        yield line + b"\n"
        yield self._too_large() if self._head else self._mended(self._lines.take_rest())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _skip(self, piece: Piece) -> bytes | None:
        """What stands for a line that is too long, when it ends."""
        if piece.begins:
            self._head, self._tail = piece.data[:EDGE], b""
        self._tail = (self._tail + piece.data[-EDGE:])[-EDGE:]
        if not piece.ends:
            return None
        line = self._too_large()
        self._head = b""
        return line

    def _mended(self, line: bytes) -> bytes:
        field, colon, value = line.partition(b":")
        if field != b"data" or value.lstrip()[:1] != b"{":
            return line
        found = read_message(value, depth_bound(self._limits))
        if isinstance(found, Message):
            return field + colon + b" " + _shaped(found, self._asked)
        return self._answer(found) if found else _COMMENT

    def _too_large(self) -> bytes:
        envelope = read_envelope(self._head.partition(b":")[2])
        request_id = envelope.request_id if envelope.request_id is not None else id_at_end(self._tail)
        if envelope.is_request or request_id is None:
            return _COMMENT
        return self._answer(Lost(request_id, "too large"))

    def _answer(self, lost: Lost) -> bytes:
        assert lost.request_id is not None
        return b"data: " + msgspec.json.encode(error_answer(lost.request_id, lost.reason, self._limits))


async def _chunks(stream: httpx2.AsyncByteStream) -> AsyncGenerator[bytes, None]:
    """The stream's chunks, as a generator that can be closed early."""
    chunks = aiter(stream)
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


def _note_asked(request: httpx2.Request, asked: dict[RequestId, str]) -> None:
    """The JSON-RPC message that this HTTP request carries, if any."""
    try:
        fields = msgspec.json.decode(request.content, type=dict[str, Any])
    except (msgspec.DecodeError, httpx2.RequestNotRead):
        return
    note_sent(fields, asked)


def _shaped(found: Message, asked: dict[RequestId, str]) -> bytes:
    """The message as the SDK can read it, where it answers what was asked and is open no longer."""
    if "method" in found.fields or (answer := usable_answer(found.fields, asked)) is None:
        return found.line
    del asked[answer["id"]]
    return found.line if answer == found.fields else msgspec.json.encode(answer)
