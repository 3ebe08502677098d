"""Remote servers: the SDK's Streamable HTTP and legacy SSE transports, with our bounds around what arrives.

The SDK reads a body whatever its size and gives up a whole listing for one schema that nests too deeply. So
each message passes `read_message` before the SDK's decoder sees it, as on stdio: one that can't be used is
replaced by an error answer to the request that it answers.

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import msgspec
import trio
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.limits import Limits
from toolsearchd.upstream.answers import (
    REFUSED_CODE,
    SESSION_ENDED_CODE,
    RequestId,
    note_sent,
    usable_answer,
)
from toolsearchd.upstream.envelope import EDGE, id_at_end, read_envelope
from toolsearchd.upstream.event_stream import EventReader, StreamEvent
from toolsearchd.upstream.lines import Lost, Message, depth_bound, read_message
from toolsearchd.upstream.refusals import HINTS, MOST_BYTES, refusal_of, says_session_ended
from toolsearchd.upstream.unpacking import chunks, unpacked
from toolsearchd.upstream.unusable import error_answer

_CONNECT_S = 30.0
_SSE_BYTES = 1_000_000  # the SDK ends a legacy stream at an event of 1 MiB
_SESSION = "mcp-session-id"
_REFUSAL_S = 2.0  # for a refusal's body, behind which all later messages of a legacy session wait


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
            # A compressed body could be any size: it is not asked for, and read in pieces where it comes.
            headers=dict(spec.headers) | {"accept-encoding": "identity"},
            # No read timeout: calls have their own, and a listening stream may be silent for days.
            timeout=httpx2.Timeout(_CONNECT_S, read=None),
        )
        self._transport_kind = spec.transport
        message_bytes = min(limits.line_bytes, _SSE_BYTES) if spec.transport == "sse" else limits.line_bytes
        self._limits = msgspec.structs.replace(limits, line_bytes=message_bytes)
        self.refusal = ""
        self._asked: dict[RequestId, str] = {}  # of a legacy session, whose answers come on one stream,
        self._events: _Events | None = None  # this

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        asked: dict[RequestId, str] = {}
        _note_asked(request, asked)
        if self._transport_kind == "sse":
            self._asked |= asked
        response = await super().send(request, stream=True, **options)
        try:
            self._note_refusal(request, response)
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            inner = unpacked(response, self._limits.line_bytes)
            session_id = request.headers.get(_SESSION, "")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream" and response.is_success:
                is_legacy = self._transport_kind == "sse"
                self._events = _Events(inner, self._limits, self._asked if is_legacy else asked, session_id)
                response.stream = self._events
            elif response.status_code >= 400 and asked:
                response.stream = await self._refused(request, response, inner, next(iter(asked)))
                if self._transport_kind == "sse" and self._events is not None:  # where answers are heard
                    response.status_code = 202  # at an error its writer would take the session down at once
                    await self._events.end_with(response.stream.body)
            elif self._transport_kind == "sse" and request.method == "POST":
                response.stream = _Given(b"", response.stream)  # the answer comes on the stream of events
            else:
                is_answer = kind == "application/json" and response.is_success
                response.stream = _Body(inner, self._limits, asked if is_answer else {}, session_id)
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    def _note_refusal(self, request: httpx2.Request, response: httpx2.Response) -> None:
        # A server need not offer the listening stream (GET), nor the end of a session (DELETE).
        if response.status_code >= 300 and (request.method == "POST" or self._transport_kind == "sse"):
            hint = HINTS.get(response.status_code)
            if response.is_redirect:  # not followed: the headers are for the address in the entry
                to = response.next_request.url if response.next_request else None
                hint = f"put the address it leads to, at {to.host}, into the entry" if to else None
            words = f"it answered {response.status_code} {response.reason_phrase}"
            self.refusal = words + (f": {hint}" if hint else "")

    async def _refused(
        self,
        request: httpx2.Request,
        response: httpx2.Response,
        inner: httpx2.AsyncByteStream,
        request_id: RequestId,
    ) -> _Given:
        """The body that the SDK is to see: an error that keeps the status, or the server's own."""
        body = await _beginning(inner)
        refusal = refusal_of(
            response.status_code,
            response.reason_phrase,
            body,
            in_session=_SESSION in request.headers or self._transport_kind == "sse",
            session_id=request.headers.get(_SESSION, ""),
            retry_after=response.headers.get("retry-after", ""),
            now=time.time(),
        )
        if refusal is None:
            return _Given(body, response.stream)
        data: dict[str, Any] = {
            "status": refusal.status,
            "retry_after_s": refusal.retry_after_s,
            "is_last": self._transport_kind == "sse",
        }
        if refusal.ends_session:
            data |= {"grounds": refusal.ends_session, "server_code": refusal.code}
        code = SESSION_ENDED_CODE if refusal.ends_session else REFUSED_CODE
        error = {"code": code, "message": refusal.words, "data": data}
        response.headers["content-type"] = "application/json"
        answer = msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error})
        return _Given(answer, response.stream)


class _Given(httpx2.AsyncByteStream):
    """These bytes in place of those of a response, which is closed with them."""

    def __init__(self, body: bytes, inner: Any) -> None:
        self.body = body
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _beginning(stream: httpx2.AsyncByteStream) -> bytes:
    """What of a refusal's body comes soon, within its bounds. Empty where it can't be unpacked."""
    body = bytearray()
    with trio.move_on_after(_REFUSAL_S):
        try:
            async with aclosing(chunks(stream)) as inner:
                async for chunk in inner:
                    body += chunk[: MOST_BYTES - len(body)]
                    if len(body) >= MOST_BYTES:
                        break
        except httpx2.DecodingError:
            return b""
    return bytes(body)


class _Body(httpx2.AsyncByteStream):
    """A whole JSON body, once it is known to be usable. Without a request: bytes, up to the limit."""

    def __init__(
        self,
        inner: httpx2.AsyncByteStream,
        limits: Limits,
        asked: dict[RequestId, str],
        session_id: str,
    ) -> None:
        self._inner = inner
        self._limits = limits
        self._asked = asked
        self._session_id = session_id
        self._request_id = next(iter(asked), None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        try:
            async with aclosing(chunks(self._inner)) as inner:
                async for part in inner:
                    body += part
                    if len(body) > self._limits.line_bytes:
                        yield self._stand_in("too large")
                        return
        except httpx2.DecodingError as error:
            yield self._stand_in("bad", str(error))
            return
        if self._request_id is None:
            yield bytes(body)
            return
        found = read_message(bytes(body), depth_bound(self._limits))
        if isinstance(found, Message):
            yield _shaped(found, self._asked, self._session_id)
        else:
            yield self._stand_in(found.reason if found else "bad")

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _stand_in(self, reason: str, words: str = "") -> bytes:
        if self._request_id is None:
            return b""
        return _stand_in(self._request_id, reason, self._limits, words)


class _Events(httpx2.AsyncByteStream):
    """An event stream, event by event, each with its message in one `data:` line."""

    def __init__(
        self,
        inner: httpx2.AsyncByteStream,
        limits: Limits,
        asked: dict[RequestId, str],
        session_id: str,
    ) -> None:
        self._inner = inner
        self._limits = limits
        self._asked = asked
        self._session_id = session_id
        self._reader = EventReader(limits.line_bytes)
        self._last = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async with aclosing(chunks(self._inner)) as inner:
                async for chunk in inner:
                    for event in self._reader.feed(chunk):
                        yield self._mended(event)
        except httpx2.ReadError:
            if not self._last:
                raise
        except httpx2.DecodingError as error:
            for request_id in self._asked:  # of a stream that nobody can read
                answer = _stand_in(request_id, "bad", self._limits, str(error))
                yield StreamEvent(answer, {}).encoded(answer)
            return
        for event in self._reader.finish():
            yield self._mended(event)
        if self._last:
            yield StreamEvent(self._last, {}).encoded(self._last)

    async def end_with(self, answer: bytes) -> None:
        """Ends the stream, with this message as its last one."""
        self._last = answer
        await self._inner.aclose()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _mended(self, event: StreamEvent) -> bytes:
        if event.tail is not None:
            return event.encoded(self._too_large(event.data, event.tail))
        if event.data.lstrip()[:1] not in (b"{", b"["):
            return event.encoded(event.data)
        found = read_message(event.data, depth_bound(self._limits))
        if isinstance(found, Message):
            return event.encoded(_shaped(found, self._asked, self._session_id))
        return event.encoded(self._answer(found) if found else b"")

    def _too_large(self, head: bytes, tail: bytes) -> bytes:
        envelope = read_envelope(head[:EDGE])
        request_id = envelope.request_id if envelope.request_id is not None else id_at_end(tail)
        if envelope.is_request or request_id is None:
            return b""
        return self._answer(Lost(request_id, "too large"))

    def _answer(self, lost: Lost) -> bytes:
        assert lost.request_id is not None
        return _stand_in(lost.request_id, lost.reason, self._limits)


def _stand_in(request_id: RequestId, reason: str, limits: Limits, words: str = "") -> bytes:
    """The answer in place of one that can't be used; `words` say why, where that is known better."""
    answer = error_answer(request_id, reason, limits)
    if words:
        answer["error"] |= {"message": words}
    return msgspec.json.encode(answer)


def _note_asked(request: httpx2.Request, asked: dict[RequestId, str]) -> None:
    """The JSON-RPC message that this HTTP request carries, if any."""
    try:
        fields = msgspec.json.decode(request.content, type=dict[str, Any])
    except (msgspec.DecodeError, httpx2.RequestNotRead):
        return
    note_sent(fields, asked)


def _shaped(found: Message, asked: dict[RequestId, str], session_id: str) -> bytes:
    """The message in one line, as the SDK can read it where it answers what was asked."""
    if "method" in found.fields or (answer := usable_answer(found.fields, asked)) is None:
        return found.line.replace(b"\n", b" ")  # in JSON no line feed stands inside a text
    del asked[answer["id"]]
    if says_session_ended(answer.get("error"), session_id):
        data = {"grounds": "words", "server_code": answer["error"]["code"]}
        answer["error"] = answer["error"] | {"code": SESSION_ENDED_CODE, "data": data}
    return found.line.replace(b"\n", b" ") if answer == found.fields else msgspec.json.encode(answer)
