"""One server's supervising task: start it, keep it, list its tools, try again when it goes.

States: starting → ready → (lost) starting …; failed between tries; parked when the tries are used up, probed
now and then; not_started while a lazy server waits for a call. What goes wrong with the server never leaves
this task, a bug in keeping it included: that is one more failure of this server.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import trio

from toolsearchd.catalog.model import Source, SourceState
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.secret_values import secrets_of
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.control_replies import EntryOrigin, ServerStatus
from toolsearchd.system.commands import CommandFault
from toolsearchd.system.guard import guarded
from toolsearchd.system.signal import Signal
from toolsearchd.upstream.backoff import Backoff, Breaker
from toolsearchd.upstream.calls import ServerCalls
from toolsearchd.upstream.headers_helper import with_headers
from toolsearchd.upstream.idleness import wait_end
from toolsearchd.upstream.kept_listing import KeptListing, shown_reason
from toolsearchd.upstream.lines import LineReader
from toolsearchd.upstream.listeners import Listeners
from toolsearchd.upstream.listing import ServerListing
from toolsearchd.upstream.process import ServerProcess
from toolsearchd.upstream.said import Said
from toolsearchd.upstream.sdk import load_sdk
from toolsearchd.upstream.trouble import Trouble
from toolsearchd.upstream.words import trail_of, words_of, words_of_spawn_error

if TYPE_CHECKING:
    from toolsearchd.upstream.connection import Connection
    from toolsearchd.upstream.remote import RemoteTransport
    from toolsearchd.upstream.stdio import StdioTransport

log = logging.getLogger(__name__)

_AFTER_BUG_S = 1.0  # at least, before a server whose keeping failed by a bug is tried again


class _FailedError(RuntimeError):
    """The server could not be used; the text is for people."""


def _words_in(error: BaseException) -> str:
    """Of a `_FailedError`, in whatever groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


class Upstream:
    """Made for one digest; `update` takes other keys of the spec. Calls `publish()` after each change."""

    def __init__(
        self,
        spec: ServerSpec,
        *,
        limits: Limits,
        environment: Callable[[ServerSpec], Awaitable[Mapping[str, str]]],
        start_slots: trio.CapacityLimiter,
        publish: Callable[[], None],
        known: ServerListing,
        on_told: Callable[[str, str, Mapping[str, Any]], None] = lambda *_: None,
    ) -> None:
        """`known`: what the server listed in an earlier run; its tools stand until it comes up.
        `on_told(server, method, params)` hears what the server tells all of its clients."""
        self.spec = spec
        self._secrets = secrets_of(spec)
        self._limits = limits
        self._environment = environment
        self._start_slots = start_slots
        self._publish = publish
        self._on_told = on_told
        self._backoff = Backoff(limits)
        self.calls = ServerCalls(
            spec.name,
            limits,
            spec.max_concurrency,
            connected=self._wait_connected,
            answered=self._note_answer,
            secrets=lambda: self._secrets,
            counts_errors=spec.breaker == "any",
        )
        self._connection: Connection | None = None
        self._process: ServerProcess | None = None
        self._awaited = Signal()  # someone wants it now: a lazy server's call, a restart
        self._changed = Signal()  # the state changed
        self._life = trio.CancelScope()
        self._retry_at: float | None = None
        self._ever_ready = False
        self._said = Said(limits, lambda: self._secrets)
        self._kept = KeptListing(known, limits, complain=self._complain, changed=self._tell)
        self._retired = ""  # why it is not to run any more
        self._known_before = bool(known.definitions)
        self._renews = False  # the session ended, its server is there
        self.state: SourceState = "starting"
        self.reason = "starting"
        self.trouble = Trouble(lambda: self._secrets)
        self.starts = 0

    # --- what others see ----------------------------------------------------------------------------

    @property
    def listed(self) -> ServerListing:
        """All that it listed last, what its entry's filters keep back too."""
        return self._kept.listing

    def source(self) -> Source:
        # A server that is coming back keeps its tools listed: a catalog that flaps breaks prompt caches.
        listed = (self._ever_ready or self._known_before) and self.state != "parked"
        stale = listed and not self._ever_ready
        return self._kept.source(self.spec, self.state, self.reason, is_listed=listed, stale=stale)

    def status(self) -> ServerStatus:
        now, connection, listing = trio.current_time(), self._connection, self._kept.listing
        return ServerStatus(
            name=self.spec.name,
            state=self.state,
            reason=self.reason,
            transport=self.spec.transport,
            pid=self._process.pid if self._process else None,
            tools=len(self._kept.sifted(self.spec).kept),
            left_out=[*listing.not_offered, *listing.rejected] or msgspec.UNSET,
            protocol=connection.protocol if connection else "",
            server_info=plain_line(self._secrets.hidden(connection.server_info)) if connection else "",
            in_flight=self.calls.in_flight,
            queued=self.calls.slots.waiting,
            restarts=max(0, self.starts - 1),
            last_error=self.trouble.text,
            stderr_tail=self._said.tail(20),
            junk_lines=self._said.reader.junk,
            first_junk=self._said.first_junk(),
            next_retry_s=round(max(0.0, self._retry_at - now), 1) if self._retry_at else None,
            breaker_open_s=round(self.calls.breaker.opens_for_s(now), 1),
            origins=msgspec.convert(self.spec.origins, list[EntryOrigin], from_attributes=True),
        )

    def update(self, spec: ServerSpec) -> None:
        """Other keys of the same server: nothing is restarted."""
        old, self.spec = self.spec, spec
        self.calls.slots.total = spec.max_concurrency
        self.calls.counts_errors = spec.breaker == "any"
        if old.start == "lazy" and spec.start == "eager":
            self._awaited.set()

    def retire(self, reason: str) -> None:
        """It is not to run any more: nothing is sent to it from now on, and whoever waits for it is told at
        once. Its task is the caller's to end."""
        self._retired = reason
        self.calls.wake_all()
        self._changed.set()

    def restart(self) -> None:
        """Ends the running server, or the wait for the next try; it starts again at once."""
        self._backoff, self.calls.breaker = Backoff(self._limits), Breaker(self._limits)
        self._awaited.set()
        self._life.cancel()

    # --- whom calls reach -----------------------------------------------------------------------------

    @property
    def capabilities(self) -> frozenset[str]:
        """What it offers, while it is connected."""
        return self._connection.capabilities if self._connection else frozenset()

    def _note_answer(self, refusal: str) -> None:
        if not refusal:
            self._backoff.proven()
        self.trouble.answered(refusal)

    def _take_told(self, method: str, params: Mapping[str, Any]) -> None:
        if method != "notifications/message":
            self._on_told(self.spec.name, method, params)
        elif (client := self.calls.waiting.only()) is not None:
            client.tell(self.spec.name, method, params)

    def _unavailable(self) -> ToolsearchdError:
        why = self._retired or f"is {self.state}: {shown_reason(self.reason, self.spec)}"
        return ToolsearchdError("SERVER_UNAVAILABLE", f"{self.spec.name} {why}", server=self.spec.name)

    async def _wait_connected(self, patience_s: float) -> Connection:
        """A connection that holds. A lazy server is started; one that comes back within `patience_s` is
        waited for. A call never hastens the next try of one that failed: an agent in a loop must not drive a
        crash loop."""
        soon_s = patience_s
        if self.state == "not_started":
            self._awaited.set()
            patience_s = self.spec.connect_timeout_s
        with trio.move_on_after(patience_s):
            while not self._is_usable() and self._is_coming_within(soon_s):
                await self._changed.wait_next()
        if not self._is_usable():
            raise self._unavailable()
        assert self._connection is not None
        return self._connection

    def _is_usable(self) -> bool:
        return not self._retired and self._connection is not None and not self._connection.lost.is_set()

    def _is_coming_within(self, seconds: float) -> bool:
        if self._retired:
            return False
        if self.state == "failed" and self._retry_at is not None:
            return self._retry_at - trio.current_time() <= seconds
        return self.state in ("starting", "ready", "not_started")

    # --- the supervising task -------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled; then the server is stopped."""
        while True:
            with guarded("keeping a server"):
                await self._supervise()
            # Only a bug ends that. Whatever state it left, the server is tried again, as after any failure.
            self._connection = self._process = None
            with guarded("telling of a server's failure"):
                self._fail("a bug in the daemon, its log has it")
            with trio.move_on_at(max(self._retry_at or 0.0, trio.current_time() + _AFTER_BUG_S)):
                await self._awaited.wait()

    async def _supervise(self) -> None:
        if self.spec.start == "lazy":
            await self._sleep("starts with its first call")
        while True:
            self._awaited.clear()
            with trio.CancelScope() as self._life:
                failure = await self._live_once()
                if failure is None:
                    await self._sleep("stopped for idleness; starts with its next call")
                    continue
                if self._renews:
                    continue
                self._fail(failure)
                with trio.move_on_at(self._retry_at or 0):
                    await self._awaited.wait()
            self._retry_at = None

    async def _sleep(self, reason: str) -> None:
        self._set("not_started", reason)
        await self._awaited.wait()

    def _fail(self, failure: str) -> None:
        self._retry_at = trio.current_time() + self._backoff.failed(random.uniform(-1, 1))  # noqa: S311 - it spreads retries
        failure = self._secrets.masked(failure)
        self.trouble.tell(failure, behind=self._said.last_words())
        # No time in the reason: models see it, and their prompts are cached.
        self._set("parked" if self._backoff.is_parked else "failed", failure)
        log.warning(
            "server %s: %s; next try in %.0f s", self.spec.name, failure, self._retry_at - trio.current_time()
        )

    async def _live_once(self) -> str | None:
        """One life of the server, from its start to its end. Why it ended; None: for idleness."""
        self._set("starting", "starting again" if self._ever_ready else "starting")
        self.starts += 1
        failure: str | None = "it ended"
        try:
            failure = await self._live()
        except* _FailedError as group:
            failure = _words_in(group)
        except* Exception as group:  # noqa: BLE001 - whatever it came up with is this server's failure
            failure = words_of(group, self.spec.url, self._secrets)
            log.debug("server %s failed: %s", self.spec.name, trail_of(group, self._secrets))
        finally:
            self._connection = self._process = None
        return failure

    async def _live(self) -> str | None:
        if self.spec.transport != "stdio":
            return await self._live_remote()
        environment = await self._environment(self.spec)
        self._secrets = secrets_of(self.spec, environment)
        first_byte = trio.Event()
        async with trio.open_nursery() as nursery:
            await nursery.start(self._hold_start_slot, first_byte)
            try:
                return await self._live_process(environment, first_byte)
            finally:
                first_byte.set()

    async def _live_remote(self) -> str | None:
        await load_sdk()
        from toolsearchd.upstream.remote import RemoteTransport

        spec = self.spec
        if spec.headers_helper:
            environment = await self._environment(spec)
            try:
                spec = await with_headers(spec, environment)
            except CommandFault as error:
                raise _FailedError(str(error)) from error
            self._secrets = secrets_of(spec, environment)
        return await self._serve(RemoteTransport(spec, self._limits), trio.Event())

    async def _hold_start_slot(self, first_byte: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Few servers start at once: a slot is held from the fork to the first byte, bounded."""
        async with self._start_slots:
            task_status.started()
            with trio.move_on_after(self._limits.start_slot_s):
                await first_byte.wait()

    async def _live_process(self, environment: Mapping[str, str], first_byte: trio.Event) -> str | None:
        from toolsearchd.upstream.stdio import StdioTransport

        self._said.reader, lost = LineReader(self._limits), trio.Event()
        try:
            process = await ServerProcess.start(self.spec, environment, self._said.stderr, self._limits)
        except (OSError, ValueError) as error:
            raise _FailedError(words_of_spawn_error(error, self.spec.command[0], self._secrets)) from error
        self._process = process
        try:
            transport = StdioTransport(
                process,
                self._said.reader,
                self._limits,
                lost=lost,
                first_byte=first_byte,
            )
            async with process.draining():
                return await self._serve(transport, lost)
        finally:
            await process.stop()

    async def _serve(self, transport: StdioTransport | RemoteTransport, lost: trio.Event) -> str | None:
        """From the handshake to the end of the connection; why it ended, None for idleness."""
        from toolsearchd.upstream.opening import open_connection

        spec, step = self.spec, "handshake"
        self._kept.begin()
        self._renews = False
        with trio.CancelScope(deadline=trio.current_time() + spec.connect_timeout_s) as patience:
            try:
                async with open_connection(
                    spec,
                    transport,
                    limits=self._limits,
                    lost=lost,
                    listeners=Listeners(self._kept.note_news, self.calls.waiting.ask, self._take_told),
                    watched=self.calls.watched,
                    claims=self.calls.claims,
                ) as connection:
                    step = "answer to tools/list"
                    self.trouble.connected()
                    await self._kept.take_first(connection, spec.connect_timeout_s)
                    patience.deadline = float("inf")
                    is_idle = await self._keep(connection)
            except* Exception as group:
                raise _FailedError(transport.explain(words_of(group, spec.url, self._secrets))) from group
        if patience.cancelled_caught:
            raise _FailedError(f"no {step} within {spec.connect_timeout_s:g} s")
        return None if is_idle else transport.explain("")

    async def _keep(self, connection: Connection) -> bool:
        """While the connection holds. True: given up for idleness."""
        self._backoff.connected()
        self._connection, self._ever_ready = connection, True
        self.calls.last_used = trio.current_time()
        self._set("ready", "")
        log.info("server %s is ready with %d tools", self.spec.name, len(self._kept.listing.definitions))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._kept.run, connection, lambda: self.spec.connect_timeout_s)
                nursery.start_soon(self.calls.watch_again, connection, self._take_told)
                is_idle = await wait_end(
                    connection, self.calls, lambda: self.spec.idle_timeout_s, lambda: self._backoff.proven()
                )
                if connection.session_ended:
                    await connection.settle()
                nursery.cancel_scope.cancel()
            return is_idle
        finally:
            self._connection = None
            useful = connection.was_useful
            self._renews = connection.session_ended and self._backoff.renews(was_useful=useful)
            self._set("starting", "starting again")

    def _complain(self, words: str) -> None:
        log.warning("server %s: %s", self.spec.name, self.trouble.tell(words))

    def _set(self, state: SourceState, reason: str) -> None:
        self.state, self.reason = state, reason
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._publish()
