"""Calls to one server: whose turn it is, whether it is asked at all, what became of it.

What the server answers goes on clean, but for tools' results: they are cleaned when they are made to fit.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import trio

from toolsearchd.config.secret_values import SecretValues
from toolsearchd.disclosure.gate import clean_error
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.backoff import Breaker, SessionClaims
from toolsearchd.upstream.cleaning import clean_at_once, wait_clean
from toolsearchd.upstream.elicitation import ElicitedClient, ElicitedClients
from toolsearchd.upstream.lost import LostError
from toolsearchd.upstream.own_names import OwnNames
from toolsearchd.upstream.slots import FairSlots

if TYPE_CHECKING:
    from toolsearchd.upstream.connection import Connection
    from toolsearchd.upstream.rpc import OnProgress

# Nothing reached the server: the call says nothing about it.
_NOT_SENT = frozenset(
    (
        *(
            "SERVER_UNAVAILABLE",
            "INVALID_ARGUMENTS",
            "TOOL_CHANGED",
            "TOOL_NOT_FOUND",
            "STALE",
            "INTERRUPTED",
        ),
        *("DENIED", "NO_APPROVER", "BAD_CONFIG"),  # the policy's word at the send
        "BUSY",  # the caller holds as much as it may
    )
)
_LOST = "INDETERMINATE"  # no answer came
_WATCH, _UNWATCH = "resources/subscribe", "resources/unsubscribe"
_RAW = ("nextCursor",)  # goes back to the server alone, and as it came
_WAIT_S = 5.0  # what a call waits for a server that is coming back (the reference's)
_REPLAY_WAIT_S = 15.0  # … and one that is to be sent again (the reference's)


class ServerCalls:
    """`connected(patience_s)` gives a connection that holds, or raises SERVER_UNAVAILABLE; `answered(words)`
    is told of each answer, with the words of those that HTTP refused; `secrets()` are the server's, which no
    error shows. `counts_errors`: a tool's own error counts for the breaker, as does what was lost."""

    def __init__(
        self,
        name: str,
        limits: Limits,
        max_concurrency: int,
        *,
        connected: Callable[[float], Awaitable[Connection]],
        answered: Callable[[str], None],
        secrets: Callable[[], SecretValues],
        counts_errors: bool,
    ) -> None:
        self._name = name
        self._limits = limits
        self._connected = connected
        self._answered = answered
        self.counts_errors = counts_errors
        self._secrets = secrets
        self.slots = FairSlots(max_concurrency)
        self.breaker = Breaker(limits)
        self.claims = SessionClaims(limits)
        self.waiting = ElicitedClients(name, limits.asked_at_once)
        self._own_names = OwnNames()
        self.watched: dict[str, None] = {}  # URIs of resources of whose changes it is to tell
        self._retired = trio.Event()
        self.in_flight = 0
        self.last_used = 0.0

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        timeout_s: float,
        on_progress: OnProgress | None = None,
        check: Callable[[], None] = lambda: None,
        caller: str = "",
        replays: bool = False,
        client: ElicitedClient | None = None,
    ) -> dict[str, Any]:
        """`check` is asked right before each send, after all waiting: what it raises ends the call unsent.

        `caller`: whose turn it is where calls wait for the server. `replays`: it may be sent once more where
        the connection is lost before the answer; any is where the server's refusal invites it. Raises
        `ToolsearchdError`: SERVER_UNAVAILABLE provably not carried out, INDETERMINATE perhaps done.
        """
        await self._connected(_WAIT_S)

        async def send(wait_s: float) -> dict[str, Any]:
            connection = await self._connected(wait_s)
            self._check_breaker()
            return await self._send(connection, tool, arguments, timeout_s, on_progress, check, client)

        async def send_again(lost: LostError) -> dict[str, Any]:
            try:
                return await send(_REPLAY_WAIT_S)
            except ToolsearchdError as error:
                if error.code in _NOT_SENT:  # so what is known is how the first one ended
                    raise lost from None
                raise

        try:
            async with self.slots.held(caller):
                try:
                    return self._own_names.note(await send(_WAIT_S))
                except LostError as lost:
                    if not (replays or lost.invites) or lost.wait_s > min(timeout_s, _REPLAY_WAIT_S):
                        raise
                    if not lost.wait_s:
                        return self._own_names.note(await send_again(lost))
                    delayed = lost
            with trio.move_on_after(delayed.wait_s):  # without a slot: others may be served meanwhile
                await self._retired.wait()
            async with self.slots.held(caller):
                return self._own_names.note(await send_again(delayed))
        except ToolsearchdError as error:
            raise self._told(error) from error

    def _told(self, error: ToolsearchdError) -> ToolsearchdError:
        """With the server's name and without its secrets, which its own words may quote."""
        secrets = self._secrets()
        fields = {name: secrets.hidden_tree(value) for name, value in error.fields.items()}
        message = secrets.hidden(error.message, is_cut=True)
        return clean_error(ToolsearchdError(error.code, message, **fields | {"server": self._name}))

    def wake_all(self) -> None:
        """Nobody waits any more, for a turn or a time: `connected` has something to tell."""
        self._retired.set()
        self.slots.total = sys.maxsize

    def _check_breaker(self) -> None:
        if not self.breaker.admits(trio.current_time()):
            raise ToolsearchdError(
                "SERVER_UNAVAILABLE",
                f"{self._name} failed {self._limits.breaker_failures} calls in a row; "
                f"it is asked again in {self.breaker.opens_for_s(trio.current_time()):.0f} s",
            )

    async def _send(
        self,
        connection: Connection,
        tool: str,
        arguments: dict[str, Any],
        timeout_s: float,
        on_progress: OnProgress | None,
        check: Callable[[], None],
        client: ElicitedClient | None,
    ) -> dict[str, Any]:
        """One request and its answer; the breaker, which has admitted it, learns how it went."""
        ok: bool | None = None  # whether the call says that the server works; None: it says nothing
        try:
            check()
            self.in_flight += 1
            try:
                with self.waiting.counted(client):
                    result = await connection.call(
                        tool, arguments, timeout_s=timeout_s, on_progress=on_progress, client=client
                    )
            finally:
                self.in_flight -= 1
                self.last_used = trio.current_time()
            ok = not (self.counts_errors and result.get("isError"))
            self._answered("")
            return result
        except ToolsearchdError as error:
            if "http_status" in error.fields:
                self._answered(error.message)
            if error.code == _LOST or (self.counts_errors and error.code == "SERVER_ERROR"):
                ok = False
            elif error.code not in _NOT_SENT:
                ok = True  # not what was asked for, from a server that works
            raise
        finally:
            if ok is None:
                self.breaker.abandoned()
            else:
                self.breaker.record(ok=ok, now=trio.current_time())

    async def watch_again(
        self, connection: Connection, told: Callable[[str, Mapping[str, Any]], None]
    ) -> None:
        """After a reconnect: what is watched goes on being, and may have changed meanwhile."""
        before = tuple(self.watched)
        await connection.watch_again(self._limits.offers_timeout_s)
        for uri in before:
            told("notifications/resources/updated", clean_at_once({"uri": uri}))

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout_s: float,
        client: ElicitedClient | None,
    ) -> dict[str, Any]:
        """The result of any other request, clean. Raises `ToolsearchdError`, as `call` does.

        What stands there under a shown name can be asked for by that name: see `OwnNames`.
        """
        sent = self._own_names.restored(params)
        if method == _UNWATCH:
            self.watched.pop(sent["uri"], None)  # whether it hears of it or not
        try:
            async with self.slots.held(id(client)):
                connection = await self._connected(_WAIT_S)
                self.last_used = trio.current_time()
                if method in (_WATCH, _UNWATCH):
                    await connection.watch(sent["uri"], timeout_s, wanted=method == _WATCH)
                    return {}
                with self.waiting.counted(client):
                    result = await connection.request(method, sent, timeout_s, client=client)
        except ToolsearchdError as error:
            raise self._told(error) from error
        cursor = {key: result[key] for key in _RAW if key in result}
        return {**await wait_clean(self._own_names.note(result)), **cursor}
