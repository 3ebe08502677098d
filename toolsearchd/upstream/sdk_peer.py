"""A session of the SDK's as a peer: of remote servers, and of stdio servers of the stateless revision.

The handshake is the SDK's; requests go through its dispatcher as plain maps, because its typed results refuse
a whole list for one bad tool and drop fields they don't know.

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import trio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    INVALID_REQUEST,
    ClientCapabilities,
    DiscoverResult,
    Implementation,
    InitializeResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearchd import __version__
from toolsearchd.errors import RpcError, ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.changes import ChangeListener
from toolsearchd.upstream.cleaning import clean_at_once, wait_clean
from toolsearchd.upstream.elicitation import ASKED, TOLD
from toolsearchd.upstream.handshake import usable_handshake
from toolsearchd.upstream.introduction import lean_discover, lean_info, lean_initialize
from toolsearchd.upstream.listeners import CAPABILITIES, TOOLS_CHANGED, Listeners
from toolsearchd.upstream.param_headers import ParamHeaders
from toolsearchd.upstream.rpc import OnProgress
from toolsearchd.upstream.sendable import check_sendable

# The SDK's own words where it gives up an answer. A server's error may bear the same code and is an answer.
GIVEN_UP_WORDS = ("Connection closed", "SSE stream ")


class SdkPeer:
    def __init__(self, session: ClientSession, changes: ChangeListener | None) -> None:
        self._session = session
        self.changes = changes

    @property
    def protocol(self) -> str:
        return self._session.protocol_version or ""

    @property
    def server_info(self) -> str:
        info = self._session.server_info  # clipped when it came
        return f"{info.name} {info.version}" if info else ""

    @property
    def capabilities(self) -> frozenset[str]:
        said = self._session.server_capabilities
        return frozenset(said.model_dump(exclude_none=True)) if said else frozenset()

    @property
    def instructions(self) -> str:
        return self._session.instructions or ""  # clipped when it came

    def new_param_headers(self) -> ParamHeaders | None:
        return ParamHeaders(self._session) if self.protocol in MODERN_PROTOCOL_VERSIONS else None

    async def request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> dict[str, Any]:
        message: dict[str, Any] = {"method": method, "params": dict(params)}
        options: dict[str, Any] = {}
        # What the revision wants with each request: the SDK has no public way to it that leaves results be.
        self._session._stamp(message, options)  # type: ignore[arg-type]
        if on_progress is not None:
            options["on_progress"] = _waiting(on_progress)
        try:
            told = await self._session._dispatcher.send_raw_request(method, message["params"], options)  # type: ignore[arg-type]
        except MCPError as error:
            raise _as_ours(error) from error
        result = dict(told)
        told.clear()  # the SDK's reader holds the last message until the next one comes
        return result


@asynccontextmanager
async def open_sdk_peer(
    streams: Any,
    listeners: Listeners,
    limits: Limits,
    *,
    lost: trio.Event,
    watched: dict[str, None],
    only_discover: bool,
) -> AsyncIterator[SdkPeer]:
    """`streams`: an async context manager of the session's (read, write) streams. Raises what the SDK raises,
    in groups, and `RpcError`. Sets `lost` when nothing more will come.

    The 2025-11-25 handshake comes first; a server that refuses it is asked by `server/discover`.
    """
    async with AsyncExitStack() as stack:
        read, write = await stack.enter_async_context(streams)

        async def on_message(message: Any) -> None:
            if getattr(message, "method", "") == TOOLS_CHANGED:
                listeners.tools_changed()

        session = await stack.enter_async_context(
            _Session(
                listeners,
                limits,
                dispatcher=_Dispatcher(read, write, lost),
                message_handler=on_message,
                client_info=Implementation(name="toolsearchd", version=__version__),
            )
        )
        try:
            await _shake_hands(session, limits, only_discover=only_discover)
        except MCPError as error:
            raise _as_ours(error) from error
        changes = None
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            changes = ChangeListener(
                session, watched, limits, tools_changed=listeners.tools_changed, on_told=listeners.on_told
            )
            nursery = await stack.enter_async_context(trio.open_nursery())
            stack.callback(nursery.cancel_scope.cancel)
            nursery.start_soon(changes.run)
        yield SdkPeer(session, changes)


class _Session(ClientSession):
    """Passes on, as plain maps, what the server asks and tells."""

    def __init__(self, listeners: Listeners, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self._listeners = listeners
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
        return ClientCapabilities.model_validate(CAPABILITIES)

    async def _on_request(self, dctx: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        if method not in ASKED:
            return await super()._on_request(dctx, method, params)
        try:
            answer = await self._listeners.on_asked(method, await wait_clean(dict(params or {})))
            check_sendable(answer)
            return answer
        except RpcError as refused:
            raise MCPError(code=refused.code, message=refused.message, data=refused.data) from refused
        except ToolsearchdError as error:
            raise MCPError(code=INVALID_REQUEST, message=error.message, data=error.as_fields()) from error

    def _intercept_notification(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """Called in the order of arrival, before the answer that comes next."""
        if super()._intercept_notification(method, params):
            return True
        if method in TOLD:
            self._listeners.on_told(method, clean_at_once(dict(params or {})))
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


async def _shake_hands(session: ClientSession, limits: Limits, *, only_discover: bool) -> None:
    if only_discover:
        with trio.move_on_after(limits.discover_timeout_s):
            await session.discover()
            return
        raise RuntimeError(f"no answer to server/discover within {limits.discover_timeout_s:g} s")
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


def _as_ours(error: MCPError) -> RpcError:
    return RpcError(error.error.code, str(error.error.message), error.error.data)


def _waiting(on_progress: OnProgress) -> Any:
    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        on_progress(progress, total, message)

    return progressed
