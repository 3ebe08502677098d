"""The Python client: `AsyncClient` (trio), its blocking face `Client`; `ControlClient` for people.

    with Client(client="my-agent", cwd="/project") as agent:
        agent.search(["github create issue"])
        agent.describe(["mcp__github__create_issue"])
        agent.call([{"name": "mcp__github__create_issue", "arguments": {"title": "…"}}])

Replies are the protocol's maps without `op` and `id`. An error reply raises `ToolsearchdError` with its code;
no daemon at the socket raises NO_DAEMON.
"""

from __future__ import annotations

import itertools
import random
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolsearchd.errors import CODES, ToolsearchdError
from toolsearchd.places import runtime_dir as default_runtime_dir
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.protocol.messages import PROTOCOL

if TYPE_CHECKING:
    import trio

Reply = dict[str, Any]

_MAX_FRAME_BYTES = 64 * 1024 * 1024
_READ_SIZE = 1 << 18
_RECONNECT_S = 5.0  # at most, with jitter, so that many agents do not come back at once


def _path(runtime_dir: Path | str | None, name: str) -> str:
    return str(Path(runtime_dir or default_runtime_dir()) / name)


def _no_daemon(path: str, error: OSError) -> ToolsearchdError:
    return ToolsearchdError("NO_DAEMON", f"no daemon answers at {path} ({error.strerror or error})")


def _raise_if_error(reply: Reply) -> Reply:
    if reply.get("op") != "error":
        return {key: value for key, value in reply.items() if key not in ("op", "id")}
    code = reply.get("code")
    known = code if code in CODES else "INTERNAL"
    more = {key: value for key, value in reply.items() if key not in ("op", "id", "code", "message")}
    raise ToolsearchdError(known, reply.get("message", str(code)), **more)


def _hello(client: str, fields: dict[str, Any]) -> dict[str, Any]:
    given = {key: str(value) if isinstance(value, Path) else value for key, value in fields.items()}
    return {"op": "hello", "protocol": PROTOCOL, "client": client, **given}


def _given(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


class _Blocking:
    """A blocking connection: one request at a time; events that come meanwhile are kept for `events`."""

    def __init__(self, path: str, timeout_s: float | None) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.settimeout(timeout_s)
        try:
            self._sock.connect(path)
        except OSError as error:
            self._sock.close()
            raise _no_daemon(path, error) from error
        self._frames = FrameDecoder(_MAX_FRAME_BYTES)
        self._ids = itertools.count(1)
        self._events: list[Reply] = []

    def request(self, op: str, **fields: Any) -> Reply:
        """Sends one request and waits for its reply."""
        request_id = next(self._ids)
        self._sock.sendall(encode_frame({"op": op, "id": request_id, **fields}))
        while True:
            reply = self._receive()
            if reply.get("id") == request_id or (reply.get("op") == "error" and "id" not in reply):
                return _raise_if_error(reply)
            self._events.append(reply)

    def events(self) -> Iterator[Reply]:
        """Events as they come, until the connection ends."""
        while True:
            while self._events:
                yield self._events.pop(0)
            try:
                self._events.append(self._receive())
            except ToolsearchdError:
                return

    def close(self) -> None:
        self._sock.close()

    def _receive(self) -> Reply:
        while (payload := self._frames.next_payload()) is None:
            try:
                data = self._sock.recv(_READ_SIZE)
            except TimeoutError:
                raise
            except OSError as error:
                raise ToolsearchdError("NO_DAEMON", f"the connection broke: {error.strerror}") from error
            if not data:
                raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection")
            self._frames.feed(data)
        reply: Reply = msgspec.msgpack.decode(payload)
        return reply


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
        super().__init__(_path(runtime_dir, "agent.sock"), timeout_s)
        self._sock.sendall(encode_frame(_hello(client, hello)))
        self.welcome = _raise_if_error(self._receive())

    def ping(self) -> Reply:
        return self.request("ping")

    def assemble(
        self,
        *,
        context_length: int | None = None,
        encoding: str | None = None,
        model: str | None = None,
        refresh: bool = False,
    ) -> Reply:
        given = _given(context_length=context_length, encoding=encoding, model=model)
        return self.request("assemble", refresh=refresh, **given)

    def search(self, queries: Sequence[str], limit: int | None = None) -> Reply:
        return self.request("search", queries=list(queries), **_given(limit=limit))

    def describe(self, names: Sequence[str]) -> Reply:
        return self.request("describe", names=list(names))

    def call(self, calls: Sequence[dict[str, Any]]) -> Reply:
        return self.request("call", calls=list(calls))

    def stop(self, batch: int | str | None = None) -> Reply:
        return self.request("stop", **_given(batch=batch))

    def subscribe(self, events: Sequence[str]) -> Reply:
        return self.request("subscribe", events=list(events))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class ControlClient(_Blocking):
    """A blocking control connection: `request(verb, …)` as in the protocol's control messages."""

    def __init__(self, *, runtime_dir: Path | str | None = None, timeout_s: float | None = None) -> None:
        super().__init__(_path(runtime_dir, "control.sock"), timeout_s)

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class AsyncClient:
    """An agent session under trio; any number of requests at once. Made by `connect`."""

    def __init__(self, stream: trio.SocketStream) -> None:
        import trio

        self._stream = stream
        self._frames = FrameDecoder(_MAX_FRAME_BYTES)
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[trio.Event, list[Reply]]] = {}
        self._sending = trio.CapacityLimiter(1)
        self._events_in, self.events = trio.open_memory_channel[Reply](256)
        self.dropped_events = 0
        self.closed = trio.Event()
        self.welcome: Reply = {}

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        *,
        client: str,
        runtime_dir: Path | str | None = None,
        wait_s: float = 0.0,
        **hello: Any,
    ) -> AsyncIterator[AsyncClient]:
        """A greeted session. `wait_s`: how long to try while no daemon answers, with jitter between tries.

        Leaving closes the session; the daemon lets started calls run to their end.
        """
        import trio

        path = _path(runtime_dir, "agent.sock")
        give_up = trio.current_time() + wait_s
        while True:
            try:
                stream = await trio.open_unix_socket(path)
                break
            except OSError as error:
                pause_s = random.uniform(0.1, _RECONNECT_S)  # noqa: S311 - spreads load, guards nothing
                if trio.current_time() + pause_s > give_up:
                    raise _no_daemon(path, error) from error
                await trio.sleep(pause_s)
        self = cls(stream)
        async with stream, trio.open_nursery() as nursery:
            await stream.send_all(encode_frame(_hello(client, hello)))
            self.welcome = _raise_if_error(await self._receive())
            nursery.start_soon(self._run)
            try:
                yield self
            finally:
                nursery.cancel_scope.cancel()

    async def request(self, op: str, **fields: Any) -> Reply:
        """One request. Cancelling the wait leaves the request running; `stop` is what stops a call."""
        import trio

        request_id = next(self._ids)
        answered: tuple[trio.Event, list[Reply]] = (trio.Event(), [])
        self._waiting[request_id] = answered
        try:
            async with self._sending:
                # A torn frame would end the session: the send itself is not cancelled.
                with trio.CancelScope(shield=True):
                    await self._stream.send_all(encode_frame({"op": op, "id": request_id, **fields}))
            await answered[0].wait()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection") from error
        finally:
            del self._waiting[request_id]
        if not answered[1]:
            raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection")
        return _raise_if_error(answered[1][0])

    async def ping(self) -> Reply:
        return await self.request("ping")

    async def assemble(self, *, refresh: bool = False, **fields: Any) -> Reply:
        return await self.request("assemble", refresh=refresh, **_given(**fields))

    async def search(self, queries: Sequence[str], limit: int | None = None) -> Reply:
        return await self.request("search", queries=list(queries), **_given(limit=limit))

    async def describe(self, names: Sequence[str]) -> Reply:
        return await self.request("describe", names=list(names))

    async def call(self, calls: Sequence[dict[str, Any]]) -> Reply:
        return await self.request("call", calls=list(calls))

    async def stop(self, batch: int | str | None = None) -> Reply:
        return await self.request("stop", **_given(batch=batch))

    async def subscribe(self, events: Sequence[str]) -> Reply:
        """After this, events come out of `events`; what is not taken in time is dropped and counted."""
        return await self.request("subscribe", events=list(events))

    async def _run(self) -> None:
        try:
            while True:
                self._take(await self._receive())
        except ToolsearchdError:
            pass  # the end of the connection: whoever waits is told below
        finally:
            self.closed.set()
            for event, _ in self._waiting.values():
                event.set()
            self._events_in.close()

    def _take(self, reply: Reply) -> None:
        import trio

        waiting = self._waiting.get(reply.get("id", -1))
        if waiting is not None:
            waiting[1].append(reply)
            waiting[0].set()
            return
        try:
            self._events_in.send_nowait(reply)
        except trio.WouldBlock:
            self.dropped_events += 1

    async def _receive(self) -> Reply:
        import trio

        while (payload := self._frames.next_payload()) is None:
            try:
                data = await self._stream.receive_some(_READ_SIZE)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection")
            self._frames.feed(bytes(data))
        reply: Reply = msgspec.msgpack.decode(payload)
        return reply
