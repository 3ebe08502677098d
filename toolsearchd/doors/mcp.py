"""The MCP door: gives each connection that asked for MCP a session of its own, until it ends.

The protocol itself is the SDK's work (`mcp_server`), which takes a second to import: that happens in a
thread, at the first connection, or earlier where something else wanted the SDK. Knows the daemon's sessions
only by the protocols below; `app` composes.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Hashable
from types import ModuleType
from typing import Any, Protocol, TypeVar

import msgspec
import trio

from toolsearchd.doors.tools import View
from toolsearchd.limits import Limits
from toolsearchd.protocol.messages import Hello


class Session(Protocol):
    """An agent's session, as far as the door drives it."""

    events: set[str]
    emit: Callable[[str, dict[str, Any]], None] | None

    @property
    def view(self) -> View: ...
    def search(self, args: dict[str, Any]) -> dict[str, Any]: ...
    def describe(self, args: dict[str, Any]) -> dict[str, Any]: ...
    async def assemble(self) -> dict[str, Any]: ...
    def submit_call(
        self,
        key: Hashable,
        args: dict[str, Any],
        deliver: Callable[[dict[str, Any]], None],
        on_progress: Callable[[Any, float, float | None, str | None], None] | None = None,
    ) -> None: ...
    def stop(self, key: Hashable | None = None) -> dict[str, Any]: ...


class PeerStream(Protocol):
    """The connection: `receive` gives b"" at its end, `send_nowait` queues what the peer does not take."""

    async def receive(self) -> bytes: ...
    def send_nowait(self, data: bytes) -> None: ...


OpenSession = Callable[[Hello, Any], Awaitable[Any]]
CloseSession = Callable[[Any], None]
ImportModule = Callable[[str], Awaitable[ModuleType]]

T = TypeVar("T")


async def import_in_thread(name: str) -> ModuleType:
    """Imports a module without stopping the loop. Python's own import lock makes it once only."""
    return await trio.to_thread.run_sync(importlib.import_module, name)


class McpDoor:
    """Composed once; called per connection.

    `open_session(hello, peer)` may wait and may raise `ToolsearchdError`; what it returns is given to
    `close_session` exactly once. `import_module` reaches the thread in which the SDK is imported.
    """

    def __init__(
        self,
        *,
        open_session: OpenSession,
        close_session: CloseSession,
        limits: Limits,
        import_module: ImportModule = import_in_thread,
    ) -> None:
        self._open_session = open_session
        self._close_session = close_session
        self._limits = limits
        self._import_module = import_module

    async def __call__(self, stream: PeerStream, first_bytes: bytes, hello: Hello, peer: Any) -> None:
        """Serves MCP on `stream` until the peer ends it; `first_bytes` were received already."""
        server = await self._import_module("toolsearchd.doors.mcp_server")
        await server.McpSession(
            stream,
            first_bytes,
            open_session=lambda client, listing: self._open(hello, peer, client, listing),
            close_session=self._close_session,
            limits=self._limits,
        ).run()

    async def _open(self, hello: Hello, peer: Any, client: str, listing: str | None) -> Any:
        """The profile is settled here: by the name that the MCP client gave itself."""
        return await self._open_session(
            msgspec.structs.replace(hello, client=client or hello.client, listing=listing or hello.listing),
            peer,
        )
