"""One MCP session of the door, on the SDK's low-level server: both eras of the protocol.

The session behind it is opened by the first request that says who the client is: `initialize`, or, in the
2026-07-28 revision, any. `tools/list` is what `assemble` gives. Calls run concurrently; a cancelled one is
stopped before the SDK hears of it, and gets no answer. The client's end of stream closes the session.

Imports the SDK: import it through `McpDoor` only.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import trio
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    PaginatedRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolsearchd import __version__
from toolsearchd.doors.calls import ElicitedQuestions, PendingCall, Reply
from toolsearchd.doors.carried import carried_result
from toolsearchd.doors.client_side import ClientSide
from toolsearchd.doors.elicitation import (
    ElicitationRound,
    ElicitationRounds,
    InputRequired,
    deliver,
    subject_of,
)
from toolsearchd.doors.forms import ApprovalForms, has_form
from toolsearchd.doors.listed import ListedTools
from toolsearchd.doors.mcp import CloseSession, DoorSession, DoorStream
from toolsearchd.doors.offers import OfferingServers
from toolsearchd.doors.passthrough import CACHED, Passing
from toolsearchd.doors.results import (
    call_result,
    error_result,
    named_as_called,
    reply_result,
    told_result,
)
from toolsearchd.doors.texts import cut_for
from toolsearchd.doors.tools import DoorNames
from toolsearchd.doors.watches import Watches
from toolsearchd.doors.wire import Charges, MessageSink, MessageSource, RequestId
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.events import CatalogChanged, Event
from toolsearchd.records import WireRecord
from toolsearchd.system import guard
from toolsearchd.system.guard import guarded
from toolsearchd.system.signal import Signal

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
OpenFor = Callable[[str, str | None], Awaitable[DoorSession]]
"""(the client's name, how it is to get its listing or None for what it asked) → its session."""


class McpSession:
    """`run` once."""

    def __init__(
        self,
        stream: DoorStream,
        first_bytes: bytes,
        *,
        open_session: OpenFor,
        close_session: CloseSession,
        limits: Limits,
        servers: OfferingServers,
        watches: Watches,
    ) -> None:
        self._stream = stream
        self._open_session = open_session
        self._close_session = close_session
        self._limits = limits
        self._charges = Charges(limits.outstanding_bytes)
        self._sink = MessageSink(stream, self._charges, limits)
        self._source = MessageSource(
            stream,
            first_bytes,
            self._sink,
            self._charges,
            limits,
            on_cancelled=self._stop_cancelled,
            on_silent=self._fall_silent,
        )
        self._bus = InMemorySubscriptionBus()
        self._client = ClientSide(self._sink.tell_nowait, self._newest_call)
        self._rounds = ElicitationRounds(limits.approval_answer_s)
        self._passing = Passing(
            servers, watches, self._client, lambda: self._open, limits, answered=self._answered_in_rounds
        )
        self._session: DoorSession | None = None
        self._opening: trio.Event | None = None
        self._tools = ListedTools(lambda: self._open, limits)
        self._names: DoorNames | None = None
        self._forms: ApprovalForms | None = None
        self._nursery: trio.Nursery | None = None
        self._legacy: Any = None  # the SDK's session to send notifications by, in the handshake era
        self._changed = Signal()
        self._keys = itertools.count(1)
        self._calls: dict[RequestId, PendingCall] = {}
        self._window = trio.CapacityLimiter(limits.open_requests)

    async def run(self) -> None:
        """Until the peer ends the stream. Cancelled, it leaves running calls to their end, unheard."""
        server = self._build_server()
        options = server.create_initialization_options(NotificationOptions(True, True, True))
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                guard.start(nursery, "watching the catalog for an MCP client", self._watch_catalog)
                announcing = self._passing.announce, self._bus, self._sink.send_nowait
                guard.start(nursery, "announcing changes to an MCP client", *announcing)
                await server.run(self._source, self._sink, options)
                nursery.cancel_scope.cancel()
        finally:
            self._source.ended = True
            if self._session is not None:
                self._close_session(self._session)
            await self._passing.leave()

    def hear(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """A server tells all of its clients of a change."""
        if self._session is not None:
            self._passing.hear(server, method, params)

    def _build_server(self) -> Server[Any]:
        private = CacheHint(ttl_ms=0, scope="private")  # each client has a grant of its own
        server: Server[Any] = Server(
            "toolsearchd",
            version=__version__,
            title="toolsearchd",
            cache_hints=dict.fromkeys(("tools/list", "server/discover", *CACHED), private),  # type: ignore[arg-type]
            on_list_tools=_list_nothing,  # type: ignore[arg-type]  # maps are accepted as results
            on_call_tool=self._call_tool,  # type: ignore[arg-type]
            on_subscriptions_listen=self._passing.listening(
                ListenHandler(self._bus, max_subscriptions=16, max_buffered_events=16)
            ),
        )
        self._passing.register(server)
        server.middleware = [self._around]
        return server

    # --- the session behind ---------------------------------------------------------------------

    async def _around(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Every message passes here: opens the session, adds the instructions, ends the charge."""
        if ctx.request_id is None:
            return await call_next(ctx)
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        try:
            if modern:
                await self._ensure_session(
                    _client_name((ctx.params or {}).get("_meta"), CLIENT_INFO_META_KEY)
                )
            result = await call_next(ctx)
            if ctx.method == "initialize":
                await self._ensure_session(_client_name(ctx.params, "clientInfo"))
                self._legacy = ctx.session
                self._client.shake_hands(ctx.session._connection.outbound, ctx.params)
                self._use_form(ctx)
            if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
                result["instructions"] = await self._tools.instructions()
            if ctx.method == "tools/list" and isinstance(result, dict):
                cursor = (ctx.params or {}).get("cursor")
                result |= await self._tools.page(cursor, ctx.protocol_version)
            return result
        except ToolsearchdError as error:
            raise MCPError(code=INVALID_PARAMS, message=error.message, data=error.as_fields()) from error
        except (MCPError, ValidationError):
            raise  # the SDK's to answer
        except Exception as bug:
            told = guard.caught("answering an MCP client", bug)
            raise MCPError(code=INTERNAL_ERROR, message=told.message, data=told.as_fields()) from bug
        finally:
            self._charges.release(ctx.request_id)

    async def _ensure_session(self, client: str) -> None:
        """Opens the session, once; who comes meanwhile waits for it, or tries again where that failed."""
        while self._session is None:
            if self._opening is not None:
                await self._opening.wait()
                continue
            self._opening = trio.Event()
            try:
                self._tools.cut = cut_for(client)
                session = await self._open_session(client, "separate" if self._tools.cut else None)
                session.events.add("catalog_changed")
                session.emit = self._hear
                session.client_side = self._client
                session.account.unread = self._unread_bytes
                self._stream.on_taken = session.account.changed
                self._session = session
            finally:
                self._opening.set()
                self._opening = None

    def _use_form(self, ctx: Context) -> None:
        """Where the client has a form for its user, approvals are asked for there too."""
        if has_form(ctx.params) and self._forms is None and self._open.answer_by_form(True):
            assert self._nursery is not None
            self._forms = ApprovalForms(self._open, ctx.session, self._nursery)

    @property
    def _open(self) -> DoorSession:
        if self._session is None:
            raise ToolsearchdError("WRONG_STATE", "the session begins with `initialize`")
        return self._session

    def _unread_bytes(self) -> int:
        """What the stream holds, and room for a reply that is on its way to it."""
        is_coming = any(call.reply is not None for call in self._calls.values())
        return self._stream.outbox_bytes + (self._limits.frame_bytes if is_coming else 0)

    # --- changes --------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        if self._forms is not None:
            self._forms.hear(event)
        if isinstance(event, CatalogChanged):
            self._changed.set()
            self._passing.catalog_changed()

    async def _watch_catalog(self) -> None:
        """Says once, per change, that the tools changed; many changes at once are one."""
        while True:
            await self._changed.wait_and_clear()
            with guarded("telling an MCP client of the catalog's change"):
                if await self._tools.take_news():
                    if self._legacy is not None:
                        await self._legacy.send_tool_list_changed()
                    await self._bus.publish(ToolsListChanged())
            await trio.sleep(self._limits.list_min_interval_s)

    # --- tools/call -----------------------------------------------------------------------------

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> dict[str, Any]:
        resumed, errors = self._resumed(ctx), list[ToolsearchdError]()
        with guarded("answering a client's tools/call", errors.append):
            try:
                result = await self._called(ctx, params.name, params.arguments or {}, resumed)
            except InputRequired as required:
                return required.result
            return carried_result(result, ctx.protocol_version)
        return carried_result(error_result(errors[0]), ctx.protocol_version)

    async def _called(
        self, ctx: Context, name: str, arguments: dict[str, Any], resumed: PendingCall | None
    ) -> dict[str, Any]:
        session = self._open
        verb = session.bridge.get(name)
        if verb == "search":
            await session.await_vectors(session.unread_queries(arguments))
            found = session.search(arguments)
            if "call" not in session.bridge.values():
                self._changed.set()  # what it found stands among the tools from now on
            return reply_result(found.members())
        if verb == "describe":
            return reply_result(session.describe(arguments).members())
        called = name
        if verb is None:
            view = session.view
            if self._names is None or self._names.view is not view:
                self._names = DoorNames(view)
            name = self._names.resolve(name)
        calls = session.calls_of(name, arguments)
        async with self._window:
            reply = await self._run_batch(ctx, session, calls.args, resumed)
        self._note_links(session, reply)
        if name != called:
            reply = named_as_called(reply, name, called)
        if calls.text_of is None:
            return call_result(reply)
        value = calls.value_of(reply)
        return told_result(value, calls.text_of(value))

    def _note_links(self, session: DoorSession, reply: dict[str, Any]) -> None:
        """The resources that a result links to can be read by the URI that stands there."""
        for slot in reply["results"]:
            tool = session.view.tool_named(slot["name"]) if "response" in slot else None
            if tool is not None:
                self._passing.offers.note_links(tool.server, slot["response"])

    def _newest_call(self) -> PendingCall | None:
        """That a client of the stateless revision waits for; it may be any of them, for what it is asked."""
        return next((call for call in reversed(self._calls.values()) if not call.abandoned), None)

    async def _run_batch(
        self, ctx: Context, session: DoorSession, arguments: dict[str, Any], resumed: PendingCall | None
    ) -> dict[str, Any]:
        call = resumed
        if call is None:
            key, call = next(self._keys), self._pending(ctx)
            call.stop = partial(self._stop, key)
            wants_progress = "progressToken" in ((ctx.params or {}).get("_meta") or {})
            session.submit_call(key, arguments, call.deliver, call.report if wants_progress else None)
        reply = await self._reply(ctx, call)
        assert isinstance(reply, WireRecord)
        return reply.members()

    async def _answered_in_rounds(
        self, ctx: Context, ask: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """What `ask` gives; of what is asked meanwhile, a client of the stateless revision is asked round by
        round. Raises `InputRequired` and what `ask` raises."""
        if self._client.is_met:
            return await ask()
        call = self._resumed(ctx)
        if call is None:
            call, scope = self._pending(ctx), trio.CancelScope()
            call.stop = scope.cancel
            assert self._nursery is not None
            guard.start(self._nursery, "asking a server for an MCP client", deliver, call, ask, scope)
        reply = await self._reply(ctx, call)
        assert isinstance(reply, dict)
        return reply

    def _resumed(self, ctx: Context) -> PendingCall | None:
        """The call that the request goes on with, if it does. Raises `MCPError`."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return None
        return self._rounds.resume(subject_of(ctx.method, ctx.params), ctx.params or {})

    def _pending(self, ctx: Context) -> PendingCall:
        meta = (ctx.params or {}).get("_meta") or {}
        return PendingCall(subject_of(ctx.method, ctx.params), meta.get(CLIENT_CAPABILITIES_META_KEY))

    async def _reply(self, ctx: Context, call: PendingCall) -> Reply:
        """The call's reply, its progress told before. Raises `InputRequired` where the client is to be asked
        first, and the reply where that is an error."""
        request_id, goes_on = ctx.request_id, False
        assert request_id is not None
        self._calls[request_id] = call
        try:
            while (news := await call.next_news()) is not None:
                if isinstance(news, ElicitedQuestions):
                    assert self._nursery is not None
                    goes_on = True
                    raise self._rounds.begin(self._nursery, ElicitationRound(call, news))
                await ctx.session.report_progress(*news)
            assert call.reply is not None
            if isinstance(call.reply, Exception):
                raise call.reply
            return call.reply
        finally:
            if self._calls.get(request_id) is call:
                del self._calls[request_id]
                self._open.account.changed()
            if call.reply is None and not goes_on and not self._source.ended:
                call.stop()

    def _stop_cancelled(self, request_id: RequestId) -> None:
        """The client cancelled a request: its call is stopped now, before the message goes any further."""
        call = self._calls.get(request_id)
        if call is not None:
            call.abandoned = True
            call.stop()

    def _fall_silent(self) -> None:
        """The client sends nothing more: what only the client could answer is asked of it no longer."""
        self._client.close()
        if self._session is not None:
            self._session.answer_by_form(False)

    def _stop(self, key: int) -> None:
        with suppress(ToolsearchdError):  # it ended by itself
            self._open.stop(key)


def _client_name(params: Any, key: str) -> str:
    info = params.get(key) if isinstance(params, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


async def _list_nothing(_ctx: Context, _params: PaginatedRequestParams | None) -> dict[str, Any]:
    """The frame of the answer. `_around` puts the tools in: the SDK would check a list as a whole, which
    holds the loop for long ones and refuses all of it for one odd definition."""
    return {"tools": [], "resultType": "complete"}
