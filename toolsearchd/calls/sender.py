"""Sends an admitted entry and waits for what becomes of it.

An entry is started when its request goes out: while it waits for its server, or for its turn there, a stop
ends it unsent. Owns a cancel scope per entry on its way; whatever goes wrong with one reaches no other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import trio

from toolsearchd.calls.account import Claim
from toolsearchd.calls.admission import Admission, Passage, Upstream, refused
from toolsearchd.calls.hooks import Hooks
from toolsearchd.calls.spill import Spill
from toolsearchd.catalog.model import Tool
from toolsearchd.disclosure.sanitise import excerpt
from toolsearchd.dispatch.entry import Entry, EntryState, Outcome
from toolsearchd.dispatch.queue import INDETERMINATE_BY_STOP
from toolsearchd.dispatch.shapes import CallRequest
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.system import guard
from toolsearchd.system.guard import guarded

_MESSAGE_CHARS = 2000  # of a tool's own words in an error

OnProgress = Callable[[Entry, float, float | None, str | None], None]


class _Flight:
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
        self, *, upstream: Upstream, admission: Admission, hooks: Hooks, spill: Spill, limits: Limits
    ) -> None:
        self._upstream = upstream
        self._admission = admission
        self._hooks = hooks
        self._spill = spill
        self._limits = limits
        self._flights: dict[Entry, _Flight] = {}
        self._nursery: trio.Nursery | None = None
        self.late_answers = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    async def wait_outcome(
        self,
        passage: Passage,
        request: CallRequest,
        started: Callable[[], None],
        on_progress: OnProgress | None,
    ) -> Outcome:
        """The entry's outcome; `started` is called when it is sent. `end` ends the wait at once, however long
        cancelling takes below."""
        assert self._nursery is not None
        if passage.entry.outcome is not None:
            return passage.entry.outcome
        flight = self._flights[passage.entry] = _Flight()
        guard.start(
            self._nursery, "calling a tool", self._fly, flight, passage, request, started, on_progress
        )
        await flight.ended.wait()
        return flight.outcome

    def end(self, entry: Entry, outcome: Outcome) -> None:
        """Ends the wait for an entry on its way; a server that has it is told to cancel, its late answer is
        dropped."""
        flight = self._flights.get(entry)
        if flight is not None:
            flight.end(outcome)
            flight.scope.cancel()

    async def drain(self) -> None:
        """`drain_s` for what is on its way, then its end."""
        with trio.move_on_after(self._limits.drain_s):
            while self._flights:
                await trio.sleep(0.01)
        for entry in tuple(self._flights):
            self.end(entry, INDETERMINATE_BY_STOP)
        with trio.move_on_after(1):  # for the cancellations to reach their servers
            while self._flights:
                await trio.sleep(0.01)

    async def _fly(
        self,
        flight: _Flight,
        passage: Passage,
        request: CallRequest,
        started: Callable[[], None],
        on_progress: OnProgress | None,
    ) -> None:
        tool = passage.tool
        assert tool is not None
        told: Outcome | None = None

        def end(outcome: Outcome) -> None:
            nonlocal told
            told = outcome
            if not flight.end(outcome):
                self.late_answers += 1
                self._spill.drop(passage.caller.session_id, outcome)

        def refuse(error: ToolsearchdError) -> None:
            end(refused(passage.caller, error))

        with flight.scope, guarded("calling a tool", refuse):
            check = partial(self._start, passage, request, started)
            outcome = await self._answered(passage, request, check, on_progress)
            if passage.sent:
                outcome = await self._hooked(passage, tool, outcome)
                outcome = await self._fitted(passage, tool, outcome)
            end(outcome)
        passage.caller.account.end(passage.entry, late=flight.outcome is not told)
        self._flights.pop(passage.entry, None)

    async def _answered(
        self,
        passage: Passage,
        request: CallRequest,
        check: Callable[[], None],
        on_progress: OnProgress | None,
    ) -> Outcome:
        """The outcome of the send. Where the policy has come to ask meanwhile, a person is asked; where the
        session holds too much, its reading is waited for; both off the server's slots, and then the send is
        tried again. Raises what refuses it then."""
        tool = passage.tool
        assert tool is not None
        while True:
            try:
                return _outcome_of(tool, await self._answer(passage, tool, check, on_progress))
            except ToolsearchdError as error:
                if passage.sent or not (passage.lacks_leave or passage.lacks_room):
                    return refused(passage.caller, error)
            if passage.lacks_room:
                await passage.caller.account.wait_room(passage.entry, tool.public_name)
            else:
                await self._admission.wait_leave(passage, request)

    def _start(self, passage: Passage, request: CallRequest, started: Callable[[], None]) -> None:
        """The last look, right before a send. Raises what keeps the request back."""
        entry = passage.entry
        if entry.state is EntryState.ENDED or entry.stopping:
            raise ToolsearchdError("INTERRUPTED", "stopped before it was sent")
        self._check_room(passage)
        self._admission.check(passage, request)
        if passage.caller.queue.start(entry):  # else it is sent for the second time
            assert passage.tool is not None
            passage.caller.account.send(entry, passage.tool.public_name)
            started()

    def _check_room(self, passage: Passage) -> None:
        """Raises BUSY, with `lacks_room` set, where the session holds as much as it may."""
        assert passage.tool is not None
        name = passage.tool.public_name
        passage.lacks_room = not passage.sent and not passage.caller.account.has_room(passage.entry, name)
        if passage.lacks_room:
            raise ToolsearchdError("BUSY", "the session holds results that it has not read")

    async def _fitted(self, passage: Passage, tool: Tool, outcome: Outcome) -> Outcome:
        """The outcome as it may be held: in memory while the session has room for it, else in a file."""
        account = passage.caller.account
        if account.is_closed:  # nobody is there to be told
            return Outcome(response={"content": []}) if outcome.error is None else outcome
        claim = Claim(account, passage.entry, tool.public_name)
        return await self._spill.fitted(passage.caller.session_id, outcome, claim)

    async def _hooked(self, passage: Passage, tool: Tool, outcome: Outcome) -> Outcome:
        """What the caller is told, behind the hooks. Raises what keeps the outcome back."""
        known = {"error": outcome.error} if outcome.error is not None else {"response": outcome.response}
        profiles, arguments = passage.caller.profiles, passage.arguments or {}
        told = await self._hooks.run_post(passage.who, profiles, tool, arguments, known)
        return outcome if told is None else _outcome_of(tool, told)

    async def _answer(
        self, passage: Passage, tool: Tool, check: Callable[[], None], on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """The tool's result, from the server or, for a tool of the agent's own, from the agent."""
        caller, arguments = passage.caller, passage.arguments or {}
        if tool.kind == "plugin":
            check()
            return await caller.call_own(tool.name, arguments, timeout_s=self._limits.call_timeout_s)

        def report(progress: float, total: float | None, message: str | None) -> None:
            assert on_progress is not None
            on_progress(passage.entry, progress, total, message)

        spec = self._upstream.spec(tool.server)
        return await self._upstream.call(
            tool.server,
            tool.name,
            arguments,
            timeout_s=spec.timeout_s if spec else self._limits.call_timeout_s,
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
