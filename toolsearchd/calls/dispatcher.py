"""Carries out calls: admits each entry in turn, and sends it beside those before it where both allow that.

What may run is the queue's word, what is let through `Admission`'s, what runs beside what `parallel`'s. Owns
a task per open batch. Batches live here and not in the session's task: an agent that goes away does not tear
down what its server is doing. Receives synchronous `submit` and `stop` from sessions; delivers each batch's
reply through the callback it was given, once: every entry has an outcome, whatever fails on its way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import msgspec
import trio

from toolsearchd.calls.activity import Activity
from toolsearchd.calls.admission import Admission, CallContext, Caller, UpstreamPort, refused
from toolsearchd.calls.approver import Approver
from toolsearchd.calls.hooks import Hooks
from toolsearchd.calls.journal import Journal
from toolsearchd.calls.sender import OnProgress, Sender
from toolsearchd.calls.spill import Spill
from toolsearchd.disclosure.sanitise import clean_json, clean_line
from toolsearchd.dispatch.entry import Batch, Entry, EntryState, Outcome
from toolsearchd.dispatch.failures import Failures
from toolsearchd.dispatch.parallel import Footprint, may_join
from toolsearchd.dispatch.queue import INDETERMINATE_BY_STOP, Queue
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.framing import is_serialisable
from toolsearchd.protocol.replies import EndedByStop, ResultPiece
from toolsearchd.system import guard
from toolsearchd.system.guard import guarded
from toolsearchd.system.signal import Signal
from toolsearchd.values import representable

_ENDED_AT_ONCE = 16  # of stopped entries, recorded in one go

Deliver = Callable[[dict[str, Any] | ToolsearchdError], None]
"""Takes the reply; the error where a bug has made it impossible."""


class _ParallelGate:
    """The entries of one batch that are on their way, `most` at once, and what each touches."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: dict[Entry, Footprint] = {}
        self._changed = Signal()

    async def wait_room(self, footprint: Footprint) -> None:
        """Until a call that touches this may run beside all that run."""
        while len(self._running) >= self._most or not may_join(footprint, self._running.values()):
            await self._changed.wait_next()

    def add(self, entry: Entry, footprint: Footprint) -> None:
        self._running[entry] = footprint

    def remove(self, entry: Entry) -> None:
        del self._running[entry]
        self._changed.set()


class Dispatcher:
    def __init__(
        self,
        *,
        upstream: UpstreamPort,
        approver: Approver,
        admission: Admission,
        hooks: Hooks,
        journal: Journal,
        activity: Activity,
        spill: Spill,
        limits: Limits,
        refusal: Callable[[], ToolsearchdError | None] = lambda: None,
    ) -> None:
        """`refusal()`: why no call at all may be let through now, of an agent's own tool neither."""
        self._refusal = refusal
        self._approver = approver
        self._admission = admission
        self._journal = journal
        self._activity = activity
        self._limits = limits
        self._nursery: trio.Nursery | None = None
        self._admitting: dict[Entry, trio.CancelScope] = {}
        self._sender = Sender(upstream=upstream, admission=admission, hooks=hooks, spill=spill, limits=limits)
        self._spill = spill
        self._failures: dict[str, Failures] = {}  # by session
        self._queues: set[Queue] = set()
        self._draining = False
        self._turns = trio.CapacityLimiter(1)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as self._nursery:
            await self._nursery.start(self._sender.run)
            task_status.started()
            await trio.sleep_forever()

    def submit(
        self,
        caller: Caller,
        key: Hashable,
        requests: list[RequestedCall],
        deliver: Deliver,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Takes a batch. Raises QUEUE_FULL or SHUTTING_DOWN; else `deliver` gets the reply, once."""
        if self._draining or self._nursery is None:
            raise ToolsearchdError("SHUTTING_DOWN", "the daemon is stopping and takes no new calls")
        batch = caller.queue.submit(key, [clean_line(request.name) for request in requests])
        caller.account.open(batch)
        self._queues.add(caller.queue)
        guard.start(
            self._nursery,
            "running a batch",
            self._run_batch,
            caller,
            batch.entries,
            requests,
            deliver,
            on_progress,
        )

    def stop(self, caller: Caller, key: Hashable | None = None) -> EndedByStop:
        """When this returns nothing more of the stopped batches will start. Raises UNKNOWN_BATCH."""
        stopped = caller.queue.stop(key)
        for entry in stopped.interrupted:
            self._give_up(entry)
        for entry in stopped.running:
            self._sender.end(entry, INDETERMINATE_BY_STOP)
        counts = EndedByStop(interrupted=len(stopped.interrupted), running=len(stopped.running))
        self._tell("stop", caller, counts.members())
        return counts

    def leave(self, caller: Caller) -> None:
        """The caller is gone: what waits is interrupted, its prompts are withdrawn; what runs goes on to its
        end, unheard."""
        caller.account.close()
        stopped = caller.queue.stop()
        for entry in stopped.interrupted:
            self._give_up(entry)
        for entry in stopped.running:
            self._tell("orphaned", caller, {"tool": entry.name})
        self._approver.close_session(caller)
        self._failures.pop(caller.session_id, None)
        self._spill.forget(caller.session_id)

    def resolve(self, caller: Caller, handle: str, offset: int, limit: int | None) -> ResultPiece:
        """See `Spill.resolve`; of the caller's own results."""
        return self._spill.resolve(caller.session_id, handle, offset, limit)

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
        await self._sender.drain()

    def _give_up(self, entry: Entry) -> None:
        """The entry will not be sent: nobody is asked about it any more, no hook either, and it waits for
        its server no longer."""
        self._approver.withdraw(entry)
        if entry in self._admitting:
            self._admitting[entry].cancel()
        assert entry.outcome is not None
        self._sender.end(entry, entry.outcome)

    async def _run_batch(
        self,
        caller: Caller,
        entries: list[Entry],
        requests: list[RequestedCall],
        deliver: Deliver,
        on_progress: OnProgress | None,
    ) -> None:
        batch, gate = entries[0].batch, _ParallelGate(self._limits.entries_at_once)
        async with trio.open_nursery() as nursery:
            for entry, request in zip(entries, requests, strict=True):
                context = CallContext(caller, entry, self._journal.life)
                with guarded("carrying out a call", partial(self._fail, context)):
                    is_open = entry.state is EntryState.QUEUED
                    if entry.index and (is_open or entry.index % _ENDED_AT_ONCE == 0):
                        await self._wait_turn()  # a long batch must not hold up the others, nor their stops
                    if entry.state is EntryState.QUEUED:
                        await self._begin(context, request, gate, nursery, on_progress)
                    else:
                        self._tell_end(context)
        if not caller.queue.batches:
            self._queues.discard(caller.queue)
        await self._deliver(caller, batch, deliver)

    async def _deliver(self, caller: Caller, batch: Batch, deliver: Deliver) -> None:
        """Gives the reply to the wire; a large one when the caller has read what came before."""
        account = caller.account
        try:
            with guarded("delivering a reply", deliver):
                if account.is_closed:
                    deliver(batch.reply())
                elif account.is_small(batch):
                    deliver(await self._fitted(caller, batch))
                else:
                    async with account.one_reply:
                        await account.wait_read(batch)
                        deliver(await self._fitted(caller, batch))
        finally:
            account.settle(batch)
            batch.let_go()

    async def _fitted(self, caller: Caller, batch: Batch) -> dict[str, Any]:
        """The batch's reply, within a frame."""
        account = caller.account
        return await self._spill.fit_frame(
            caller.session_id, batch.reply(), batch.parked, lambda: account.is_closed
        )

    def _fail(self, context: CallContext, error: ToolsearchdError) -> None:
        """A bug has ended the entry, unless it had its outcome before."""
        if context.sent:
            error = ToolsearchdError(error.code, f"{error.message}; it was sent and may have happened")
        context.caller.queue.finish(context.entry, Outcome.failed(error))

    async def _wait_turn(self) -> None:
        """One entry of all batches at a time, so that a stop is read between any two."""
        async with self._turns:
            await trio.lowlevel.checkpoint()

    async def _begin(
        self,
        context: CallContext,
        request: RequestedCall,
        gate: _ParallelGate,
        nursery: trio.Nursery,
        on_progress: OnProgress | None,
    ) -> None:
        """Returns when the next entry may be looked at; this one may still be on its way then."""
        caller, entry = context.caller, context.entry
        self._publish("received", caller, entry)
        context.began_at = time.monotonic()
        refusal = await self._wait_admitted(context, request, gate)
        if refusal is not None or entry.state is not EntryState.QUEUED:
            self._finish(context, request, refusal)
            return
        gate.add(entry, self._admission.footprint_of(context))

        async def run() -> None:
            try:
                outcome = await self._sender.wait_outcome(context, request, started, on_progress)
                self._finish(context, request, outcome)
            finally:
                gate.remove(entry)

        def started() -> None:
            self._publish("sent", caller, entry)
            self._journal.record("sent", self._record(context))

        guard.start(nursery, "carrying out a call", run, tell=partial(self._fail, context))

    def _finish(self, context: CallContext, request: RequestedCall, outcome: Outcome | None) -> None:
        """Gives the entry its outcome, unless a stop that came first has given it one."""
        caller, entry = context.caller, context.entry
        if outcome is not None and entry.outcome is None:
            failures = self._failures.setdefault(caller.session_id, Failures())
            caller.queue.finish(entry, _serialisable(failures.judged(request, outcome)))
        self._tell_end(context)

    def _tell_end(self, context: CallContext) -> None:
        caller, entry = context.caller, context.entry
        assert entry.outcome is not None
        ms = round((time.monotonic() - context.began_at) * 1000, 1) if context.began_at else 0
        end = {"ms": ms, "outcome": entry.outcome.error["code"] if entry.outcome.error else "ok"}
        self._publish("call", caller, entry, **end)
        self._journal.record("call", self._record(context) | end)

    def _publish(self, step: str, caller: Caller, entry: Entry, **fields: Any) -> None:
        self._activity.publish(
            step, session=caller.session_id, client=caller.client, tool=entry.name, **fields
        )

    def _record(self, context: CallContext) -> dict[str, Any]:
        return context.record(with_arguments=self._journal.writes_arguments)

    async def _wait_admitted(
        self, context: CallContext, request: RequestedCall, gate: _ParallelGate
    ) -> Outcome | None:
        """What bars the entry, None where it may be sent. Returns early where it is stopped meanwhile."""
        if (refusal := self._refusal()) is not None:
            return refused(context.caller, refusal)
        if request.error is not None:
            return Outcome(error=request.error)
        refusals: list[Outcome] = []

        def refuse(error: ToolsearchdError) -> None:
            refusals.append(refused(context.caller, error))

        with trio.CancelScope() as scope, guarded("preparing a call", refuse):
            self._admitting[context.entry] = scope
            try:
                # Nobody is asked, and no hook runs, before it is this entry's turn.
                await gate.wait_room(self._admission.footprint_before(context, request))
                await self._admission.wait_admitted(context, request)
                await gate.wait_room(self._admission.footprint_of(context))
            finally:
                del self._admitting[context.entry]
        return refusals[0] if refusals else None


def _serialisable(outcome: Outcome) -> Outcome:
    """With an error that is clean and that a frame can carry: what a model or a server wrote may stand in
    it. A tool's own result in it has been cleaned before."""
    if outcome.error is None:
        return outcome
    words = {key: value for key, value in outcome.error.items() if key != "response"}
    error = {**outcome.error, **clean_json(words)}
    error = error if is_serialisable(error) else representable(error)
    return msgspec.structs.replace(outcome, error=error)


_SHUTDOWN = ToolsearchdError("INTERRUPTED", "the daemon stopped before this entry was sent; nothing happened")
