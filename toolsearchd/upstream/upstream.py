"""One server's supervising task: start it, keep it, list its tools, carry its calls, try again when it goes.

States: starting → ready → (lost) starting …; failed between tries; parked when the tries are used up, probed
now and then. What goes wrong with the server never leaves this task.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import trio

from toolsearchd.catalog.model import Source, SourceState
from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.backoff import Backoff, Breaker
from toolsearchd.upstream.connection import Connection, Listing, OnProgress, open_connection
from toolsearchd.upstream.lines import LineReader
from toolsearchd.upstream.process import ServerProcess, StderrRing

log = logging.getLogger(__name__)

_PROVEN_S = 180.0  # a session that held this long was no accident (the reference's keepalive interval)


class _FailedError(Exception):
    """The server could not be used; the text is for people."""


class Upstream:
    """`spec` may be replaced while running, as long as its digest stays. `publish()` after each change."""

    def __init__(
        self,
        spec: ServerSpec,
        *,
        limits: Limits,
        environment: Callable[[ServerSpec], Mapping[str, str]],
        start_slots: trio.CapacityLimiter,
        publish: Callable[[], None],
    ) -> None:
        self.spec = spec
        self._limits = limits
        self._environment = environment
        self._start_slots = start_slots
        self._publish = publish
        self._backoff = Backoff(limits)
        self._breaker = Breaker(limits)
        self._slots = trio.CapacityLimiter(spec.max_concurrency)
        self._connection: Connection | None = None
        self._process: ServerProcess | None = None
        self._wanted = trio.Event()  # a lazy server's first call, or a restart while waiting
        self._changed = trio.Event()  # the state changed
        self._restart_scope: trio.CancelScope | None = None
        self._retry_at: float | None = None
        self._ever_ready = False
        self.stderr = StderrRing(limits.stderr_ring_bytes)
        self.reader = LineReader(limits)
        self.listing = Listing((), (), 0)
        self.state: SourceState = "starting"
        self.reason = "starting"
        self.last_error = ""
        self.starts = 0
        self.in_flight = 0

    # --- what others see ----------------------------------------------------------------------------

    def source(self) -> Source:
        # A server that is coming back keeps its tools listed: a catalog that flaps breaks prompt caches.
        listed = self._ever_ready and self.state != "parked"
        return Source(
            name=self.spec.name,
            state=self.state,
            reason=self.reason,
            stale=listed and self.state != "ready",
            definitions=self.listing.definitions if listed else (),
            declared_tools=len(self.listing.definitions),
            truncated=self.listing.truncated,
            rejected=self.listing.rejected,
            project=self.spec.project,
            spec_digest=self.spec.digest,
        )

    def status(self) -> dict[str, Any]:
        now = trio.current_time()
        return {
            "name": self.spec.name,
            "state": self.state,
            "reason": self.reason,
            "transport": self.spec.transport,
            "pid": self._process.pid if self._process else None,
            "tools": len(self.listing.definitions),
            "protocol": self._connection.protocol if self._connection else "",
            "server_info": plain_line(self._connection.server_info) if self._connection else "",
            "in_flight": self.in_flight,
            "restarts": max(0, self.starts - 1),
            "last_error": self.last_error,
            "stderr_tail": self.stderr.tail(),
            "junk_lines": self.reader.junk,
            "next_retry_s": round(max(0.0, self._retry_at - now), 1) if self._retry_at else None,
            "breaker_open_s": round(self._breaker.opens_for_s(now), 1),
            "origins": msgspec.to_builtins(self.spec.origins),
        }

    def restart(self) -> None:
        """Ends the running server, or the wait for the next try; it starts again at once."""
        self._backoff = Backoff(self._limits)
        self._wanted.set()
        if self._restart_scope is not None:
            self._restart_scope.cancel()

    def list_again(self) -> None:
        """Its tool filter changed."""
        if self._connection is not None:
            self._connection.tools_changed.set()

    async def call(
        self, tool: str, arguments: dict[str, Any], *, timeout_s: float, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """Raises `ToolsearchdError`: SERVER_UNAVAILABLE provably not sent, INDETERMINATE perhaps done."""
        connection = await self._wait_connected()
        if not self._breaker.admits(trio.current_time()):
            wait_s = self._breaker.opens_for_s(trio.current_time())
            raise ToolsearchdError(
                "SERVER_UNAVAILABLE",
                f"{self.spec.name} failed {self._limits.breaker_failures} calls in a row; "
                f"it is asked again in {wait_s:.0f} s",
            )
        told = False
        self.in_flight += 1
        try:
            async with self._slots:
                if connection.lost.is_set():
                    raise self._unavailable()
                try:
                    result = await connection.call(
                        tool, arguments, timeout_s=timeout_s, on_progress=on_progress
                    )
                except ToolsearchdError as error:
                    told = True
                    # An error about the arguments is an answer; so is one about the answer's size.
                    self._breaker.record(ok=False, now=trio.current_time())
                    raise ToolsearchdError(
                        error.code, error.message, **error.fields, server=self.spec.name
                    ) from error
                told = True
                self._breaker.record(ok=not result.get("isError"), now=trio.current_time())
                self._backoff.proven()
                return result
        finally:
            self.in_flight -= 1
            if not told:
                self._breaker.abandoned()

    def _unavailable(self) -> ToolsearchdError:
        return ToolsearchdError(
            "SERVER_UNAVAILABLE", f"{self.spec.name} is {self.state}: {self.reason}", server=self.spec.name
        )

    async def _wait_connected(self) -> Connection:
        """The connection; a lazy server is started, one that is starting is waited for, up to 5 s."""
        self._wanted.set()
        with trio.move_on_after(self.spec.connect_timeout_s if self._is_lazy_idle else 5.0):
            while self._connection is None:
                if self.state not in ("starting", "ready", "not_started"):
                    break
                await self._changed.wait()
        if self._connection is None:
            raise self._unavailable()
        return self._connection

    @property
    def _is_lazy_idle(self) -> bool:
        return self.spec.start == "lazy" and self.starts == 0

    # --- the supervising task -------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled; then the server is stopped."""
        if self.spec.start == "lazy":
            self._set("not_started", "starts with its first call")
            await self._wanted.wait()
        while True:
            self._wanted = trio.Event()
            with trio.CancelScope() as self._restart_scope:
                failure = await self._run_once()
                self._fail(failure)
                with trio.move_on_at(self._retry_at or 0):
                    await self._wanted.wait()
            self._retry_at = None

    async def _run_once(self) -> str:
        """One life of the server, from its start to its end; returns why it ended."""
        self._set("starting", "starting again" if self._ever_ready else "starting")
        self.starts += 1
        failure = "it ended"
        try:
            failure = await self._live()
        except* _FailedError as group:
            failure = str(_leaf(group))
        except* Exception as group:  # whatever the SDK or the server came up with is this server's failure
            failure = _words(_leaf(group))
            log.debug("server %s failed", self.spec.name, exc_info=group)
        finally:
            self._connection = None
            self._process = None
        return failure

    def _fail(self, failure: str) -> None:
        self._retry_at = trio.current_time() + self._backoff.failed(random.uniform(-1, 1))  # noqa: S311 - it spreads retries
        tail = self.stderr.tail(3)
        self.last_error = failure + (f" (stderr: {' | '.join(tail)})" if tail else "")
        state: SourceState = "parked" if self._backoff.is_parked else "failed"
        wait_s = self._retry_at - trio.current_time()
        self._set(state, f"{failure}; next try in {wait_s:.0f} s")
        log.warning("server %s: %s", self.spec.name, self.reason)

    async def _live(self) -> str:
        if self.spec.transport != "stdio":
            return await self._serve(None, trio.Event())
        first_byte = trio.Event()
        async with trio.open_nursery() as nursery:
            await nursery.start(self._hold_start_slot, first_byte)
            try:
                process = await self._spawn()
                try:
                    return await self._serve(process, first_byte)
                finally:
                    await process.stop()
            finally:
                first_byte.set()

    async def _hold_start_slot(self, first_byte: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Few servers start at once: a slot is held from the fork to the first byte, bounded."""
        async with self._start_slots:
            task_status.started()
            with trio.move_on_after(self._limits.start_slot_s):
                await first_byte.wait()

    async def _spawn(self) -> ServerProcess:
        self.reader = LineReader(self._limits)
        try:
            self._process = await ServerProcess.start(
                self.spec, self._environment(self.spec), self.stderr, self._limits
            )
        except (OSError, ValueError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise _FailedError(f"{self.spec.command[0]} can't be started: {words}") from error
        return self._process

    async def _serve(self, process: ServerProcess | None, first_byte: trio.Event) -> str:
        spec = self.spec
        with trio.CancelScope(deadline=trio.current_time() + spec.connect_timeout_s) as patience:
            async with open_connection(
                spec, process=process, reader=self.reader, limits=self._limits, first_byte=first_byte
            ) as connection:
                self.listing = await connection.list_tools(spec)
                patience.deadline = float("inf")
                self._backoff.connected()
                self._connection, self._ever_ready = connection, True
                self._set("ready", "")
                log.info("server %s is ready with %d tools", spec.name, len(self.listing.definitions))
                await self._follow(connection)
        if patience.cancelled_caught:
            raise _FailedError(f"no handshake within {spec.connect_timeout_s:g} s")
        return _end_of(process)

    async def _follow(self, connection: Connection) -> None:
        """Lists again when told that tools changed, until the connection is lost."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._relist, connection)
            with trio.move_on_after(_PROVEN_S) as early:
                await connection.lost.wait()
            if early.cancelled_caught:
                self._backoff.proven()
                await connection.lost.wait()
            self._connection = None
            nursery.cancel_scope.cancel()

    async def _relist(self, connection: Connection) -> None:
        """One listing at a time, one pending, so far apart; the last change is never lost."""
        while True:
            await connection.tools_changed.wait()
            connection.tools_changed = trio.Event()
            try:
                self.listing = await connection.list_tools(self.spec)
            except ToolsearchdError as error:
                self.last_error = f"listing its tools again failed, the previous list stands: {error.message}"
                log.warning("server %s: %s", self.spec.name, self.last_error)
            else:
                self._tell()
            await trio.sleep(self._limits.list_min_interval_s)

    def _set(self, state: SourceState, reason: str) -> None:
        self.state, self.reason = state, reason
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()
        self._publish()


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _words(error: BaseException) -> str:
    text = error.message if isinstance(error, ToolsearchdError) else str(error)
    return plain_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)[:500]


def _end_of(process: ServerProcess | None) -> str:
    if process is None:
        return "the connection ended"
    code = process.returncode
    if code is None:
        return "it closed its output"
    return f"it was ended by signal {-code}" if code < 0 else f"it exited with status {code}"
