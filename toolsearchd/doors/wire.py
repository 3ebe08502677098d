"""JSON-RPC over a peer's byte stream, in the shape in which the SDK reads and writes.

Bytes become messages here and messages bytes: no relay tasks, no queues. What is no message is answered with
a JSON-RPC error, and the stream goes on. Requests are charged to the peer until they are answered; one that
ends its sending and reads on has the answers first. What can't be written as JSON costs that value.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import BaseModel, ValidationError

from toolsearchd.disclosure.sanitise import clean_json
from toolsearchd.doors.lines import id_in, mend
from toolsearchd.doors.mcp import DoorStream
from toolsearchd.limits import Limits
from toolsearchd.system.lines import LineSplitter, Piece
from toolsearchd.system.signal import Signal
from toolsearchd.values import representable

RequestId = int | str


class Charges:
    """Bytes of the requests that are open, each held until it is answered."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: dict[RequestId, int] = {}
        self._total = 0
        self._endless: set[RequestId] = set()
        self._released = Signal()

    def charge(self, request_id: RequestId, size: int, *, is_endless: bool = False) -> None:
        """`is_endless`: its answer comes with the end of the session only."""
        self._held[request_id] = self._held.get(request_id, 0) + size
        self._total += size
        if is_endless:
            self._endless.add(request_id)

    @property
    def is_settled(self) -> bool:
        """Everything has its answer that is to have one before the end."""
        return self._held.keys() <= self._endless

    def release(self, request_id: RequestId) -> None:
        """The request was answered, or never will be. Idempotent."""
        self._endless.discard(request_id)
        self._total -= self._held.pop(request_id, 0)
        self._released.set()

    async def wait_room(self) -> None:
        """Until the peer's open requests are within its budget."""
        while self._total > self._max_bytes:
            await self._released.wait_next()


class MessageSink:
    """What the SDK writes: each message is a line, sent at once. Errors pass the gate here, whoever made
    them."""

    def __init__(self, stream: DoorStream, charges: Charges, limits: Limits) -> None:
        self._stream = stream
        self._max_unread = limits.frame_bytes_before_hello
        self._charges = charges

    async def send(self, item: SessionMessage) -> None:
        self.send_nowait(item.message)

    def send_nowait(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCError):
            message = _clean(message)
        self._stream.send_nowait(_line(message))
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._charges.release(message.id)

    def tell_nowait(self, message: JSONRPCMessage) -> None:
        """Sends what may be missed: dropped for a peer that leaves its answers unread."""
        if self._stream.outbox_bytes <= self._max_unread:
            self.send_nowait(message)

    def send_error(self, request_id: RequestId | None, code: int, text: str) -> None:
        error: dict[str, Any] = {"code": code, "message": text}
        reply = JSONRPCError.model_validate({"jsonrpc": "2.0", "id": request_id, "error": error})
        self._stream.send_nowait(_line(_clean(reply)))

    async def aclose(self) -> None:
        """The stream is not the SDK's to close."""

    async def __aenter__(self) -> MessageSink:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


def _clean(message: JSONRPCError) -> JSONRPCError:
    said = message.error.model_dump(exclude_unset=True)
    told = clean_json(said)
    return message if told is said else message.model_copy(update={"error": type(message.error)(**told)})


def _line(message: JSONRPCMessage) -> bytes:
    """The message as it is sent: what it can't hold stands there in its nearest form."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except (ValueError, RecursionError):
        pass  # half a surrogate pair, nesting without end
    fields = {name: getattr(message, name) for name in message.model_fields_set}
    if isinstance(error := fields.get("error"), BaseModel):
        fields["error"] = {name: getattr(error, name) for name in error.model_fields_set}
    return msgspec.json.encode(representable(fields)) + b"\n"


class MessageSource:
    """What the SDK reads. `on_cancelled` hears of a cancelled request before anything else does.

    `on_silent` hears of the end of what the peer sends, where it may read on. `ended`: the peer went away;
    what its requests started is no longer its to stop.
    """

    def __init__(
        self,
        stream: DoorStream,
        first_bytes: bytes,
        sink: MessageSink,
        charges: Charges,
        limits: Limits,
        on_cancelled: Callable[[RequestId], None],
        on_silent: Callable[[], None] = lambda: None,
    ) -> None:
        self._stream = stream
        self._sink = sink
        self._charges = charges
        self._on_cancelled = on_cancelled
        self._on_silent = on_silent
        self._max_bytes = limits.line_bytes
        self._max_initialize_bytes = limits.frame_bytes_before_hello  # the SDK keeps it for good
        self._lines = LineSplitter(limits.line_bytes)
        self._decoded: deque[SessionMessage] = deque()
        self._first_bytes = first_bytes
        self.ended = False

    async def receive(self) -> SessionMessage:
        """The next message. Raises `anyio.EndOfStream` when the peer went away."""
        data, self._first_bytes = self._first_bytes, b""
        while True:
            for line in self._lines.feed(data):
                if isinstance(line, Piece):
                    self._refuse(line)
                elif line.strip():
                    self._take(line)
            if self._decoded:
                return self._decoded.popleft()
            if self.ended:
                raise anyio.EndOfStream
            await self._charges.wait_room()
            data = await self._stream.receive()
            if not data:
                self._on_silent()
                await self._stream.wait_answered(lambda: self._charges.is_settled)
                self.ended = True

    def _refuse(self, piece: Piece) -> None:
        if piece.begins:
            text = f"a message over {self._max_bytes} bytes was dropped; send less at once"
            self._sink.send_error(None, INVALID_REQUEST, text)

    def _take(self, line: bytes) -> None:
        message = self._decode(line)
        if message is None:
            return
        if isinstance(message, JSONRPCRequest):
            if message.method == "initialize" and len(line) > self._max_initialize_bytes:
                text = f"initialize takes {len(line)} bytes; {self._max_initialize_bytes} are accepted"
                self._sink.send_error(message.id, INVALID_REQUEST, text)
                return
            is_endless = message.method == "subscriptions/listen"
            self._charges.charge(message.id, len(line), is_endless=is_endless)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            request_id = (message.params or {}).get("requestId")
            if isinstance(request_id, int | str) and not isinstance(request_id, bool):
                self._on_cancelled(request_id)
        self._decoded.append(SessionMessage(message))

    def _decode(self, line: bytes) -> Any:
        """The message, or None after telling the peer what is wrong with it."""
        try:
            return jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            mended = mend(line)
        if mended is None:
            text = "not a JSON object; one JSON-RPC message per line is accepted, no batches"
            self._sink.send_error(None, PARSE_ERROR, text)
            return None
        try:
            return jsonrpc_message_adapter.validate_json(mended, by_name=False)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            text = f"not a JSON-RPC 2.0 message: {where}: {first['msg']}"
            self._sink.send_error(id_in(mended), INVALID_REQUEST, text)
            return None

    async def aclose(self) -> None:
        """The stream is not the SDK's to close."""

    def __aiter__(self) -> MessageSource:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> MessageSource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None
