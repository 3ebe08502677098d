"""How a client of the 2026-07-28 revision is asked: its request ends with the question, and comes again.

The call goes on meanwhile; the state that the client sends back with the answer names it. One whose client
never comes back is stopped. Imports the SDK: import it through `McpDoor` only.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import trio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from toolsearchd.doors.calls import ElicitedQuestions, PendingCall
from toolsearchd.doors.offers import NotFoundError
from toolsearchd.system import guard
from toolsearchd.system.guard import guarded


class ElicitationRound(NamedTuple):
    call: PendingCall
    questions: ElicitedQuestions


class InputRequired(Exception):
    """No error: the request's end for now."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__("the client is to be asked")
        self.result = result


class ElicitationRounds:
    """Of one session. A call whose client was not heard of for `patience_s` is stopped."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._open: dict[str, ElicitationRound] = {}

    def begin(self, nursery: trio.Nursery, asked: ElicitationRound) -> InputRequired:
        """What ends the request."""
        state = secrets.token_urlsafe(16)
        self._open[state] = asked
        guard.start(nursery, "ending a call that nobody comes back for", self._expire, state)
        requests = {
            key: {"method": method, "params": dict(params)}
            for key, (method, params) in asked.questions.asked.items()
        }
        return InputRequired(
            {"resultType": "input_required", "inputRequests": requests, "requestState": state}
        )

    def resume(self, subject: tuple[str, ...], params: Mapping[str, Any]) -> PendingCall | None:
        """The call that a request goes on with; None for a new one. Raises `MCPError` where its state is none
        of ours, not waited for any more, or of another subject's call."""
        state = params.get("requestState")
        if state is None:
            return None
        asked = self._open.get(state) if isinstance(state, str) else None
        if asked is None or asked.call.subject != subject:
            raise MCPError(
                code=INVALID_PARAMS,
                message="requestState: no such request waits under it (any more); ask anew",
            )
        del self._open[state]
        asked.questions.answer(params.get("inputResponses"))
        return asked.call

    async def _expire(self, state: str) -> None:
        await trio.sleep(self._patience_s)
        asked = self._open.pop(state, None)
        if asked is not None:
            asked.call.stop()


async def deliver(
    call: PendingCall, ask: Callable[[], Awaitable[dict[str, Any]]], scope: trio.CancelScope
) -> None:
    """What `ask` gives becomes the call's reply, unless `scope` is cancelled before."""
    with scope, guarded("asking a server for an MCP client", call.deliver):
        try:
            call.deliver(await ask())
        except NotFoundError as missing:
            call.deliver(missing)


def subject_of(method: str, params: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What a request is about: the round that follows has to be about the same."""
    return method, *(str((params or {})[key]) for key in ("name", "uri") if key in (params or {}))
