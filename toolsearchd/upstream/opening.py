"""Opens a connection with a server: whoever speaks with it, in the revision that it speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import trio

from toolsearchd.config.model import ServerSpec
from toolsearchd.errors import RpcError
from toolsearchd.limits import Limits
from toolsearchd.upstream.backoff import SessionClaims
from toolsearchd.upstream.connection import Connection
from toolsearchd.upstream.listeners import Listeners
from toolsearchd.upstream.peer import ServerPeer
from toolsearchd.upstream.rpc import CLOSED_WORDS
from toolsearchd.upstream.sdk import load_sdk
from toolsearchd.upstream.stdio import StdioSession, StdioTransport, open_session

if TYPE_CHECKING:
    from toolsearchd.upstream.remote import RemoteTransport

_STATELESS = "2026-07-28"


@asynccontextmanager
async def open_connection(
    spec: ServerSpec,
    transport: StdioTransport | RemoteTransport,
    *,
    limits: Limits,
    lost: trio.Event,
    listeners: Listeners,
    watched: dict[str, None],
    claims: SessionClaims,
) -> AsyncIterator[Connection]:
    """A session whose handshake is done. `watched`: resources, of which the server is to tell; `watch` and
    `watch_again` keep it. Raises `RpcError` and what the SDK raises, in groups. Sets `lost` when nothing more
    will come.

    The 2025-11-25 handshake comes first; a server that refuses it is asked by `server/discover`, and one
    whose entry says so is asked that at once.
    """
    async with AsyncExitStack() as stack:
        if isinstance(transport, StdioTransport):
            peer = await _stdio_peer(stack, spec, transport, listeners, watched)
        else:
            await load_sdk()
            from toolsearchd.upstream.sdk_peer import open_sdk_peer

            streams, only_discover = transport.streams(), spec.protocol == _STATELESS
            peer = await stack.enter_async_context(
                open_sdk_peer(
                    streams, listeners, limits, lost=lost, watched=watched, only_discover=only_discover
                )
            )
        yield Connection(spec.name, peer, lost, limits, watched, claims)


async def _stdio_peer(
    stack: AsyncExitStack,
    spec: ServerSpec,
    transport: StdioTransport,
    listeners: Listeners,
    watched: dict[str, None],
) -> ServerPeer:
    """Our own session; the SDK's where the server is of the stateless revision."""
    refusal: RpcError | None = None
    if spec.protocol != _STATELESS:
        async with AsyncExitStack() as own:
            session: StdioSession = await own.enter_async_context(open_session(transport, listeners))
            try:
                await session.initialize()
            except RpcError as refused:
                if refused.message.startswith(CLOSED_WORDS):
                    raise
                refusal = refused
                await session.leave()
            else:
                stack.push_async_exit(own.pop_all())
                return session
    await load_sdk()
    from toolsearchd.upstream.sdk_peer import open_sdk_peer
    from toolsearchd.upstream.stdio_streams import StdioStreams

    limits, lost = transport.limits, transport.lost
    streams = StdioStreams(
        transport.process, transport.reader, limits, lost=lost, tools_changed=listeners.tools_changed
    )
    try:
        return await stack.enter_async_context(
            open_sdk_peer(
                streams.streams(), listeners, limits, lost=lost, watched=watched, only_discover=True
            )
        )
    except Exception as error:
        if refusal is None:
            raise
        raise refusal from error  # its refusal of the handshake says more
