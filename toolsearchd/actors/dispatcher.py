"""Carries out calls: resolve, prepare, decide, send, each entry in turn.

What may run is the queue's word. Owns a task per open batch and a cancel scope per started entry. Batches
live here and not in the session's task: an agent that goes away does not tear down what its server is doing.
Receives synchronous `submit` and `stop` from sessions; delivers each batch's reply through the callback it
was given, once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import trio

from toolsearchd.actors.activity import Activity
from toolsearchd.catalog.model import Tool
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.dispatch.arguments import prepare
from toolsearchd.dispatch.entry import Entry, EntryState, Outcome
from toolsearchd.dispatch.policy import Decision, decide, strictest
from toolsearchd.dispatch.queue import INDETERMINATE_BY_STOP, Queue
from toolsearchd.dispatch.shapes import CallRequest, Rules
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

log = logging.getLogger(__name__)

Deliver = Callable[[dict[str, Any]], None]
OnProgress = Callable[[Entry, float, float | None, str | None], None]


class Caller(Protocol):
    """What the dispatcher needs of a session."""

    session_id: str
    client: str
    queue: Queue

    @property
    def profiles(self) -> tuple[str, ...]:
        """Those whose rules bind it."""

    @property
    def argument_rules(self) -> Rules: ...

    def tool_to_call(self, name: str) -> Tool:
        """The granted tool that `name` means now. Raises TOOL_NOT_FOUND or TOOL_CHANGED."""

    async def call_own(self, tool: str, arguments: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Runs a tool of its own, as `Upstream.call` does a server's."""


class Upstream(Protocol):
    """Where calls go: the fleet."""

    def spec(self, server: str) -> ServerSpec | None: ...

    async def call(
        self,
        server: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        timeout_s: float,
        on_progress: Callable[[float, float | None, str | None], None] | None = None,
    ) -> dict[str, Any]:
        """MCP's `CallToolResult` as a map. Raises `ToolsearchdError`."""


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
        settings: Callable[[], Settings],
        activity: Activity,
        limits: Limits,
    ) -> None:
        self._upstream = upstream
        self._settings = settings
        self._activity = activity
        self._limits = limits
        self._nursery: trio.Nursery | None = None
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

    def stop(self, queue: Queue, key: Hashable | None = None) -> dict[str, int]:
        """When this returns nothing more of the stopped batches will start. Raises UNKNOWN_BATCH."""
        stopped = queue.stop(key)
        for entry in stopped.running:
            self._abandon(entry)
        return {"interrupted": len(stopped.interrupted), "running": len(stopped.running)}

    async def drain(self) -> None:
        """For the daemon's stop: nothing new, the queued interrupted, `drain_s` for the rest, then cancel."""
        self._draining = True
        for queue in self._queues:
            for entry in [e for batch in queue.batches for e in batch.entries]:
                if entry.state is EntryState.QUEUED:
                    queue.finish(entry, Outcome.failed(_SHUTDOWN))
        with trio.move_on_after(self._limits.drain_s):
            while self._started:
                await trio.sleep(0.01)
        for entry in tuple(self._started):
            self._abandon(entry)
        with trio.move_on_after(1):  # for the cancellations to reach their servers
            while self._started:
                await trio.sleep(0.01)

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
                continue
            started = time.monotonic()
            outcome = await self._run_entry(caller, entry, request, on_progress)
            if not caller.queue.finish(entry, outcome):
                self.late_answers += 1
            assert entry.outcome is not None
            self._activity.publish(
                "call",
                session=caller.session_id,
                client=caller.client,
                tool=entry.name,
                ms=round((time.monotonic() - started) * 1000, 1),
                outcome=entry.outcome.error["code"] if entry.outcome.error else "ok",
            )
        if not caller.queue.batches:
            self._queues.discard(caller.queue)
        deliver(batch.reply())

    async def _run_entry(
        self, caller: Caller, entry: Entry, request: CallRequest, on_progress: OnProgress | None
    ) -> Outcome:
        """The entry's outcome; whatever goes wrong is one, and reaches no other entry."""
        if request.error is not None:
            return Outcome(error=request.error)
        try:
            tool, arguments = self._admit(caller, request)
        except ToolsearchdError as error:
            return Outcome.failed(error)
        except Exception as error:  # a bug here must cost this entry only
            log.exception("preparing a call of %s failed", request.name)
            return Outcome.failed(ToolsearchdError("INTERNAL", f"preparing the call failed: {error!r}"))
        entry.name = tool.public_name
        if not caller.queue.start(entry):
            assert entry.outcome is not None
            return entry.outcome
        return await self._run_started(caller, entry, tool, arguments, on_progress)

    def _admit(self, caller: Caller, request: CallRequest) -> tuple[Tool, dict[str, Any]]:
        """All before the send, in order: shape, name, validation, policy. Raises what is against it."""
        tool = caller.tool_to_call(request.name)
        spec = None if tool.kind == "plugin" else self._upstream.spec(tool.server)
        arguments = prepare(
            tool.definition,
            request.arguments or {},
            rules=caller.argument_rules,
            trusted=tool.kind == "plugin",
            unvalidatable=spec.unvalidatable if spec else "forward",
            limits=self._limits,
        )
        decision = strictest(
            self._decide(caller_profile, tool, spec, arguments) for caller_profile in caller.profiles
        )
        if decision.then == "deny":
            raise ToolsearchdError("DENIED", f"the policy refuses {tool.public_name} ({decision.rule})")
        if decision.then == "ask":
            raise ToolsearchdError(
                "NO_APPROVER",
                f"{tool.public_name} needs an approval ({decision.rule}) and nobody can be asked; "
                f"a rule under approval.rules with `then: allow` lets it pass",
            )
        return tool, arguments

    def _decide(
        self, profile: str, tool: Tool, spec: ServerSpec | None, arguments: dict[str, Any]
    ) -> Decision:
        settings = self._settings()
        named = settings.profiles.get(profile)
        return decide(
            settings.approval,
            profile=profile,
            server=tool.server,
            tool=tool.name,
            read_only=tool.definition.read_only,
            destructive=tool.definition.destructive,
            trust=spec.trust if spec else "full",
            server_approval=spec.approval if spec else "",
            arguments=arguments,
            public_name=tool.public_name,
            profile_approval=named.approval if named else None,
        )

    async def _run_started(
        self,
        caller: Caller,
        entry: Entry,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
    ) -> Outcome:
        """The started entry's outcome. A stop ends the wait at once, however long cancelling takes below."""
        assert self._nursery is not None
        started = _Started()
        self._started[entry] = started
        self._nursery.start_soon(self._send, caller, started, tool, arguments, on_progress, entry)
        await started.ended.wait()
        return started.outcome

    async def _send(
        self,
        caller: Caller,
        started: _Started,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        entry: Entry,
    ) -> None:
        with started.scope:
            try:
                result = await self._answer(caller, tool, arguments, on_progress, entry)
                outcome = _outcome_of(tool, result)
            except ToolsearchdError as error:
                outcome = Outcome.failed(error)
            except Exception as error:  # a bug below must cost this entry only
                log.exception("the call of %s failed", tool.public_name)
                outcome = Outcome.failed(ToolsearchdError("INTERNAL", f"the call failed: {error!r}"))
            if not started.end(outcome):
                self.late_answers += 1
        self._started.pop(entry, None)

    async def _answer(
        self,
        caller: Caller,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        entry: Entry,
    ) -> dict[str, Any]:
        """The tool's result, from the server or, for a tool of the agent's own, from the agent."""
        if tool.kind == "plugin":
            return await caller.call_own(tool.name, arguments, timeout_s=self._limits.call_timeout_s)

        def report(progress: float, total: float | None, message: str | None) -> None:
            assert on_progress is not None
            on_progress(entry, progress, total, message)

        spec = self._upstream.spec(tool.server)
        return await self._upstream.call(
            tool.server,
            tool.name,
            arguments,
            timeout_s=spec.timeout_s if spec else self._limits.call_timeout_s,
            on_progress=report if on_progress is not None else None,
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
