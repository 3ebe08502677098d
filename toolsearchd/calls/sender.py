"""Sends an admitted entry and waits for what becomes of it.

An entry is started when its request goes out: while it waits for its server, or for its turn there, a stop
ends it unsent. Owns a cancel scope per entry on its way; whatever goes wrong with one reaches no other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import trio

from toolsearchd.calls.account import EntryAccount
from toolsearchd.calls.admission import Admission, CallContext, UpstreamPort, refused
from toolsearchd.calls.hooks import Hooks
from toolsearchd.calls.spill import Spill
from toolsearchd.catalog.model import Tool
from toolsearchd.disclosure.sanitise import excerpt
from toolsearchd.dispatch.entry import Entry, EntryState, Outcome
from toolsearchd.dispatch.queue import INDETERMINATE_BY_STOP
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.system import guard
from toolsearchd.system.guard import guarded

_MESSAGE_CHARS = 2000  # of a tool's own words in an error

OnProgress = Callable[[Entry, float, float | None, str | None], None]


class _InFlight:
    """An entry on its way: its scope, and its outcome once `ended` is set. The first outcome stands."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        self.outcome = INDETERMINATE_BY_STOP

    def end(self, outcome: Outcome) -> bool:
        """False where it has ended already."""
        if self.ended.is_set():
            return False
        self.outcome = outcome
        self.ended.set()
        return True


class Sender:
    def __init__(
        self, *, upstream: UpstreamPort, admission: Admission, hooks: Hooks, spill: Spill, limits: Limits
    ) -> None:
        self._upstream = upstream
        self._admission = admission
        self._hooks = hooks
        self._spill = spill
        self._limits = limits
        self._in_flight: dict[Entry, _InFlight] = {}
        self._nursery: trio.Nursery | None = None
        self.late_answers = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    async def wait_outcome(
        self,
        context: CallContext,
        request: RequestedCall,
        started: Callable[[], None],
        on_progress: OnProgress | None,
    ) -> Outcome:
        """The entry's outcome; `started` is called when it is sent. `end` ends the wait at once, however long
        cancelling takes below."""
        assert self._nursery is not None
        if context.entry.outcome is not None:
            return context.entry.outcome
        in_flight = self._in_flight[context.entry] = _InFlight()
        guard.start(
            self._nursery, "calling a tool", self._send, in_flight, context, request, started, on_progress
        )
        await in_flight.ended.wait()
        return in_flight.outcome

    def end(self, entry: Entry, outcome: Outcome) -> None:
        """Ends the wait for an entry on its way; a server that has it is told to cancel, its late answer is
        dropped."""
        in_flight = self._in_flight.get(entry)
        if in_flight is not None:
            in_flight.end(outcome)
            in_flight.scope.cancel()

    async def drain(self) -> None:
        """`drain_s` for what is on its way, then its end."""
        with trio.move_on_after(self._limits.drain_s):
            while self._in_flight:
                await trio.sleep(0.01)
        for entry in tuple(self._in_flight):
            self.end(entry, INDETERMINATE_BY_STOP)
        with trio.move_on_after(1):  # for the cancellations to reach their servers
            while self._in_flight:
                await trio.sleep(0.01)

    async def _send(
        self,
        in_flight: _InFlight,
        context: CallContext,
        request: RequestedCall,
        started: Callable[[], None],
        on_progress: OnProgress | None,
    ) -> None:
        tool = context.tool
        assert tool is not None
        told: Outcome | None = None

        def end(outcome: Outcome) -> None:
            nonlocal told
            told = outcome
            if not in_flight.end(outcome):
                self.late_answers += 1
                self._spill.drop(context.caller.session_id, outcome)

        def refuse(error: ToolsearchdError) -> None:
            end(refused(context.caller, error))

        try:
            with in_flight.scope, guarded("calling a tool", refuse):
                check = partial(self._start, context, request, started)
                outcome = await self._answered(context, request, check, on_progress)
                if context.sent:
                    outcome = await self._hooked(context, tool, outcome)
                    outcome = await self._fitted(context, tool, outcome)
                end(outcome)
        finally:
            context.caller.account.end(context.entry, late=in_flight.outcome is not told)
            self._in_flight.pop(context.entry, None)

    async def _answered(
        self,
        context: CallContext,
        request: RequestedCall,
        check: Callable[[], None],
        on_progress: OnProgress | None,
    ) -> Outcome:
        """The outcome of the send. Where the policy has come to ask meanwhile, a person is asked; where the
        session holds too much, its reading is waited for; both off the server's slots, and then the send is
        tried again. Raises what refuses it then."""
        tool = context.tool
        assert tool is not None
        while True:
            try:
                return _outcome_of(tool, await self._answer(context, tool, check, on_progress))
            except ToolsearchdError as error:
                if context.sent or not (context.lacks_leave or context.lacks_room):
                    return refused(context.caller, error)
            if context.lacks_room:
                await context.caller.account.wait_room(context.entry, tool.public_name)
            else:
                await self._admission.wait_leave(context, request)

    def _start(self, context: CallContext, request: RequestedCall, started: Callable[[], None]) -> None:
        """The last look, right before a send. Raises what keeps the request back."""
        entry = context.entry
        if entry.state is EntryState.ENDED or entry.stopping:
            raise ToolsearchdError("INTERRUPTED", "stopped before it was sent")
        self._check_room(context)
        self._admission.check(context, request)
        if context.caller.queue.start(entry):  # else it is sent for the second time
            assert context.tool is not None
            context.caller.account.send(entry, context.tool.public_name)
            started()

    def _check_room(self, context: CallContext) -> None:
        """Raises BUSY, with `lacks_room` set, where the session holds as much as it may."""
        assert context.tool is not None
        name = context.tool.public_name
        context.lacks_room = not context.sent and not context.caller.account.has_room(context.entry, name)
        if context.lacks_room:
            raise ToolsearchdError("BUSY", "the session holds results that it has not read")

    async def _fitted(self, context: CallContext, tool: Tool, outcome: Outcome) -> Outcome:
        """The outcome as it may be held: in memory while the session has room for it, else in a file."""
        account = context.caller.account
        if account.is_closed:  # nobody is there to be told
            return Outcome(response={"content": []}) if outcome.error is None else outcome
        claim = EntryAccount(account, context.entry, tool.public_name)
        return await self._spill.fitted(context.caller.session_id, outcome, claim)

    async def _hooked(self, context: CallContext, tool: Tool, outcome: Outcome) -> Outcome:
        """What the caller is told, behind the hooks. Raises what keeps the outcome back."""
        known = {"error": outcome.error} if outcome.error is not None else {"response": outcome.response}
        profiles, arguments = context.caller.profiles, context.arguments or {}
        told = await self._hooks.run_post(context.who, profiles, tool, arguments, known)
        return outcome if told is None else _outcome_of(tool, told)

    async def _answer(
        self, context: CallContext, tool: Tool, check: Callable[[], None], on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """The tool's result, from the server or, for a tool of the agent's own, from the agent."""
        caller, arguments = context.caller, context.arguments or {}
        if tool.kind == "plugin":
            check()
            return await caller.call_own(tool.name, arguments, timeout_s=self._limits.call_timeout_s)

        def report(progress: float, total: float | None, message: str | None) -> None:
            assert on_progress is not None
            on_progress(context.entry, progress, total, message)

        spec = self._upstream.spec(tool.server)
        own_timeout_s = spec.timeout_s if spec else None
        return await self._upstream.call(
            tool.server,
            tool.name,
            arguments,
            timeout_s=self._limits.call_timeout_s if own_timeout_s is None else own_timeout_s,
            on_progress=report if on_progress is not None else None,
            check=check,
            caller=caller.session_id,
            replays=self._admission.only_reads(tool),
            client=caller.client_side,
        )


def _outcome_of(tool: Tool, result: dict[str, Any]) -> Outcome:
    if not result.get("isError"):
        return Outcome(response=result)
    blocks = [block for block in result.get("content", ()) if block.get("type") == "text"]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    message = excerpt(" ".join(texts).strip(), _MESSAGE_CHARS) or "the tool reported an error without a text"
    return Outcome.failed(ToolsearchdError("TOOL_ERROR", message, tool=tool.public_name, response=result))
