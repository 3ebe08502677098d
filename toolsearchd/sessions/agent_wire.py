"""Serves one agent's connection: frames in, a session's answers out.

Search, describe, ping and stop are answered here, in the connection's task, before the next frame is looked
at; calls go to the dispatcher and answer when they end, so a stop never queues behind what it stops. After a
hello with `mcp: true` the stream belongs to the MCP door. An agent that ends its sending and reads on gets
what it asked for first; one that is gone is let go at once.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import trio

from toolsearchd.calls.sender import OnProgress
from toolsearchd.disclosure.gate import clean_error
from toolsearchd.disclosure.sanitise import clipped
from toolsearchd.dispatch.entry import Entry
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.connection import AgentConnection, Refusal, error_frame, event_frame
from toolsearchd.protocol.events import Event, ProgressMade
from toolsearchd.protocol.replies import DoorWelcome, SubscribeReply
from toolsearchd.protocol.requests import (
    EVENTS,
    PROTOCOL,
    AssembleRequest,
    ByeRequest,
    CallRequest,
    CallResultRequest,
    DecideRequest,
    DescribeRequest,
    ExplainRequest,
    Hello,
    PingRequest,
    Request,
    ResolveRequest,
    SearchRequest,
    StopRequest,
    SubscribeRequest,
    ToolsRequest,
    UseRequest,
)
from toolsearchd.records import WireRecord
from toolsearchd.sessions.session import Session
from toolsearchd.sessions.sessions import Sessions
from toolsearchd.system import guard
from toolsearchd.system.guard import guarded
from toolsearchd.system.pacing import Slices
from toolsearchd.system.peer import Peer
from toolsearchd.system.stream import PeerStalledError, PeerStream

log = logging.getLogger(__name__)

_LAST_WORDS_S = 1.0  # for what a peer that we let go has not read yet

ServeMcp = Callable[[PeerStream, bytes, Hello, Peer], Awaitable[None]]
"""(stream, bytes after the hello, hello, peer): the door takes the connection over until it ends."""


class AgentWire:
    """Composed once; `serve` runs per connection."""

    def __init__(self, sessions: Sessions, limits: Limits, serve_mcp: ServeMcp | None = None) -> None:
        self._sessions = sessions
        self._limits = limits
        self._serve_mcp = serve_mcp

    async def serve(self, sock: socket.socket, peer: Peer) -> None:
        stream = PeerStream(sock, self._limits)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stream.run_writer)
                await _Conversation(
                    stream, peer, self._sessions, self._limits, self._serve_mcp, nursery
                ).run()
                with trio.move_on_after(_LAST_WORDS_S):
                    await stream.drain()
                nursery.cancel_scope.cancel()
        except* PeerStalledError as stalled:
            log.info("pid %d does not read: %s", peer.pid, stalled.exceptions[0])
        finally:
            stream.close()


class _Conversation:
    def __init__(
        self,
        stream: PeerStream,
        peer: Peer,
        sessions: Sessions,
        limits: Limits,
        serve_mcp: ServeMcp | None,
        nursery: trio.Nursery,
    ) -> None:
        self._stream = stream
        self._peer = peer
        self._sessions = sessions
        self._wire = AgentConnection(limits)
        self._limits = limits
        self._serve_mcp = serve_mcp
        self._nursery = nursery
        self._session: Session | None = None
        self._done = False
        self._slices = Slices(limits.turn_s)

    async def run(self) -> None:
        hello = None
        with trio.move_on_after(self._limits.hello_timeout_s):
            hello = await self._wait_hello()
        if hello is None:
            return
        if hello.mcp and self._serve_mcp is not None:
            self._stream.send_nowait(self._wire.welcome(DoorWelcome(protocol=PROTOCOL)))
            await self._serve_mcp(self._stream, self._wire.take_rest(), hello, self._peer)
            return

        def refuse(error: ToolsearchdError) -> None:
            self._stream.send_nowait(error_frame(None, clean_error(error)))

        with guarded("opening a session", refuse):
            self._session = await self._sessions.open(hello, self._peer)
        session = self._session
        if session is None:
            return
        session.emit, session.ask = self._send_event, self._ask
        session.account.unread = lambda: self._stream.outbox_bytes
        self._stream.on_taken = session.account.changed
        try:
            self._stream.send_nowait(self._wire.welcome(self._sessions.welcome(session)))
            await self._serve(b"")  # requests may have come in one segment with the hello
            while not self._done and (data := await self._stream.receive()):
                await self._serve(data)
            if not self._done:
                await self._wait_answered(session)
        finally:
            self._session = None
            self._sessions.close(session)

    async def _wait_answered(self, session: Session) -> None:
        """The agent sends nothing more. Where it reads on, its open calls go on to their ends, and it has all
        replies; how long it may take over them is the writer's to bound."""
        if self._stream.is_gone:
            return
        session.fall_silent()
        await self._stream.wait_answered(lambda: not self._wire.open_ids)
        await self._stream.drain()

    async def _wait_hello(self) -> Hello | None:
        while data := await self._stream.receive():
            for item in self._wire.receive(data):
                if isinstance(item, Hello):
                    return item
                assert isinstance(item, Refusal)
                self._stream.send_nowait(item.frame)
                return None
        return None

    async def _serve(self, data: bytes) -> None:
        """One request after the other. A segment can hold a thousand: others have their turns in between, and
        nothing is answered for a peer that leaves more unread than it may."""
        for item in self._wire.receive(data):
            if isinstance(item, Refusal):
                self._stream.send_nowait(item.frame)
                self._done |= item.close
            else:
                assert isinstance(item, Request)
                self._answer(item)
                if isinstance(
                    item, CallRequest
                ):  # the next may be as long, and others have their stops to say
                    await trio.lowlevel.checkpoint()
            if self._done:
                return
            await self._slices.breathe()
            await self._stream.wait_room()

    def _answer(self, request: Request) -> None:
        with guarded(f"answering {type(request).__name__}", partial(self._reply, request)):
            reply = self._reply_to(request)
            if reply is not None:
                self._reply(request, reply)

    def _reply_to(self, request: Request) -> WireRecord | None:
        """The reply; None where it comes later. Raises what refuses the request."""
        session = self._session
        assert session is not None
        match request:
            case SearchRequest():
                args = _given(request, "queries", "query", "limit", "scores")
                if unread := session.unread_queries(args):
                    self._once_read(request, unread, lambda: self._reply(request, session.search(args)))
                    return None
                return session.search(args)
            case DescribeRequest():
                return session.describe(_given(request, "names", "name"))
            case PingRequest():
                return session.ping()
            case StopRequest():
                return session.stop(request.batch)
            case CallRequest():
                self._submit(session, request)
            case UseRequest():
                self._use(session, request)
            case AssembleRequest():
                assembling = partial(
                    session.assemble,
                    context_length=request.context_length,
                    encoding=request.encoding,
                    model=request.model,
                    refresh=request.refresh,
                )
                self._answer_later(request, assembling)
            case ToolsRequest():
                self._answer_later(request, partial(session.set_tools, request.tools))
            case CallResultRequest():
                return session.call_result(request.call, request.response, request.error)
            case ExplainRequest():
                return session.explain(request.query, request.tool)
            case ResolveRequest():
                return session.resolve(request.handle, request.offset, request.limit)
            case SubscribeRequest():
                return self._subscribe(session, request)
            case DecideRequest():
                return session.decide(request.approval, request.decision)
            case ByeRequest():
                self._done = True
                return session.ping()
            case _:  # a message without a branch here is a bug, not the peer's
                raise AssertionError(request)
        return None

    def _reply(self, request: Request, reply: WireRecord | ToolsearchdError) -> None:
        """The one answer to a request: its reply, or what ended it."""
        if isinstance(reply, ToolsearchdError):
            self._stream.send_nowait(self._wire.error(request.id, clean_error(reply)))
        else:
            self._stream.send_nowait(self._wire.result(request.id, reply))

    def _submit(self, session: Session, request: CallRequest) -> None:
        args = {"calls": request.calls}
        if request.calls is None:
            args = {"name": request.name, "arguments": request.arguments}

        session.submit_call(
            request.id, args, partial(self._reply, request), self._progress_of(session, request)
        )

    def _use(self, session: Session, request: UseRequest) -> None:
        arguments = request.arguments if request.arguments is not None else {}
        if not isinstance(arguments, Mapping):
            raise ToolsearchdError("BAD_ARGUMENTS", "arguments: expected an object", field="arguments")
        using = partial(
            session.use,
            request.id,
            request.tool,
            arguments,
            partial(self._reply, request),
            self._progress_of(session, request),
        )
        is_search = session.bridge.get(request.tool) == "search"
        if unread := session.unread_queries(arguments) if is_search else []:
            self._once_read(request, unread, using)
        else:
            using()

    def _once_read(self, request: Request, queries: list[str], then: Callable[[], None]) -> None:
        """When the sentence model has read the queries, or was late."""
        session = self._session
        assert session is not None

        async def waiting() -> None:
            await session.await_vectors(queries)
            then()

        what = f"answering {type(request).__name__}"
        guard.start(self._nursery, what, waiting, tell=partial(self._reply, request))

    def _progress_of(self, session: Session, request: CallRequest | UseRequest) -> OnProgress:
        def on_progress(entry: Entry, progress: float, total: float | None, message: str | None) -> None:
            session.notify(
                ProgressMade(
                    batch=request.id,
                    index=entry.index,
                    name=entry.name,
                    progress=progress,
                    total=total,
                    message=message,
                )
            )

        return on_progress

    def _answer_later(self, request: Request, answer: Callable[[], Awaitable[WireRecord]]) -> None:
        async def answering() -> None:
            self._reply(request, await answer())

        what = f"answering {type(request).__name__}"
        guard.start(self._nursery, what, answering, tell=partial(self._reply, request))

    def _subscribe(self, session: Session, request: SubscribeRequest) -> SubscribeReply:
        unknown = sorted(set(request.events) - set(EVENTS))
        if unknown:
            raise ToolsearchdError(
                "BAD_ARGUMENTS",
                f"no such events: {clipped(', '.join(unknown), 200)}; there are {', '.join(EVENTS)}",
            )
        session.listen(request.events)
        return SubscribeReply(events=sorted(session.events), **session.ping().members())

    def _send_event(self, event: Event) -> None:
        # An event is dropped, not queued, for a peer that leaves its replies unread.
        if self._stream.outbox_bytes <= self._limits.frame_bytes_before_hello:
            self._stream.send_nowait(event_frame(event))

    def _ask(self, event: Event) -> None:
        """An event that the agent is to act on: never dropped; who leaves it unread is cut in time."""
        self._stream.send_nowait(event_frame(event))


def _given(request: Request, *fields: str) -> dict[str, Any]:
    """The named fields that the request holds: a model's arguments, as they came."""
    return {field: value for field in fields if (value := getattr(request, field)) is not None}
