"""The Python client under trio: one session, any number of requests at once, events, reconnection."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio

from toolsearchd.client import (
    MAX_FRAME_BYTES,
    READ_SIZE,
    Reply,
    ended,
    given,
    hello_message,
    no_daemon,
    not_ours,
    raise_if_error,
    silent,
    socket_path,
)
from toolsearchd.endpoint import GREETING_S, RefusedError, dial, peer_pid
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.framing import FrameDecoder, encode_frame

RECONNECT_S = 5.0  # between tries at most, with jitter, so that many agents do not come back at once
_DIAL_S = 0.02  # between tries while the daemon's queue of connections is full
_SEND_S = 30.0  # for one frame; a daemon that takes nothing for so long is gone
_NOT_YET = ("NO_DAEMON", "SHUTTING_DOWN", "BUSY")  # what another try may mend


RunTool = Callable[[str, dict[str, Any]], Awaitable[Any]]


class AsyncClient:
    """An agent session under trio; any number of requests at once. Made by `connect`.

    `events`: what was subscribed to, as it comes. `fresh`: this is a new session since the last `assemble`
    (or since ever): what a model was shown before may have changed, and descriptions count as not shown.
    """

    def __init__(
        self,
        path: str,
        hello: dict[str, Any],
        reconnect_s: float | None,
        run_tool: RunTool | None = None,
    ) -> None:
        self._path = path
        self._run_tool = run_tool
        self._running: dict[str, trio.CancelScope] = {}  # calls of the agent's own tools
        self._nursery: trio.Nursery | None = None
        self._hello = hello
        self._reconnect_s = reconnect_s
        self._stream: trio.SocketStream | None = None
        self._frames = FrameDecoder(MAX_FRAME_BYTES)
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[trio.Event, list[Reply]]] = {}
        self._subscribed: list[str] = []
        self._tools: list[dict[str, Any]] | None = None  # set since the hello
        self._sending = trio.CapacityLimiter(1)
        self._back = trio.Event()  # set once there is a session again
        self._events_in, self.events = trio.open_memory_channel[Reply](256)
        self.dropped_events = 0
        self.closed = trio.Event()
        self._failure: ToolsearchdError | None = None  # why it will never be back
        self.fresh = True
        self.welcome: Reply = {}

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        *,
        client: str,
        runtime_dir: Path | str | None = None,
        wait_s: float = 0.0,
        reconnect_s: float | None = None,
        run_tool: RunTool | None = None,
        **hello: Any,
    ) -> AsyncIterator[AsyncClient]:
        """A greeted session. `wait_s`: how long to try while no daemon answers, with jitter between tries.

        `reconnect_s`: after the daemon went away the client connects again by itself, says the same hello and
        subscribes again; a request waits up to so long for that. None: the first end is the last one.
        `run_tool(name, arguments)` runs one of the agent's own tools (`tools=` in the hello, or `set_tools`):
        what it returns is the response, what it raises the error; it is cancelled when nobody waits any more.
        Leaving closes the session; the daemon lets started calls run to their end.
        """
        path = socket_path(runtime_dir, "agent.sock")
        self = cls(path, hello_message(client, hello), reconnect_s, run_tool)
        await self._open(wait_s)
        failure: Exception | None = None
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._run)
                try:
                    yield self
                except Exception as error:  # noqa: BLE001 - raised below, where no group wraps it
                    failure = error
                nursery.cancel_scope.cancel()
        finally:
            self._close_stream()
        if failure is not None:
            raise failure

    async def request(self, op: str, **fields: Any) -> Reply:
        """One request. Cancelling the wait leaves the request running; `stop` is what stops a call."""
        if self._stream is None:
            await self._wait_back()
        request_id = next(self._ids)
        answered: tuple[trio.Event, list[Reply]] = (trio.Event(), [])
        self._waiting[request_id] = answered
        try:
            await self._send({"op": op, "id": request_id, **fields})
            await answered[0].wait()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise ended(op) from error
        finally:
            self._waiting.pop(request_id, None)
        if not answered[1]:
            raise ended(op)
        return raise_if_error(answered[1][0])

    async def ping(self) -> Reply:
        """Raises NO_DAEMON where the answer does not come at once; the connection stays."""
        if self._stream is None:
            await self._wait_back()
        with trio.move_on_after(GREETING_S):
            return await self.request("ping")
        raise silent(self._path, _listener_of(self._stream), GREETING_S)

    async def assemble(self, *, refresh: bool = False, **fields: Any) -> Reply:
        """What a model is given: see the protocol's `assemble`."""
        if self._stream is None:
            await self._wait_back()
        session = self.welcome
        reply = await self.request("assemble", refresh=refresh, **given(**fields))
        self.fresh = self.fresh and session is not self.welcome
        return reply

    async def search(self, queries: Sequence[str], limit: int | None = None) -> Reply:
        return await self.request("search", queries=list(queries), **given(limit=limit))

    async def describe(self, names: Sequence[str]) -> Reply:
        return await self.request("describe", names=list(names))

    async def call(self, calls: Sequence[dict[str, Any]]) -> Reply:
        return await self.request("call", calls=list(calls))

    async def use(self, tool: str, arguments: dict[str, Any]) -> Reply:
        """A model's call of a tool that `assemble` gave; the reply's `text` or `value` is for the model."""
        return await self.request("use", tool=tool, arguments=arguments)

    async def set_tools(self, tools: Sequence[dict[str, Any]]) -> Reply:
        """The agent's own tools from now on, after a reconnect too."""
        reply = await self.request("tools", tools=list(tools))
        self._tools = list(tools)
        return reply

    async def stop(self, batch: int | str | None = None) -> Reply:
        return await self.request("stop", **given(batch=batch))

    async def resolve(self, handle: str, offset: int = 0, limit: int | None = None) -> Reply:
        """Reads on in a result that was too long for its reply: `text`, and `next_offset` where more is."""
        return await self.request("resolve", handle=handle, offset=offset, **given(limit=limit))

    async def subscribe(self, events: Sequence[str]) -> Reply:
        """After this, events come out of `events`; what is not taken in time is dropped and counted."""
        reply = await self.request("subscribe", events=list(events))
        self._subscribed = list(events)
        return reply

    async def decide(self, approval: str, decision: str) -> Reply:
        """`approve`, `session`, `always` or `deny`, for a prompt of this session."""
        return await self.request("decide", approval=approval, decision=decision)

    async def bye(self) -> Reply:
        """Ends the session; the client does not reconnect after it."""
        self._reconnect_s = None
        return await self.request("bye")

    # --- the connection -----------------------------------------------------------------------------

    async def _open(self, wait_s: float) -> None:
        """Raises NO_DAEMON after `wait_s`, or where nobody greets in time; NOT_ALLOWED where the socket is
        another's; or what the daemon refuses the hello with."""
        give_up = trio.current_time() + wait_s
        while True:
            try:
                stream = await self._dial()
                break
            except OSError as error:
                pause_s = random.uniform(0.1, RECONNECT_S)  # noqa: S311 - spreads load, guards nothing
                if trio.current_time() + pause_s > give_up:
                    raise no_daemon(self._path, error) from error
                await trio.sleep(pause_s)
        self._frames = FrameDecoder(MAX_FRAME_BYTES)
        try:
            with trio.move_on_after(GREETING_S) as greeting:
                await self._send(self._hello, stream)
                self.welcome = raise_if_error(await self._receive(stream))
            if greeting.cancelled_caught:
                raise silent(self._path, _listener_of(stream), GREETING_S)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            stream.socket.close()
            raise ended("hello") from error
        except BaseException:
            stream.socket.close()
            raise
        self._stream = stream  # requests may follow from here on
        self.fresh = True
        self._back.set()

    async def _dial(self) -> trio.SocketStream:
        """Raises OSError where nobody listens, NO_DAEMON or NOT_ALLOWED."""
        with trio.move_on_after(GREETING_S):
            while True:
                try:
                    sock = dial(self._path)
                except BlockingIOError:
                    await trio.sleep(_DIAL_S)
                except RefusedError as error:
                    raise not_ours(error) from error
                else:
                    return trio.SocketStream(trio.socket.from_stdlib_socket(sock))
        raise silent(self._path, 0, GREETING_S)

    async def _run(self) -> None:
        try:
            while True:
                await self._read_to_end()
                if self._reconnect_s is None:
                    return
                await self._reopen()
        except ToolsearchdError:
            pass  # refused for good: each request says so
        finally:
            self.closed.set()
            self._back.set()
            self._events_in.close()

    async def _read_to_end(self) -> None:
        try:
            while self._stream is not None:
                self._take(await self._receive(self._stream))
        except ToolsearchdError:
            pass  # the end of the connection
        finally:
            if self._reconnect_s is not None:
                self._back = trio.Event()
            self._close_stream()
            for event, _ in self._waiting.values():
                event.set()

    async def _reopen(self) -> None:
        while True:
            # Everybody lost the daemon in the same moment.
            await trio.sleep(random.uniform(0.05, 1.0))  # noqa: S311 - as above
            try:
                await self._open(RECONNECT_S)
                if self._tools is not None:  # a hello may be too small for them
                    await self._send({"op": "tools", "id": next(self._ids), "tools": self._tools})
                if self._subscribed:
                    await self._send({"op": "subscribe", "id": next(self._ids), "events": self._subscribed})
            except ToolsearchdError as error:
                if error.code not in _NOT_YET:
                    self._failure = error
                    raise
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # it went again: reading finds that out
            else:
                return

    async def _wait_back(self) -> None:
        with trio.move_on_after(self._reconnect_s or 0):
            await self._back.wait()
        if self._failure is not None:
            raise ToolsearchdError(self._failure.code, self._failure.message)
        if self._stream is None:
            raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection and is not back")

    def _take(self, reply: Reply) -> None:
        if "id" in reply:
            waiting = self._waiting.get(reply["id"])
            if waiting is not None:  # else its wait was cancelled
                waiting[1].append(reply)
                waiting[0].set()
            return
        if self._run_tool is not None and self._nursery is not None:
            if reply["op"] == "call_requested":
                self._nursery.start_soon(self._answer, self._run_tool, reply)
                return
            if reply["op"] == "call_cancelled":
                if reply["call"] in self._running:
                    self._running[reply["call"]].cancel()
                return
        try:
            self._events_in.send_nowait(reply)
        except trio.WouldBlock:
            self.dropped_events += 1

    async def _answer(self, run_tool: RunTool, asked: Reply) -> None:
        """Runs one of the agent's own tools and tells the daemon what became of it."""
        call: str = asked["call"]
        with trio.CancelScope() as scope:
            self._running[call] = scope
            try:
                outcome: dict[str, Any] = {"response": await run_tool(asked["name"], asked["arguments"])}
                encode_frame(outcome)  # what can't be sent is an error too
            except Exception as error:  # noqa: BLE001 - the tool's own fault, for whoever called it
                outcome = {"error": f"{type(error).__name__}: {error}"}
            finally:
                del self._running[call]
        if scope.cancelled_caught:
            return
        try:
            await self.request("call_result", call=call, **outcome)
        except ToolsearchdError:
            pass  # the daemon went: the call ended with it

    async def _send(self, message: dict[str, Any], stream: trio.SocketStream | None = None) -> None:
        """A torn frame would end the session: cancelling waits until the frame is out, at most 30 s."""
        async with self._sending:
            stream = stream or self._stream
            if stream is None:
                raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection; nothing was sent")
            with trio.move_on_after(_SEND_S, shield=True) as scope:
                await stream.send_all(encode_frame(message))
            if scope.cancelled_caught:
                stream.socket.close()
                raise trio.BrokenResourceError("the daemon reads nothing")

    async def _receive(self, stream: trio.SocketStream) -> Reply:
        while (payload := self._frames.next_payload()) is None:
            try:
                data = await stream.receive_some(READ_SIZE)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection")
            self._frames.feed(bytes(data))
        reply: Reply = msgspec.msgpack.decode(payload)
        return reply

    def _close_stream(self) -> None:
        """At once: whoever sends or receives gets ClosedResourceError."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.socket.close()


def _listener_of(stream: trio.SocketStream | None) -> int:
    return 0 if stream is None else peer_pid(stream.socket)
