"""Owns the calls that an agent runs itself: asked of it by `call_requested`, answered by `call_result`.

An agent that does not answer, or goes away, leaves a call INDETERMINATE; a late answer is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import trio

from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.events import CallCancelled, CallRequested, Event
from toolsearchd.protocol.framing import ENCODING_ERRORS

Send = Callable[[Event], bool]
"""Sends an event to the agent; False where there is nobody to send it to."""

_MESSAGE_CHARS = 2_000
_PERHAPS = "it may have happened"


class _Open:
    def __init__(self) -> None:
        self.ended = trio.Event()
        self.result: dict[str, Any] = {}
        self.error: ToolsearchdError | None = None


class CallBacks:
    """One session's."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open: dict[str, _Open] = {}
        self._numbers = itertools.count(1)
        self.late_answers = 0

    async def call(self, tool: str, arguments: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """The agent's answer as MCP's `CallToolResult`.

        Raises SERVER_UNAVAILABLE where nothing was sent, INDETERMINATE where no answer came, TOOL_ERROR where
        the agent gave an error. Cancelled, it tells the agent by `call_cancelled`.
        """
        call = f"c{next(self._numbers)}"
        if not self._send(CallRequested(call=call, name=tool, arguments=arguments)):
            raise ToolsearchdError(
                "SERVER_UNAVAILABLE", f"the agent that holds {tool} can't be asked; nothing was sent"
            )
        waiting = self._open[call] = _Open()
        try:
            with trio.move_on_after(timeout_s):
                await waiting.ended.wait()
        finally:
            del self._open[call]
            if not waiting.ended.is_set():
                self._send(CallCancelled(call=call))
        if not waiting.ended.is_set():
            raise ToolsearchdError(
                "INDETERMINATE",
                f"the agent did not answer the call of {tool} within {timeout_s:g} s: {_PERHAPS}",
            )
        if waiting.error is not None:
            raise waiting.error
        return waiting.result

    def answer(self, call: str, response: Any, error: Any) -> bool:
        """False for an answer that nobody waits for: it came too late, or twice."""
        waiting = self._open.get(call)
        if waiting is None or waiting.ended.is_set():
            self.late_answers += 1
            return False
        if error is not None:
            waiting.error = _as_error(error)
        else:
            try:
                waiting.result = as_result(response)
            except ENCODING_ERRORS as odd:
                words = f"the agent's answer can't be represented: {odd}; the call was carried out"
                waiting.error = ToolsearchdError("BAD_RESULT", words)
        waiting.ended.set()
        return True

    def close(self) -> None:
        """The agent is gone."""
        for waiting in self._open.values():
            waiting.error = ToolsearchdError(
                "INDETERMINATE", f"the agent went away during its call: {_PERHAPS}"
            )
            waiting.ended.set()
        self._send = _to_nobody  # it holds the session, which holds this


def _to_nobody(_event: Event) -> bool:
    return False


def as_result(response: Any) -> dict[str, Any]:
    """An agent's response as MCP's `CallToolResult`: one as it came; a text or other JSON as its content.

    Raises one of ENCODING_ERRORS where it is no JSON.
    """
    blocks = response.get("content") if isinstance(response, dict) else None
    if isinstance(blocks, list) and all(isinstance(block, dict) for block in blocks):
        assert isinstance(response, dict)
        return response
    if isinstance(response, str):
        return {"content": [{"type": "text", "text": response}]}
    text = "" if response is None else msgspec.json.encode(response).decode()
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return result | {"structuredContent": response} if isinstance(response, dict) else result


def _as_error(error: Any) -> ToolsearchdError:
    """Whatever the agent calls an error: a text, or a map with a message."""
    message = error.get("message") if isinstance(error, Mapping) else error
    text = (
        message if isinstance(message, str) and message.strip() else "the agent gave an error without words"
    )
    more = {"agent_error": dict(error)} if isinstance(error, Mapping) else {}
    return ToolsearchdError("TOOL_ERROR", text[:_MESSAGE_CHARS], **more)
