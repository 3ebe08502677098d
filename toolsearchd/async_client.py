"""The Python client under trio: one session, any number of requests at once, events, reconnection."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from toolsearchd.client_wire import (
    MAX_FRAME_BYTES,
    READ_SIZE,
    ended,
    given,
    hello_message,
    no_daemon,
    not_ours,
    silent,
    socket_path,
)
from toolsearchd.endpoint import GREETING_S, RefusedError, dial, peer_pid
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.events import CallCancelled, CallRequested, Event
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.protocol.received import Received, ReplyT
from toolsearchd.protocol.replies import (
    REPLIES,
    AssembleReply,
    CallReply,
    CallResultReply,
    DecideReply,
    DescribeReply,
    ExplainReply,
    OwnWords,
    ResolveReply,
    SearchReply,
    Stamped,
    StopReply,
    SubscribeReply,
    ToolsReply,
    UseReply,
    Welcome,
)
from toolsearchd.protocol.requests import RequestId
from toolsearchd.records import Open, WireRecord

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
        self._waiting: dict[RequestId, tuple[trio.Event, list[Received]]] = {}
        self._subscribed: list[str] = []
        self._tools: list[dict[str, Any]] | None = None  # set since the hello
        self._sending = trio.CapacityLimiter(1)
        self._back = trio.Event()  # set once there is a session again
        self._events_in, self.events = trio.open_memory_channel[Event | Open](256)
        self.dropped_events = 0
        self.closed = trio.Event()
        self._failure: ToolsearchdError | None = None  # why it will never be back
        self.fresh = True
        self.welcome: Welcome

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
        `hello`: its other fields, `profile` or `only={"servers": ["github"]}` for example.
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

    async def request(self, op: str, **fields: Any) -> WireRecord:
        """One request. Cancelling the wait leaves the request running; `stop` is what stops a call. The
        operations' own methods say of which kind the reply is."""
        return (await self._wait(op, fields)).result(op, REPLIES)

    async def ping(self) -> Stamped:
        """Raises NO_DAEMON where the answer does not come at once; the connection stays."""
        if self._stream is None:
            await self._wait_back()
        with trio.move_on_after(GREETING_S):
            return await self._ask(Stamped, "ping")
        raise silent(self._path, _listener_of(self._stream), GREETING_S)

    async def assemble(self, *, refresh: bool = False, **fields: Any) -> AssembleReply:
        """What a model is given: see the protocol's `assemble`."""
        if self._stream is None:
            await self._wait_back()
        session = self.welcome
        reply = await self._ask(AssembleReply, "assemble", refresh=refresh, **given(**fields))
        self.fresh = self.fresh and session is not self.welcome
        return reply

    async def search(
        self, queries: Sequence[str], limit: int | None = None, *, scores: bool | None = None
    ) -> SearchReply | OwnWords:
        """`OwnWords` where the session's dialect has a shape of its own."""
        received = await self._wait("search", {"queries": list(queries), **given(limit=limit, scores=scores)})
        return received.found(SearchReply)

    async def describe(self, names: Sequence[str]) -> DescribeReply | OwnWords:
        """`OwnWords` where the session's dialect has a shape of its own."""
        return (await self._wait("describe", {"names": list(names)})).found(DescribeReply)

    async def explain(self, query: str, tool: str | None = None) -> ExplainReply:
        return await self._ask(ExplainReply, "explain", query=query, **given(tool=tool))

    async def call(self, calls: Sequence[dict[str, Any]]) -> CallReply:
        return await self._ask(CallReply, "call", calls=list(calls))

    async def use(self, tool: str, arguments: dict[str, Any]) -> UseReply:
        """A model's call of a tool that `assemble` gave; the reply's `text` or `value` is for the model."""
        return await self._ask(UseReply, "use", tool=tool, arguments=arguments)

    async def set_tools(self, tools: Sequence[dict[str, Any]]) -> ToolsReply:
        """The agent's own tools from now on, after a reconnect too."""
        reply = await self._ask(ToolsReply, "tools", tools=list(tools))
        self._tools = list(tools)
        return reply

    async def call_result(self, call: str, **outcome: Any) -> CallResultReply:
        """What became of a `call_requested`: `response=` or `error=`. `run_tool` does it by itself."""
        return await self._ask(CallResultReply, "call_result", call=call, **outcome)

    async def stop(self, batch: int | str | None = None) -> StopReply:
        return await self._ask(StopReply, "stop", **given(batch=batch))

    async def resolve(self, handle: str, offset: int = 0, limit: int | None = None) -> ResolveReply:
        """Reads on in a result that was too long for its reply: `text`, and `next_offset` where more is."""
        return await self._ask(ResolveReply, "resolve", handle=handle, offset=offset, **given(limit=limit))

    async def subscribe(self, events: Sequence[str]) -> SubscribeReply:
        """After this, events come out of `events`; what is not taken in time is dropped and counted."""
        reply = await self._ask(SubscribeReply, "subscribe", events=list(events))
        self._subscribed = list(events)
        return reply

    async def decide(self, approval: str, decision: str) -> DecideReply:
        """`approve`, `session`, `always` or `deny`, for a prompt of this session."""
        return await self._ask(DecideReply, "decide", approval=approval, decision=decision)

    async def bye(self) -> Stamped:
        """Ends the session; the client does not reconnect after it."""
        self._reconnect_s = None
        return await self._ask(Stamped, "bye")

    async def _ask(self, kind: type[ReplyT], op: str, **fields: Any) -> ReplyT:
        return (await self._wait(op, fields)).reply(kind)

    async def _wait(self, op: str, fields: dict[str, Any]) -> Received:
        if self._stream is None:
            await self._wait_back()
        request_id = next(self._ids)
        answered: tuple[trio.Event, list[Received]] = (trio.Event(), [])
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
        return answered[1][0]

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
                self.welcome = (await self._receive(stream)).reply(Welcome)
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

    def _take(self, received: Received) -> None:
        if received.id is not None:
            waiting = self._waiting.get(received.id)
            if waiting is not None:  # else its wait was cancelled
                waiting[1].append(received)
                waiting[0].set()
            return
        event = received.event()
        if self._run_tool is not None and self._nursery is not None:
            if isinstance(event, CallRequested):
                self._nursery.start_soon(self._answer, self._run_tool, event)
                return
            if isinstance(event, CallCancelled):
                if event.call in self._running:
                    self._running[event.call].cancel()
                return
        try:
            self._events_in.send_nowait(event)
        except trio.WouldBlock:
            self.dropped_events += 1

    async def _answer(self, run_tool: RunTool, asked: CallRequested) -> None:
        """Runs one of the agent's own tools and tells the daemon what became of it."""
        call = asked.call
        with trio.CancelScope() as scope:
            self._running[call] = scope
            try:
                outcome: dict[str, Any] = {"response": await run_tool(asked.name, asked.arguments)}
                encode_frame(outcome)  # what can't be sent is an error too
            except Exception as error:  # noqa: BLE001 - the tool's own fault, for whoever called it
                outcome = {"error": f"{type(error).__name__}: {error}"}
            finally:
                del self._running[call]
        if scope.cancelled_caught:
            return
        try:
            await self.call_result(call, **outcome)
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

    async def _receive(self, stream: trio.SocketStream) -> Received:
        while (payload := self._frames.next_payload()) is None:
            try:
                data = await stream.receive_some(READ_SIZE)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                raise ToolsearchdError("NO_DAEMON", "the daemon closed the connection")
            self._frames.feed(bytes(data))
        return Received(payload)

    def _close_stream(self) -> None:
        """At once: whoever sends or receives gets ClosedResourceError."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.socket.close()


def _listener_of(stream: trio.SocketStream | None) -> int:
    return 0 if stream is None else peer_pid(stream.socket)
