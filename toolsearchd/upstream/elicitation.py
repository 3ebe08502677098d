"""Whom does a server mean when it asks or tells its client something?

A server has one connection and names no session. While one session's requests alone are with it, that one is
meant; otherwise nobody is, and the server is told so: a question must never reach another session's person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.errors import ToolsearchdError
from toolsearchd.upstream.cleaning import clean_at_once

_MESSAGE_CHARS = 2000  # of a server's words in an error
_KINDS_CHARS = 200
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


Asked = Mapping[str, tuple[str, Mapping[str, Any]]]
"""What is asked at once: by its server's key, (method, params)."""


class ElicitedClient(Protocol):
    """A session's client, as the servers that work for it reach it."""

    async def ask(self, server: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The client's answer as it came. Raises `RpcError` for its refusal, and UNSUPPORTED."""

    async def ask_all(self, server: str, asked: Asked) -> dict[str, dict[str, Any]]:
        """All answers, by the same keys. Raises as `ask` does."""

    def tell(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """Passes on a notification, in order with the answers; never waits."""


class ElicitedClients:
    """The clients for whom a server is working. One without a way to be asked counts as another."""

    def __init__(self, server: str, most: int) -> None:
        """`most`: questions that wait for an answer at once."""
        self._server = server
        self._most = most
        self._open = 0
        self._clients: list[ElicitedClient | None] = []

    @contextmanager
    def counted(self, client: ElicitedClient | None) -> Iterator[None]:
        self._clients.append(client)
        try:
            yield
        finally:
            self._clients.remove(client)

    def only(self) -> ElicitedClient | None:
        """The one client for whom all that the server has at hand is done."""
        first = self._clients[0] if self._clients else None
        return first if all(client is first for client in self._clients) else None

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Raises UNSUPPORTED where no single client is meant, and what `ElicitedClient.ask` raises."""
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


def asked_in(result: dict[str, Any]) -> Asked:
    """What an `input_required` result asks. Raises UNSUPPORTED where it can't be passed on."""
    wanted = result.get("inputRequests")
    if not isinstance(wanted, dict | None):
        raise ToolsearchdError("UNSUPPORTED", "what it asks for can't be read")
    asked = {}
    for key, request in (wanted or {}).items():
        method = request.get("method") if isinstance(request, dict) else None
        if method not in ASKED:
            raise ToolsearchdError("UNSUPPORTED", f"it asks for {method!s:.64}, which is not known")
        params = request.get("params")
        asked[key] = method, params if isinstance(params, dict) else {}
    return asked


def input_required(result: dict[str, Any]) -> ToolsearchdError:
    """What is wanted of the caller before the call can be completed (MCP 2026-07-28, InputRequiredResult)."""
    wanted = result.get("inputRequests")
    requests = list(wanted.values()) if isinstance(wanted, dict) else []
    questions = [request for request in requests if isinstance(request, dict)]
    other = [str(q.get("method")) for q in questions if q.get("method") != "elicitation/create"]
    if other or not questions or len(questions) < len(requests):
        kinds = ", ".join(sorted(set(other))) or "something that can't be read"
        return ToolsearchdError(
            "UNSUPPORTED", f"the tool asks for {plain_line(kinds)[:_KINDS_CHARS]} in the middle of the call"
        )
    asked = [params for q in questions if isinstance(params := q.get("params"), dict)]
    words = " / ".join(plain_line(str(params.get("message", ""))[:_MESSAGE_CHARS]) for params in asked)[
        :_MESSAGE_CHARS
    ]
    return ToolsearchdError(
        "INPUT_REQUIRED",
        f"the tool was not completed, it asks: {words or '(without words)'}. "
        "Call it again with the answer in its arguments, where it has one for it, or ask the person",
        requests=[
            {"message": plain_line(str(params.get("message", ""))[:_MESSAGE_CHARS])}
            | clean_at_once({key: params[key] for key in ("requestedSchema", "url") if key in params})
            for params in asked
        ],
    )
