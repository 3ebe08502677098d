"""Carries out calls: admit, then send, each entry in turn.

What may run is the queue's word, and what is let through `Admission`'s. Owns a task per open batch and a
cancel scope per started entry. Batches live here and not in the session's task: an agent that goes away does
not tear down what its server is doing. Receives synchronous `submit` and `stop` from sessions; delivers each
batch's reply through the callback it was given, once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import trio

from toolsearchd.actors.activity import Activity
from toolsearchd.actors.admission import Admission, Caller, Passage, Upstream, refused
from toolsearchd.actors.approver import Approver
from toolsearchd.actors.hooks import Hooks
from toolsearchd.actors.journal import Journal
from toolsearchd.catalog.model import Tool
from toolsearchd.dispatch.entry import Entry, EntryState, Outcome
from toolsearchd.dispatch.queue import INDETERMINATE_BY_STOP, Queue
from toolsearchd.dispatch.shapes import CallRequest
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

log = logging.getLogger(__name__)

Deliver = Callable[[dict[str, Any]], None]
OnProgress = Callable[[Entry, float, float | None, str | None], None]


class _Started:
    """A sent call: its scope, and its outcome once `ended` is set. The first outcome stands."""

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


class Dispatcher:
    def __init__(
        self,
        *,
        upstream: Upstream,
        approver: Approver,
        admission: Admission,
        hooks: Hooks,
        journal: Journal,
        activity: Activity,
        limits: Limits,
    ) -> None:
        self._upstream = upstream
        self._approver = approver
        self._admission = admission
        self._hooks = hooks
        self._journal = journal
        self._activity = activity
        self._limits = limits
        self._nursery: trio.Nursery | None = None
        self._admitting: dict[Entry, trio.CancelScope] = {}
        self._started: dict[Entry, _Started] = {}
        self._queues: set[Queue] = set()
        self._draining = False
        self.late_answers = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    def submit(
        self,
        caller: Caller,
        key: Hashable,
        requests: list[CallRequest],
        deliver: Deliver,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Takes a batch. Raises QUEUE_FULL or SHUTTING_DOWN; else `deliver` gets the reply, once."""
        if self._draining or self._nursery is None:
            raise ToolsearchdError("SHUTTING_DOWN", "the daemon is stopping and takes no new calls")
        batch = caller.queue.submit(key, [request.name for request in requests])
        self._queues.add(caller.queue)
        self._nursery.start_soon(self._run_batch, caller, batch.entries, requests, deliver, on_progress)

    def stop(self, caller: Caller, key: Hashable | None = None) -> dict[str, int]:
        """When this returns nothing more of the stopped batches will start. Raises UNKNOWN_BATCH."""
        stopped = caller.queue.stop(key)
        for entry in stopped.interrupted:
            self._give_up(entry)
        for entry in stopped.running:
            self._abandon(entry)
        counts = {"interrupted": len(stopped.interrupted), "running": len(stopped.running)}
        self._tell("stop", caller, counts)
        return counts

    def leave(self, caller: Caller) -> None:
        """The caller is gone: what waits is interrupted, its prompts are withdrawn; what runs goes on to its
        end, unheard."""
        stopped = caller.queue.stop()
        for entry in stopped.interrupted:
            self._give_up(entry)
        for entry in stopped.running:
            self._tell("orphaned", caller, {"tool": entry.name})
        self._approver.close_session(caller)

    def _tell(self, step: str, caller: Caller, fields: dict[str, Any]) -> None:
        """To the live feed and to the journal."""
        fields = {"session": caller.session_id, "client": caller.client, **fields}
        self._activity.publish(step, **fields)
        self._journal.record(step, fields)

    async def drain(self) -> None:
        """For the daemon's stop: nothing new, the queued interrupted, `drain_s` for the rest, then cancel."""
        self._draining = True
        for queue in self._queues:
            for entry in [e for batch in queue.batches for e in batch.entries]:
                if entry.state is EntryState.QUEUED:
                    queue.finish(entry, Outcome.failed(_SHUTDOWN))
                    self._give_up(entry)
        with trio.move_on_after(self._limits.drain_s):
            while self._started:
                await trio.sleep(0.01)
        for entry in tuple(self._started):
            self._abandon(entry)
        with trio.move_on_after(1):  # for the cancellations to reach their servers
            while self._started:
                await trio.sleep(0.01)

    def _give_up(self, entry: Entry) -> None:
        """The entry will not be sent: nobody is asked about it any more, and no hook either."""
        self._approver.withdraw(entry)
        if entry in self._admitting:
            self._admitting[entry].cancel()

    def _abandon(self, entry: Entry) -> None:
        """Ends the wait for a started entry; the server is told to cancel, its late answer is dropped."""
        started = self._started.get(entry)
        if started is not None:
            started.end(INDETERMINATE_BY_STOP)
            started.scope.cancel()

    async def _run_batch(
        self,
        caller: Caller,
        entries: list[Entry],
        requests: list[CallRequest],
        deliver: Deliver,
        on_progress: OnProgress | None,
    ) -> None:
        batch = entries[0].batch
        for entry, request in zip(entries, requests, strict=True):
            if entry.state is not EntryState.QUEUED:
                self._tell_end(Passage(caller, entry), 0)
                continue
            started = time.monotonic()
            self._publish("received", caller, entry)
            passage = Passage(caller, entry)
            outcome = await self._run_entry(passage, request, on_progress)
            caller.queue.finish(entry, outcome)  # a stop that came first has given it its outcome
            self._tell_end(passage, round((time.monotonic() - started) * 1000, 1))
        if not caller.queue.batches:
            self._queues.discard(caller.queue)
        deliver(batch.reply())

    def _tell_end(self, passage: Passage, ms: float) -> None:
        caller, entry = passage.caller, passage.entry
        assert entry.outcome is not None
        end = {"ms": ms, "outcome": entry.outcome.error["code"] if entry.outcome.error else "ok"}
        self._publish("call", caller, entry, **end)
        self._journal.record("call", self._record(passage) | end)

    def _publish(self, step: str, caller: Caller, entry: Entry, **fields: Any) -> None:
        self._activity.publish(
            step, session=caller.session_id, client=caller.client, tool=entry.name, **fields
        )

    def _record(self, passage: Passage) -> dict[str, Any]:
        return passage.record(with_arguments=self._journal.writes_arguments)

    async def _run_entry(
        self, passage: Passage, request: CallRequest, on_progress: OnProgress | None
    ) -> Outcome:
        """The entry's outcome; whatever goes wrong is one, and reaches no other entry."""
        if request.error is not None:
            return Outcome(error=request.error)
        try:
            await self._wait_admitted(passage, request)
        except ToolsearchdError as error:
            return refused(passage.caller, error)
        except Exception as error:  # a bug here must cost this entry only
            log.exception("preparing a call of %s failed", request.name)
            return Outcome.failed(ToolsearchdError("INTERNAL", f"preparing the call failed: {error!r}"))
        if not passage.caller.queue.start(passage.entry):
            assert passage.entry.outcome is not None
            return passage.entry.outcome
        self._publish("sent", passage.caller, passage.entry)
        return await self._run_started(passage, request, on_progress)

    async def _wait_admitted(self, passage: Passage, request: CallRequest) -> None:
        """Returns early where the entry is stopped meanwhile: then it can't be started."""
        with trio.CancelScope() as scope:
            self._admitting[passage.entry] = scope
            try:
                await self._admission.wait_admitted(passage, request)
                if passage.permit is not None:  # no call that somebody had to approve goes unrecorded
                    await self._journal.wait_recorded("approved", self._record(passage))
            finally:
                del self._admitting[passage.entry]

    async def _run_started(
        self, passage: Passage, request: CallRequest, on_progress: OnProgress | None
    ) -> Outcome:
        """The started entry's outcome. A stop ends the wait at once, however long cancelling takes below."""
        assert self._nursery is not None
        started = _Started()
        self._started[passage.entry] = started
        self._nursery.start_soon(self._send, started, passage, request, on_progress)
        await started.ended.wait()
        return started.outcome

    async def _send(
        self, started: _Started, passage: Passage, request: CallRequest, on_progress: OnProgress | None
    ) -> None:
        tool = passage.tool
        assert tool is not None
        with started.scope:
            try:
                try:
                    outcome = _outcome_of(tool, await self._answer(passage, tool, request, on_progress))
                except ToolsearchdError as error:
                    outcome = refused(passage.caller, error)
                if passage.sent:
                    outcome = await self._hooked(passage, tool, outcome)
            except ToolsearchdError as error:
                outcome = refused(passage.caller, error)
            except Exception as error:  # a bug below must cost this entry only
                log.exception("the call of %s failed", tool.public_name)
                outcome = Outcome.failed(ToolsearchdError("INTERNAL", f"the call failed: {error!r}"))
            if not started.end(outcome):
                self.late_answers += 1
        self._started.pop(passage.entry, None)

    async def _hooked(self, passage: Passage, tool: Tool, outcome: Outcome) -> Outcome:
        """What the caller is told, behind the hooks. Raises what keeps the outcome back."""
        known = {"error": outcome.error} if outcome.error is not None else {"response": outcome.response}
        told = await self._hooks.run_post(passage.who, tool, passage.arguments or {}, known)
        return outcome if told is None else _outcome_of(tool, told)

    async def _answer(
        self, passage: Passage, tool: Tool, request: CallRequest, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """The tool's result, from the server or, for a tool of the agent's own, from the agent."""
        arguments = passage.arguments or {}
        check = partial(self._admission.check, passage, request)
        if tool.kind == "plugin":
            check()
            timeout_s = self._limits.call_timeout_s
            return await passage.caller.call_own(tool.name, arguments, timeout_s=timeout_s)

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
        )


_SHUTDOWN = ToolsearchdError("INTERRUPTED", "the daemon stopped before this entry was sent; nothing happened")


def _outcome_of(tool: Tool, result: dict[str, Any]) -> Outcome:
    if not result.get("isError"):
        return Outcome(response=result)
    texts = [block.get("text", "") for block in result.get("content", ()) if block.get("type") == "text"]
    message = " ".join(texts).strip() or "the tool reported an error without a text"
    return Outcome.failed(
        ToolsearchdError("TOOL_ERROR", message[:2000], tool=tool.public_name, response=result)
    )
