"""Opens a connection with a server: streams, the handshake of either era, what it asks and tells meanwhile.

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import trio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    INVALID_REQUEST,
    ClientCapabilities,
    DiscoverResult,
    ElicitationCapability,
    FormElicitationCapability,
    Implementation,
    InitializeResult,
    RootsCapability,
    SamplingCapability,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearchd import __version__
from toolsearchd.config.model import ServerSpec
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.backoff import SessionClaims
from toolsearchd.upstream.changes import ChangeListener, OnTold
from toolsearchd.upstream.cleaning import clean_at_once, wait_clean
from toolsearchd.upstream.connection import GIVEN_UP_WORDS, Connection
from toolsearchd.upstream.elicitation import ASKED, TOLD
from toolsearchd.upstream.handshake import usable_handshake
from toolsearchd.upstream.introduction import lean_discover, lean_info, lean_initialize
from toolsearchd.upstream.sendable import check_sendable

log = logging.getLogger(__name__)

OnAsked = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]


class Transport(Protocol):
    def streams(self) -> Any:
        """An async context manager of the session's (read, write) streams."""

    def explain(self, failure: str) -> str:
        """Why the session ended, in words for people: what the transport knows of it, else `failure`."""


@asynccontextmanager
async def open_connection(
    spec: ServerSpec,
    transport: Transport,
    *,
    limits: Limits,
    lost: trio.Event,
    tools_changed: Callable[[], None],
    on_asked: OnAsked,
    on_told: OnTold,
    watched: dict[str, None],
    claims: SessionClaims,
) -> AsyncIterator[Connection]:
    """A session whose handshake is done. `watched`: resources, of which the server is to tell; `watch` and
    `watch_again` keep it. Raises what the SDK raises, in groups. Sets `lost`
    when nothing more will come.

    The 2025-11-25 handshake comes first; a server that refuses it is asked by `server/discover`, and one
    whose entry says so is asked that at once.
    """
    async with AsyncExitStack() as stack:
        read, write = await stack.enter_async_context(transport.streams())

        async def on_message(message: Any) -> None:
            if getattr(message, "method", "") == "notifications/tools/list_changed":
                tools_changed()

        session = await stack.enter_async_context(
            _Session(
                on_asked,
                on_told,
                limits,
                dispatcher=_Dispatcher(read, write, lost),
                message_handler=on_message,
                client_info=Implementation(name="toolsearchd", version=__version__),
            )
        )
        await _shake_hands(session, spec, limits)
        changes = None
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            changes = ChangeListener(session, watched, limits, tools_changed=tools_changed, on_told=on_told)
            nursery = await stack.enter_async_context(trio.open_nursery())
            stack.callback(nursery.cancel_scope.cancel)
            nursery.start_soon(changes.run)
        yield Connection(spec.name, session, lost, limits, watched, changes, claims)


class _Session(ClientSession):
    """Passes on, as plain maps, what the server asks and tells."""

    def __init__(self, on_asked: OnAsked, on_told: OnTold, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self._on_asked = on_asked
        self._on_told = on_told
        self._limits = limits

    def adopt(self, result: InitializeResult | DiscoverResult) -> None:
        """Holds no more than is used of what a server says of itself."""
        if isinstance(result, InitializeResult):
            super().adopt(lean_initialize(result, self._limits))
            return
        super().adopt(result)
        self._discover_result = lean_discover(result, self.protocol_version or "", self._limits)
        if self._discover_server_info is not None:
            self._discover_server_info = lean_info(self._discover_server_info, self._limits)

    def _build_capabilities(self, version: str) -> ClientCapabilities:
        """All that a session's client may have: which one that will be is not known at the handshake, and a
        catalog that depended on it would be another with each order of arrival."""
        return ClientCapabilities(
            sampling=SamplingCapability(),
            elicitation=ElicitationCapability(form=FormElicitationCapability()),
            roots=RootsCapability(list_changed=False),
        )

    async def _on_request(self, dctx: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        if method not in ASKED:
            return await super()._on_request(dctx, method, params)
        try:
            answer = await self._on_asked(method, await wait_clean(dict(params or {})))
            check_sendable(answer)
            return answer
        except ToolsearchdError as error:
            raise MCPError(code=INVALID_REQUEST, message=error.message, data=error.as_fields()) from error

    def _intercept_notification(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """Called in the order of arrival, before the answer that comes next."""
        if super()._intercept_notification(method, params):
            return True
        if method in TOLD:
            self._on_told(method, clean_at_once(dict(params or {})))
        return method in TOLD


class _Dispatcher(JSONRPCDispatcher[Any]):
    """Says when it ends: a remote server's end is seen nowhere else. Puts handshakes in shape."""

    def __init__(self, read: Any, write: Any, lost: trio.Event) -> None:
        super().__init__(read, write)
        self._lost = lost

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, *args: Any, **options: Any
    ) -> dict[str, Any]:
        return usable_handshake(method, await super().send_raw_request(method, params, *args, **options))

    async def run(self, *args: Any, **options: Any) -> None:
        try:
            await super().run(*args, **options)
        finally:
            self._lost.set()


async def _shake_hands(session: ClientSession, spec: ServerSpec, limits: Limits) -> None:
    if spec.protocol == "2026-07-28":
        await session.discover()
        return
    try:
        await session.initialize()
    except MCPError as refused:
        if str(refused.error.message).startswith(GIVEN_UP_WORDS):
            raise
        try:
            with trio.move_on_after(limits.discover_timeout_s):
                await session.discover()
                return
        except (MCPError, RuntimeError, ValueError, ToolsearchdError):
            pass  # its refusal of the handshake says more
        raise
