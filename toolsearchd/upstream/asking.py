"""Whom does a server mean when it asks or tells its client something?

A server has one connection and names no session. While one session's requests alone are with it, that one is
meant; otherwise nobody is, and the server is told so: a question must never reach another session's person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from toolsearchd.errors import ToolsearchdError

ASKED = frozenset(("sampling/createMessage", "elicitation/create", "roots/list"))
"""What a server may ask of a client."""
TOLD = frozenset(
    (
        "notifications/message",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    )
)
"""What a server tells without being asked, beside what its transport looks after itself."""


class Client(Protocol):
    """A session's client, as the servers that work for it reach it."""

    async def ask(self, server: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The client's answer as it came. Raises `MCPError` for its refusal, and UNSUPPORTED."""

    def tell(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """Passes on a notification, in order with the answers; never waits."""


class Waiting:
    """The clients for whom a server is working. One without a way to be asked counts as another."""

    def __init__(self, server: str, most: int) -> None:
        """`most`: questions that wait for an answer at once."""
        self._server = server
        self._most = most
        self._open = 0
        self._clients: list[Client | None] = []

    @contextmanager
    def counted(self, client: Client | None) -> Iterator[None]:
        self._clients.append(client)
        try:
            yield
        finally:
            self._clients.remove(client)

    def only(self) -> Client | None:
        """The one client for whom all that the server has at hand is done."""
        first = self._clients[0] if self._clients else None
        return first if all(client is first for client in self._clients) else None

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Raises UNSUPPORTED where no single client is meant, and what `Client.ask` raises."""
        client = self.only()
        if client is None:
            raise ToolsearchdError("UNSUPPORTED", f"{method} can't be passed on: {self._why_none()}")
        if self._open >= self._most:
            words = f"{self._open} questions of this server wait for an answer already"
            raise ToolsearchdError("UNSUPPORTED", f"{method} can't be passed on: {words}")
        self._open += 1
        try:
            return await client.ask(self._server, method, params)
        finally:
            self._open -= 1

    def _why_none(self) -> str:
        if not self._clients:
            return "no session's call is in flight"
        if all(client is None for client in self._clients):
            return "the agent that is calling has no way to be asked"
        return "calls of several sessions are in flight, and it does not say which one it means"
