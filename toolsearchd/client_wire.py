"""What the Python clients share: the way to the socket, what a failed wait raises, a blocking connection."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from toolsearchd.endpoint import GREETING_S, RefusedError, connect, peer_pid, silence
from toolsearchd.errors import ToolsearchdError
from toolsearchd.places import runtime_dir as default_runtime_dir
from toolsearchd.protocol.events import Event
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.protocol.received import Received, ReplyT
from toolsearchd.protocol.requests import PROTOCOL
from toolsearchd.records import Open, WireRecord

MAX_FRAME_BYTES = 64 * 1024 * 1024
READ_SIZE = 1 << 18


def socket_path(runtime_dir: Path | str | None, name: str) -> str:
    return str(Path(runtime_dir or default_runtime_dir()) / name)


def no_daemon(path: str, error: OSError) -> ToolsearchdError:
    return ToolsearchdError("NO_DAEMON", f"no daemon answers at {path} ({error.strerror or error})")


def not_ours(error: RefusedError) -> ToolsearchdError:
    return ToolsearchdError("NOT_ALLOWED", str(error))


def silent(path: str, listener: int, timeout_s: float) -> ToolsearchdError:
    """Of a daemon that greets nobody, or answers no ping. Its `pid` is a field, 0 where it is not known;
    `listener`: `peer_pid` of the connection, 0 where there was none."""
    message, pid = silence(path, listener, timeout_s)
    return ToolsearchdError("NO_DAEMON", message, pid=pid)


def ended(op: str, why: str = "the daemon closed the connection") -> ToolsearchdError:
    """What a request raises whose reply will not come. Only what may call a tool has effects."""
    if op in ("call", "use"):
        return ToolsearchdError("INDETERMINATE", f"{why}; the call may have happened: check before repeating")
    return ToolsearchdError("NO_DAEMON", why)


def hello_message(client: str, fields: dict[str, Any]) -> dict[str, Any]:
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in fields.items()}
    return {"op": "hello", "protocol": PROTOCOL, "client": client, **plain}


def given(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


class Blocking:
    """A blocking connection: one request at a time; events that come meanwhile are kept for `events`.

    `timeout_s` bounds each wait on the socket; after one that ended so the connection is closed. What a
    daemon answers at once, its greeting and a ping's answer, is waited for `GREETING_S` at most.
    """

    replies: ClassVar[dict[str, type[WireRecord]]]  # by operation

    def __init__(self, path: str, timeout_s: float | None) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._greeting_s = GREETING_S if timeout_s is None else min(timeout_s, GREETING_S)
        self._answer_by: float | None = None  # of what is to come at once
        try:
            self._sock = connect(path, self._greeting_s)
        except RefusedError as error:
            raise not_ours(error) from error
        except TimeoutError as error:
            raise silent(path, 0, self._greeting_s) from error
        except OSError as error:
            raise no_daemon(path, error) from error
        self._sock.settimeout(timeout_s)
        self._frames = FrameDecoder(MAX_FRAME_BYTES)
        self._ids = itertools.count(1)
        self._events: list[Event | Open] = []
        self.on_event: Callable[[Event | Open], None] = self._events.append  # of what comes while one waits

    def request(self, op: str, **fields: Any) -> WireRecord:
        """Sends one request and waits for its reply; the operations' own methods say of which kind it is."""
        return self._wait(op, fields).result(op, self.replies)

    def events(self) -> Iterator[Event | Open]:
        """Events as they come. Raises NO_DAEMON at the connection's end."""
        while True:
            while self._events:
                yield self._events.pop(0)
            self._events.append(self._receive("events").event())

    def close(self) -> None:
        self._sock.close()

    def _ask(self, kind: type[ReplyT], op: str, **fields: Any) -> ReplyT:
        return self._wait(op, fields).reply(kind)

    def _wait(self, op: str, fields: dict[str, Any]) -> Received:
        request_id = next(self._ids)
        self._send(op, {"op": op, "id": request_id, **fields})
        while True:
            received = self._receive(op)
            if received.id == request_id or (received.op == "error" and received.id is None):
                return received
            self.on_event(received.event())

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        self._answer_by = time.monotonic() + self._greeting_s
        self._sock.settimeout(self._greeting_s)
        try:
            yield
        finally:
            self._answer_by = None
            if self._sock.fileno() >= 0:
                self._sock.settimeout(self._timeout_s)

    def _send(self, op: str, message: dict[str, Any]) -> None:
        try:
            self._sock.sendall(_framed(message))
        except OSError as error:
            raise self._broken(op, error) from error

    def _receive(self, op: str) -> Received:
        while (payload := self._frames.next_payload()) is None:
            self._read(op)
        return Received(payload)

    def _read(self, op: str) -> None:
        if self._answer_by is not None:  # however many pieces it comes in
            self._sock.settimeout(max(self._answer_by - time.monotonic(), 0.001))
        try:
            data = self._sock.recv(READ_SIZE)
        except OSError as error:
            raise self._broken(op, error) from error
        if not data:
            raise ended(op)
        self._frames.feed(data)

    def _broken(self, op: str, error: OSError) -> ToolsearchdError:
        within_s = self._sock.gettimeout()
        if isinstance(error, TimeoutError) and self._answer_by is not None:
            told = silent(self._path, peer_pid(self._sock), self._greeting_s)
            self._sock.close()
            return told
        self._sock.close()
        if isinstance(error, TimeoutError):
            return ended(op, f"the daemon at {self._path} did not answer within {within_s:g} s")
        return ended(op, f"the connection broke ({error.strerror or error})")


def _framed(message: dict[str, Any]) -> bytes:
    """Raises BAD_ARGUMENTS for what no message can hold."""
    try:
        return encode_frame(message)
    except (UnicodeError, OverflowError, TypeError, RecursionError) as error:
        raise ToolsearchdError("BAD_ARGUMENTS", f"the request can't be sent: {error}") from error
