"""The MCP door: gives each connection that asked for MCP a session of its own, until it ends.

The protocol itself is the SDK's work (`mcp_server`), which takes a second to import: that happens in a
thread, at the first connection, or earlier where something else wanted the SDK. Knows the daemon's sessions
only by the protocols below; `app` composes.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Hashable, Mapping
from types import ModuleType
from typing import Any, Protocol

import msgspec
import trio

from toolsearchd.disclosure.bridge_answers import BridgeCalls, Verb
from toolsearchd.doors.offers import OfferingServers
from toolsearchd.doors.tools import DoorView
from toolsearchd.doors.watches import Watches
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.events import Event
from toolsearchd.protocol.replies import AssembleReply, DecideReply, OwnWords, StopReply
from toolsearchd.protocol.requests import Hello
from toolsearchd.records import WireRecord
from toolsearchd.system.guard import guarded


class DoorAccount(Protocol):
    """What is held for a session: `unread` says what its wire holds, `changed` is called as that shrinks."""

    unread: Callable[[], int]

    def changed(self) -> None: ...


class DoorSession(Protocol):
    """An agent's session, as far as the door drives it."""

    events: set[str]
    client_side: Any  # who is asked what a server asks, while this session's calls are with it
    emit: Callable[[Event], None] | None
    account: DoorAccount

    @property
    def view(self) -> DoorView: ...
    @property
    def bridge(self) -> Mapping[str, Verb]:
        """The bridge tools of its dialect: name → `search`, `describe` or `call`."""

    def unread_queries(self, args: dict[str, Any]) -> list[str]: ...
    async def await_vectors(self, queries: list[str]) -> None:
        """What a search waits for first, a few milliseconds at most."""

    def search(self, args: dict[str, Any]) -> OwnWords: ...
    def describe(self, args: dict[str, Any]) -> OwnWords: ...
    async def assemble(self, *, refresh: bool = False) -> AssembleReply: ...
    def calls_of(self, name: str, args: dict[str, Any]) -> BridgeCalls:
        """What a bridge tool that calls, or any other tool, wants run with these arguments."""

    def submit_call(
        self,
        key: Hashable,
        args: dict[str, Any],
        deliver: Callable[[WireRecord | ToolsearchdError], None],
        on_progress: Callable[[Any, float, float | None, str | None], None] | None = None,
    ) -> None: ...
    def stop(self, key: Hashable | None = None) -> StopReply: ...
    def answer_by_form(self, wanted: bool) -> bool:
        """Its approvals are asked for by the client's own form from now on, or not; what is in force."""

    def decide(self, approval: str, decision: Any) -> DecideReply: ...


class DoorStream(Protocol):
    """The connection: `receive` gives b"" at its end, `send_nowait` queues what the peer does not take, and
    `on_taken` is called when it takes some of that."""

    outbox_bytes: int
    on_taken: Callable[[], None]

    async def receive(self) -> bytes: ...
    def send_nowait(self, data: bytes) -> None: ...
    async def wait_answered(self, is_answered: Callable[[], bool]) -> None:
        """After the end of what the peer sends: until it is answered, or is gone."""


OpenSession = Callable[[Hello, Any], Awaitable[Any]]
CloseSession = Callable[[Any], None]


def import_server() -> ModuleType:
    return importlib.import_module("toolsearchd.doors.mcp_server")


async def load_in_thread() -> None:
    """Imports the SDK without stopping the loop."""
    await trio.to_thread.run_sync(import_server)


class McpDoor:
    """Composed once; called per connection.

    `open_session(hello, peer)` may wait and may raise `ToolsearchdError`; what it returns is given to
    `close_session` exactly once. `servers` answer what is no tool's call. `load_sdk` returns when the SDK is
    imported; whoever else needs the SDK should be given the same one, since two threads must not import parts
    of one package at once.
    """

    def __init__(
        self,
        *,
        open_session: OpenSession,
        close_session: CloseSession,
        limits: Limits,
        servers: OfferingServers,
        load_sdk: Callable[[], Awaitable[None]] = load_in_thread,
    ) -> None:
        self._open_session = open_session
        self._close_session = close_session
        self._limits = limits
        self._servers = servers
        self._watches = Watches()
        self._live: set[Any] = set()
        self._load_sdk = load_sdk

    async def __call__(self, stream: DoorStream, first_bytes: bytes, hello: Hello, peer: Any) -> None:
        """Serves MCP on `stream` until the peer ends it; `first_bytes` were received already."""
        await self._load_sdk()
        session = import_server().McpSession(
            stream,
            first_bytes,
            open_session=lambda client, listing: self._open(hello, peer, client, listing),
            close_session=self._close_session,
            limits=self._limits,
            servers=self._servers,
            watches=self._watches,
        )
        self._live.add(session)
        try:
            await session.run()
        finally:
            self._live.discard(session)

    def hear(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """A server tells all of its clients of a change: those sessions hear it that may see the server."""
        for session in tuple(self._live):
            with guarded("telling an MCP session of a change"):
                session.hear(server, method, params)

    async def _open(self, hello: Hello, peer: Any, client: str, listing: str | None) -> Any:
        """The profile is settled here: by the name that the MCP client gave itself."""
        return await self._open_session(
            msgspec.structs.replace(hello, client=client or hello.client, listing=listing or hello.listing),
            peer,
        )
