"""The Python client: `AsyncClient` (trio), its blocking face `Client`; `ControlClient` for people.

    with Client(client="my-agent", cwd="/project") as agent:
        agent.search(["github create issue"])
        agent.describe(["mcp__github__create_issue"])
        agent.call([{"name": "mcp__github__create_issue", "arguments": {"title": "…"}}])

Replies are the protocol's maps without `op` and `id`. An error reply raises `ToolsearchdError` with its code;
no daemon at the socket, or one that says nothing, raises NO_DAEMON, and a socket that is not this user's
NOT_ALLOWED, before a byte is sent; a call whose answer can't come any more raises INDETERMINATE.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolsearchd.endpoint import GREETING_S, RefusedError, connect, peer_pid, silence
from toolsearchd.errors import ToolsearchdError, known_code
from toolsearchd.places import runtime_dir as default_runtime_dir
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.protocol.requests import PROTOCOL

if TYPE_CHECKING:
    from toolsearchd.async_client import AsyncClient as AsyncClient

Reply = dict[str, Any]

MAX_FRAME_BYTES = 64 * 1024 * 1024
READ_SIZE = 1 << 18


def __getattr__(name: str) -> Any:
    """`AsyncClient` brings trio along: only where it is asked for."""
    if name == "AsyncClient":
        from toolsearchd.async_client import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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


def raise_if_error(reply: Reply) -> Reply:
    if reply.get("op") != "error":
        return {key: value for key, value in reply.items() if key not in ("op", "id")}
    code = reply.get("code")
    more = {key: value for key, value in reply.items() if key not in ("op", "id", "code", "message")}
    raise ToolsearchdError(known_code(code), reply.get("message", str(code)), **more)


def hello_message(client: str, fields: dict[str, Any]) -> dict[str, Any]:
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in fields.items()}
    return {"op": "hello", "protocol": PROTOCOL, "client": client, **plain}


def given(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


class _Blocking:
    """A blocking connection: one request at a time; events that come meanwhile are kept for `events`.

    `timeout_s` bounds each wait on the socket; after one that ended so the connection is closed. What a
    daemon answers at once, its greeting and a ping's answer, is waited for `GREETING_S` at most.
    """

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
        self._events: list[Reply] = []
        self.on_event: Callable[[Reply], None] = self._events.append  # of what comes while a request waits

    def ping(self) -> Reply:
        """Raises NO_DAEMON where the answer does not come at once; then the connection is closed."""
        with self._at_once():
            return self.request("ping")

    def request(self, op: str, **fields: Any) -> Reply:
        """Sends one request and waits for its reply."""
        request_id = next(self._ids)
        self._send(op, {"op": op, "id": request_id, **fields})
        while True:
            reply = self._receive(op)
            if reply.get("id") == request_id or (reply.get("op") == "error" and "id" not in reply):
                return raise_if_error(reply)
            self.on_event(reply)

    def events(self) -> Iterator[Reply]:
        """Events as they come. Raises NO_DAEMON at the connection's end."""
        while True:
            while self._events:
                yield self._events.pop(0)
            self._events.append(self._receive("events"))

    def close(self) -> None:
        self._sock.close()

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

    def _receive(self, op: str) -> Reply:
        while (payload := self._frames.next_payload()) is None:
            self._read(op)
        reply: Reply = msgspec.msgpack.decode(payload)
        return reply

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


class Client(_Blocking):
    """A blocking agent session. `timeout_s` bounds each wait on the socket (None: for ever)."""

    def __init__(
        self,
        *,
        client: str,
        runtime_dir: Path | str | None = None,
        timeout_s: float | None = None,
        **hello: Any,
    ) -> None:
        super().__init__(socket_path(runtime_dir, "agent.sock"), timeout_s)
        try:
            with self._at_once():
                self._send("hello", hello_message(client, hello))
                self.welcome = raise_if_error(self._receive("hello"))
        except BaseException:
            self.close()
            raise

    def assemble(
        self,
        *,
        context_length: int | None = None,
        encoding: str | None = None,
        model: str | None = None,
        refresh: bool = False,
    ) -> Reply:
        fields = given(context_length=context_length, encoding=encoding, model=model)
        return self.request("assemble", refresh=refresh, **fields)

    def search(self, queries: Sequence[str], limit: int | None = None) -> Reply:
        return self.request("search", queries=list(queries), **given(limit=limit))

    def describe(self, names: Sequence[str]) -> Reply:
        return self.request("describe", names=list(names))

    def explain(self, query: str, tool: str | None = None) -> Reply:
        return self.request("explain", query=query, **given(tool=tool))

    def call(self, calls: Sequence[dict[str, Any]]) -> Reply:
        return self.request("call", calls=list(calls))

    def use(self, tool: str, arguments: dict[str, Any]) -> Reply:
        """A model's call of a tool that `assemble` gave; the reply's `text` or `value` is for the model."""
        return self.request("use", tool=tool, arguments=arguments)

    def set_tools(self, tools: Sequence[dict[str, Any]]) -> Reply:
        """The agent's own tools from now on; calls of them come out of `events` as `call_requested`."""
        return self.request("tools", tools=list(tools))

    def call_result(self, call: str, **outcome: Any) -> Reply:
        """What became of a `call_requested`: `response=` or `error=`."""
        return self.request("call_result", call=call, **outcome)

    def stop(self, batch: int | str | None = None) -> Reply:
        return self.request("stop", **given(batch=batch))

    def resolve(self, handle: str, offset: int = 0, limit: int | None = None) -> Reply:
        return self.request("resolve", handle=handle, offset=offset, **given(limit=limit))

    def subscribe(self, events: Sequence[str]) -> Reply:
        return self.request("subscribe", events=list(events))

    def decide(self, approval: str, decision: str) -> Reply:
        """`approve`, `session`, `always` or `deny`, for a prompt of this session."""
        return self.request("decide", approval=approval, decision=decision)

    def bye(self) -> Reply:
        """Ends the session; the daemon closes the connection behind the reply."""
        return self.request("bye")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class ControlClient(_Blocking):
    """A blocking control connection: `request(verb, …)` as in the protocol's control messages.

    Nobody is greeted there: where `timeout_s` lets a request wait for long, a ping comes before the first.
    """

    def __init__(self, *, runtime_dir: Path | str | None = None, timeout_s: float | None = None) -> None:
        super().__init__(socket_path(runtime_dir, "control.sock"), timeout_s)
        if timeout_s is None or timeout_s > GREETING_S:
            try:
                self.ping()
            except BaseException:
                self.close()
                raise

    def fileno(self) -> int:
        """For `select`: readable means that `read_some` will not wait."""
        return self._sock.fileno()

    def read_some(self) -> None:
        """Reads once. Raises NO_DAEMON at the connection's end."""
        self._read("events")

    def come_events(self) -> list[Reply]:
        """The events that have come whole, without waiting for any."""
        while (payload := self._frames.next_payload()) is not None:
            self._events.append(msgspec.msgpack.decode(payload))
        come = self._events[:]
        self._events.clear()
        return come

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def _framed(message: dict[str, Any]) -> bytes:
    """Raises BAD_ARGUMENTS for what no message can hold."""
    try:
        return encode_frame(message)
    except (UnicodeError, OverflowError, TypeError, RecursionError) as error:
        raise ToolsearchdError("BAD_ARGUMENTS", f"the request can't be sent: {error}") from error
