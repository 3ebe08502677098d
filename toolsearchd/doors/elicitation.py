"""How a client of the 2026-07-28 revision is asked: its request ends with the question, and comes again.

The call goes on meanwhile; the state that the client sends back with the answer names it. One whose client
never comes back is stopped.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import trio

from toolsearchd.doors.calls import ElicitedQuestion, PendingCall
from toolsearchd.errors import ToolsearchdError
from toolsearchd.system import guard

_KEY = "question"  # one is asked at a time


class ElicitationRound(NamedTuple):
    key: int  # the call's, in its session
    call: PendingCall
    question: ElicitedQuestion


class InputRequired(Exception):
    """No error: the request's end for now."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__("the client is to be asked")
        self.result = result


class ElicitationRounds:
    """Of one session. `stop(key)` ends a call whose client was not heard of for `patience_s`."""

    def __init__(self, stop: Callable[[int], None], patience_s: float) -> None:
        self._stop = stop
        self._patience_s = patience_s
        self._open: dict[str, ElicitationRound] = {}

    def begin(self, nursery: trio.Nursery, asked: ElicitationRound) -> InputRequired:
        """What ends the request."""
        state = secrets.token_urlsafe(16)
        self._open[state] = asked
        guard.start(nursery, "ending a call that nobody comes back for", self._expire, state)
        request = {"method": asked.question.method, "params": dict(asked.question.params)}
        return InputRequired(
            {"resultType": "input_required", "inputRequests": {_KEY: request}, "requestState": state}
        )

    def resume(self, params: Mapping[str, Any]) -> ElicitationRound | None:
        """The round that a request goes on with; None for a new one. Raises BAD_ARGUMENTS where its state is
        not known, or not any more."""
        state = params.get("requestState")
        if state is None:
            return None
        asked = self._open.pop(state, None) if isinstance(state, str) else None
        if asked is None:
            raise ToolsearchdError(
                "BAD_ARGUMENTS", "requestState: no call waits under it (any more); call anew"
            )
        answers = params.get("inputResponses")
        asked.question.answer(answers.get(_KEY) if isinstance(answers, dict) else None)
        return asked

    async def _expire(self, state: str) -> None:
        await trio.sleep(self._patience_s)
        asked = self._open.pop(state, None)
        if asked is not None:
            self._stop(asked.key)
