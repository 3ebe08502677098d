"""Requests that are no tool's, passed to the granted servers: prompts, resources, completions, log levels.

A server's own error reaches the client as it is. Changes are announced once each, however many a server
tells. Imports the SDK: import it through `McpDoor` only.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import trio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    EmptyResult,
    GetPromptRequestParams,
    JSONRPCNotification,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

from toolsearchd.doors.client_side import ClientSide
from toolsearchd.doors.elicitation import InputRequired
from toolsearchd.doors.mcp import DoorSession
from toolsearchd.doors.offers import (
    KINDS,
    PROMPTS,
    RESOURCES,
    TEMPLATES,
    NotFoundError,
    OfferingServers,
    Offers,
)
from toolsearchd.doors.revisions import serialised_answer, serialised_item
from toolsearchd.doors.watches import Watch, Watches
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.system.guard import guarded
from toolsearchd.system.signal import Signal

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
Answered = Callable[[Context, Callable[[], Awaitable[dict[str, Any]]]], Awaitable[dict[str, Any]]]

CACHED = (PROMPTS.method, RESOURCES.method, TEMPLATES.method, "resources/read")
_PAGE_BYTES = 1024 * 1024  # of items in one answer: one message is encoded in one go
_LEAVE_S = 2.0  # for the servers to hear that nobody listens any more
_LISTS: dict[str, tuple[str, ServerEvent]] = {
    "notifications/prompts/list_changed": (PROMPTS.capability, PromptsListChanged()),
    "notifications/resources/list_changed": (RESOURCES.capability, ResourcesListChanged()),
}
_UPDATED = "notifications/resources/updated"


class Passing:
    """Of one MCP session. `session()` is the one behind it, once it is open."""

    def __init__(
        self,
        servers: OfferingServers,
        watches: Watches,
        client: ClientSide,
        session: Callable[[], DoorSession],
        limits: Limits,
        *,
        answered: Answered,
    ) -> None:
        """`answered`: what a request gives whose server may ask the client meanwhile."""
        self._answered = answered
        self.offers = Offers(servers, client, limits)
        self._watches = watches
        self._client = client
        self._session = session
        self._limits = limits
        self._pages: dict[str, list[dict[str, Any]]] = {}  # method → what the client is paging through
        self._offered: dict[str, tuple[str, ...]] = {}  # capability → who offered it when that was listed
        self._written: dict[Watch, str] = {}  # what it listens to → the URI as it wrote that
        self._due: dict[tuple[str, str], None] = {}  # (notification, URI) to be sent, oldest first
        self._news = Signal()

    def register(self, server: Server[Any]) -> None:
        for method in KINDS:
            server.add_request_handler(method, PaginatedRequestParams, self._list)
        server.add_request_handler("prompts/get", GetPromptRequestParams, self._get_prompt)
        server.add_request_handler("resources/read", ReadResourceRequestParams, self._read)
        server.add_request_handler("completion/complete", CompleteRequestParams, self._complete)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)

    # --- lists ------------------------------------------------------------------------------------

    async def _list(self, ctx: Context, _params: Any) -> dict[str, Any]:
        """As many items as an answer holds, from the one whose number the cursor is. Each is checked alone:
        an odd one costs itself."""
        kind, cursor = KINDS[ctx.method], (ctx.params or {}).get("cursor")
        if cursor is None:
            view = self._session().view
            self._offered[kind.capability] = self.offers.offering(view, kind.capability)
            self._pages[kind.method] = await self.offers.items(view, kind)
        items = self._pages.get(kind.method, [])
        page: list[dict[str, Any]] = []
        at, size = begin(cursor, len(items)), 0
        while at < len(items):
            item = serialised_item(kind, items[at], ctx.protocol_version)
            size += len(msgspec.json.encode(item)) if item is not None else 0
            if page and size > _PAGE_BYTES:
                return {"resultType": "complete", kind.field: page, "nextCursor": str(at)}
            if item is not None:
                page.append(item)
            at += 1
            if at % 50 == 0:
                await trio.lowlevel.checkpoint()
        return {"resultType": "complete", kind.field: page}

    # --- items ------------------------------------------------------------------------------------

    async def _get_prompt(self, ctx: Context, _params: Any) -> dict[str, Any]:
        return await self._passed(ctx, self.offers.get_prompt)

    async def _read(self, ctx: Context, _params: Any) -> dict[str, Any]:
        return await self._passed(ctx, self.offers.read)

    async def _complete(self, ctx: Context, _params: Any) -> dict[str, Any]:
        return await self._passed(ctx, self.offers.complete)

    async def _passed(self, ctx: Context, ask: Callable[..., Any]) -> dict[str, Any]:
        with _as_answers():
            try:
                result = await self._answered(ctx, partial(ask, self._session().view, ctx.params or {}))
            except InputRequired as required:
                return required.result
            return serialised_answer(ctx.method, result, ctx.protocol_version)

    async def _set_level(self, _ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        self._client.level = params.level
        return EmptyResult()

    # --- changes ----------------------------------------------------------------------------------

    async def _subscribe(self, _ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        with _as_answers():
            await self._listen_to(str(params.uri))
        return EmptyResult()

    def listening(self, serve: ListenHandler) -> Callable[[Context, SubscriptionsListenRequestParams], Any]:
        """`subscriptions/listen`, its resources listened to at their servers before its stream begins, and
        until the session ends."""

        async def listen(ctx: Context, params: SubscriptionsListenRequestParams) -> Any:
            with _as_answers():
                for uri in params.notifications.resource_subscriptions or ():
                    await self._listen_to(uri)
            return await serve(ctx, params)

        return listen

    async def _listen_to(self, uri: str) -> None:
        if len(uri) > self._limits.path_chars:
            raise MCPError(
                code=INVALID_PARAMS, message=f"a URI of at most {self._limits.path_chars} characters"
            )
        watch = await self._watch_of(uri)
        if watch not in self._written and len(self._written) >= self._limits.watched_resources:
            words = f"{len(self._written)} resources are subscribed to; unsubscribe from one first"
            raise MCPError(code=INVALID_PARAMS, message=words)
        await self.offers.watch(watch.server, watch.uri, wanted=True)
        self._watches.add(watch, self)
        self._written[watch] = uri

    async def _unsubscribe(self, _ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        with _as_answers():
            watch = await self._watch_of(str(params.uri))
            self._written.pop(watch, None)
            if self._watches.remove(watch, self):
                await self.offers.watch(watch.server, watch.uri, wanted=False)
        return EmptyResult()

    async def _watch_of(self, uri: str) -> Watch:
        return Watch(*await self.offers.resource(self._session().view, uri))

    def hear(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """A server told of a change, to whom it may concern."""
        if server not in self._session().view.granted_servers:
            return
        if method in _LISTS:
            self._tell((method, ""))
            return
        uri = params.get("uri")
        if method == _UPDATED and isinstance(uri, str) and self._watches.has(Watch(server, uri), self):
            self._tell((method, self._written[Watch(server, uri)]))

    def catalog_changed(self) -> None:
        """Servers came or went, or others are granted: what the client has listed may have changed."""
        view = self._session().view
        for method, (capability, _) in _LISTS.items():
            before = self._offered.get(capability)
            if before is not None and before != self.offers.offering(view, capability):
                self._offered[capability] = self.offers.offering(view, capability)
                self._tell((method, ""))

    def _tell(self, due: tuple[str, str]) -> None:
        self._due[due] = None
        self._news.set()

    async def announce(self, bus: InMemorySubscriptionBus, send_nowait: Callable[[Any], None]) -> None:
        """Says what is due, until cancelled: to a client of the handshake era by `send_nowait`."""
        while True:
            await self._news.wait_and_clear()
            due, self._due = self._due, {}
            for method, uri in due:
                with guarded("announcing a change to an MCP client"):
                    if self._client.is_met:
                        params = {"params": {"uri": uri}} if uri else {}
                        message = {"jsonrpc": "2.0", "method": method, **params}
                        send_nowait(JSONRPCNotification.model_validate(message))
                    await bus.publish(_LISTS[method][1] if method in _LISTS else ResourceUpdated(uri=uri))
            await trio.sleep(self._limits.list_min_interval_s)

    async def leave(self) -> None:
        """The client is gone: what it alone watched is watched no more."""
        self._client.close()
        with trio.CancelScope(shield=True), trio.move_on_after(_LEAVE_S):
            for watch in self._watches.drop(self):
                try:
                    await self.offers.watch(watch.server, watch.uri, wanted=False)
                except ToolsearchdError as error:
                    log.debug("unsubscribing from %s: %s", watch.uri, error.message)


class _as_answers:
    """Errors as JSON-RPC answers: a server's own as it is, ours in our words."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: Any, error: BaseException | None, _traceback: Any) -> None:
        if isinstance(error, NotFoundError):
            raise MCPError(code=error.code, message=str(error)) from error
        if isinstance(error, ToolsearchdError):
            code = error.fields.get("server_code")
            if isinstance(code, int):
                data = error.fields.get("server_data")
                raise MCPError(code=code, message=error.message, data=data) from error
            raise MCPError(code=INTERNAL_ERROR, message=error.message, data=error.as_fields()) from error


def begin(cursor: Any, count: int) -> int:
    """The number that a cursor of ours says. Raises `MCPError` for any other."""
    if cursor is None:
        return 0
    if not (isinstance(cursor, str) and cursor.isdecimal() and int(cursor) < count):
        raise MCPError(code=INVALID_PARAMS, message="unknown cursor; leave it out to begin again")
    return int(cursor)
