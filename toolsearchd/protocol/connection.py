"""One connection's protocol state: hello first and once, unique open ids, a bounded window. Sans-IO.

`AgentConnection.receive(data)` returns what the daemon should do next: a `Hello`, a request to serve, or a
`Refusal` to send back. A peer's violation gives a final `Refusal` (`close=True`) and nothing after it.
Replies and events are encoded here too, so that only this package knows the wire; encoding never fails: see
`representable`.

`ControlConnection` is the same without a hello.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.framing import ENCODING_ERRORS, FrameDecoder, encode_frame
from toolsearchd.protocol.odd_texts import odd_texts_as_bytes
from toolsearchd.protocol.requests import (
    AgentMessage,
    ByeRequest,
    CallResultRequest,
    ControlMessage,
    ControlRequest,
    DecideRequest,
    Hello,
    Request,
    RequestId,
    StopRequest,
    agent_decoder,
    control_decoder,
)
from toolsearchd.records import WireRecord
from toolsearchd.values import representable

_CONTROL_REPLY_BYTES = 64 * 1024 * 1024  # what our clients take: the doctor has a line per odd tool


class Refusal(msgspec.Struct, frozen=True):
    """Bytes to send because the peer asked for something that it can't have."""

    frame: bytes
    close: bool


def error_frame(request_id: RequestId | None, error: ToolsearchdError) -> bytes:
    head: dict[str, Any] = {"op": "error"}
    if request_id is not None:
        head["id"] = request_id
    return _frame(head | error.as_fields())


def event_frame(event: WireRecord) -> bytes:
    return _frame(event.members())


def _frame(message: dict[str, Any]) -> bytes:
    """What can't be carried stands there in its nearest form: a value's fault costs that value."""
    try:
        return encode_frame(message)
    except ENCODING_ERRORS:
        return encode_frame(representable(message))


class Wire:
    """What agent and control connections share: decoding, open ids, replies."""

    decoder: msgspec.msgpack.Decoder[Any]

    def __init__(self, limits: Limits, max_frame_bytes: int, max_reply_bytes: int) -> None:
        self._limits = limits
        self._max_reply_bytes = max_reply_bytes
        self._frames = FrameDecoder(max_frame_bytes)
        self._open: dict[RequestId, int] = {}  # id → bytes of its frame
        self._open_bytes = 0
        self._closed = False

    @property
    def open_ids(self) -> frozenset[RequestId]:
        return frozenset(self._open)

    @property
    def buffered(self) -> int:
        """Bytes of frames not complete yet, or not served yet."""
        return self._frames.buffered

    def receive(self, data: bytes) -> Iterator[AgentMessage | ControlMessage | Refusal]:
        """Yields what follows from `data`. Take each item before asking for the next one."""
        self._frames.feed(data)
        while not self._closed:
            try:
                payload = self._frames.next_payload()
            except ToolsearchdError as error:
                yield self._violation(error)
                return
            if payload is None:
                return
            yield self._accept(payload)

    def finish(self, request_id: RequestId) -> None:
        """The request was answered: its id is free again."""
        self._open_bytes -= self._open.pop(request_id, 0)

    def result(self, request_id: RequestId, reply: WireRecord) -> bytes:
        """The reply; one that no frame holds is an error instead."""
        self.finish(request_id)
        members = reply.members()
        members["op"], members["id"] = "result", request_id
        frame = _frame(members)
        most = self._max_reply_bytes
        if len(frame) <= most:
            return frame
        words = f"the reply takes {len(frame)} bytes, a frame holds {most}; ask for less"
        return error_frame(request_id, ToolsearchdError("RESULT_TOO_LARGE", words))

    def error(self, request_id: RequestId, error: ToolsearchdError) -> bytes:
        self.finish(request_id)
        return error_frame(request_id, error)

    def _accept(self, payload: bytes) -> Any:
        try:
            message = self._decoded(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            return self._violation(
                ToolsearchdError("BAD_MESSAGE", f"not a message of this protocol: {error}")
            )
        return self._admit(message, len(payload))

    def _decoded(self, payload: bytes) -> Any:
        try:
            return self.decoder.decode(payload)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            readable = odd_texts_as_bytes(payload)
            if readable is None:
                raise
            return self.decoder.decode(readable)

    def _admit(self, message: Any, size: int) -> Any:
        """A decoded message of so many bytes: what it becomes in this state."""
        return self._open_request(message, size)

    def _open_request(
        self, request: Request | ControlRequest, size: int
    ) -> Request | ControlRequest | Refusal:
        if request.id in self._open:
            error = ToolsearchdError("DUPLICATE_ID", f"a request with id {request.id!r} is still open")
            return Refusal(error_frame(request.id, error), close=False)
        # A stop must get through however full the window is, and so must what open calls wait for.
        unbound = isinstance(request, StopRequest | CallResultRequest | DecideRequest | ByeRequest)
        if len(self._open) >= self._limits.open_requests and not unbound:
            error = ToolsearchdError("BUSY", f"{len(self._open)} requests are open; wait for a reply first")
            return Refusal(error_frame(request.id, error), close=False)
        if self._open and self._open_bytes + size > self._limits.outstanding_bytes and not unbound:
            words = f"the open requests take {self._open_bytes} bytes; wait for a reply first"
            return Refusal(error_frame(request.id, ToolsearchdError("BUSY", words)), close=False)
        self._open[request.id] = size
        self._open_bytes += size
        return request

    def _violation(self, error: ToolsearchdError) -> Refusal:
        self._closed = True
        return Refusal(error_frame(None, error), close=True)


class AgentConnection(Wire):
    """An agent's side: `hello` once, then requests."""

    decoder = agent_decoder

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits, limits.frame_bytes_before_hello, limits.frame_bytes)
        self._greeted = False

    def welcome(self, welcome: WireRecord) -> bytes:
        """The hello was accepted: larger frames from now on."""
        self._frames.max_bytes = self._limits.frame_bytes
        return _frame(welcome.members())

    def take_rest(self) -> bytes:
        """Bytes after the hello, where the stream goes on as JSON-RPC. No frame is read any more."""
        self._closed = True
        return self._frames.take_rest()

    def _admit(self, message: Any, size: int) -> Any:
        if isinstance(message, Hello):
            return self._greet(message)
        if not self._greeted:
            return self._violation(ToolsearchdError("WRONG_STATE", "a request before hello"))
        return self._open_request(message, size)

    def _greet(self, hello: Hello) -> Hello | Refusal:
        if self._greeted:
            return self._violation(ToolsearchdError("WRONG_STATE", "a second hello; one opens a session"))
        if hello.protocol != 1:
            return self._violation(
                ToolsearchdError("UNSUPPORTED_PROTOCOL", f"protocol {hello.protocol}; this daemon speaks 1")
            )
        self._greeted = True
        return hello


class ControlConnection(Wire):
    """A person's side: requests at once."""

    decoder = control_decoder

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits, limits.frame_bytes, _CONTROL_REPLY_BYTES)
