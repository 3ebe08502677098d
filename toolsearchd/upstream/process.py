"""Owns one server process and everything it started: its group, its pipes, its last words.

A server gets a session and a process group of its own (no terminal to ask on), a small environment, and a
marker by which even a descendant that left the group is found. Stopping: close stdin, SIGTERM the group,
SIGKILL the group, then whatever else is known to be of it. Never waits for an end of file.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import trio

from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.globs import matches_glob
from toolsearchd.limits import Limits
from toolsearchd.system import children, looks
from toolsearchd.system.marker import MARKER, marker

_KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ")
_KEPT_PREFIXES = ("LC_", "XDG_")
_LOOK_S = 2.0  # a look takes milliseconds; /proc of a process that hangs in the kernel may hang with it
_LAST_WORDS_S = 0.2  # between the end of a process and that of what it wrote, or the other way round
_starts = itertools.count(1)


def environment_of(spec: ServerSpec, environ: Mapping[str, str], passed: tuple[str, ...]) -> dict[str, str]:
    """What the server sees: the person's basics, what the config passes on, the entry's own."""
    kept = {k: v for k, v in environ.items() if k in _KEPT or k.startswith(_KEPT_PREFIXES)}
    globs = (*passed, *spec.pass_env)
    kept |= {k: v for k, v in environ.items() if any(matches_glob(k, glob) for glob in globs)}
    return kept | dict(spec.env)


def mark_of(spec: ServerSpec) -> str:
    """For the next process that is started for the server."""
    return marker(spec.name, next(_starts))


class StderrRing:
    """The last `max_bytes` of a server's stderr."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._data = bytearray()

    def write(self, chunk: bytes | bytearray) -> None:
        self._data += chunk
        if len(self._data) > self._max_bytes:
            del self._data[: -self._max_bytes]

    def tail(self, lines: int = 20) -> list[str]:
        """The last lines, fit for a terminal."""
        text = self._data.decode("utf-8", "replace")
        return [plain_line(line) for line in text.splitlines()[-lines:]]


class ServerProcess:
    """A running server. Made by `start`; `stop` ends it for good and can't be cancelled half-way."""

    def __init__(self, process: trio.Process, mark: str, stderr: StderrRing, limits: Limits) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._leader = looks.leader(process.pid)
        looks.household.add(self._leader, mark)
        looks.started.set()
        self._limits = limits
        self.stderr = stderr
        self.stdin = process.stdin
        self.stdout = process.stdout
        # Descriptors, for who reads and writes without detours.
        self.input: int = process.stdin.fileno()  # type: ignore[attr-defined]
        self.output: int = process.stdout.fileno()  # type: ignore[attr-defined]

    @classmethod
    async def start(
        cls, spec: ServerSpec, env: Mapping[str, str], stderr: StderrRing, limits: Limits
    ) -> ServerProcess:
        """Raises OSError where the command can't be started; its `filename` may be the working directory."""
        mark = mark_of(spec)
        process = await children.open_process(
            spec.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env) | {MARKER: mark},
            cwd=spec.cwd or env.get("HOME") or "/",
            start_new_session=True,
        )
        return cls(process, mark, stderr, limits)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    async def wait(self) -> None:
        """Until the process itself has ended; its descendants may live on."""
        await self._process.wait()

    async def until_exit(self, read: Callable[[], Awaitable[bool]]) -> None:
        """Until `read` has read the output, or the process is gone and what it had written is read.

        A grandchild may hold the pipe open for ever. Where `read` gives True, the exit is waited for a
        moment, so that it can be said how the process ended.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_after_exit, nursery.cancel_scope)
            if await read():
                with trio.move_on_after(_LAST_WORDS_S):
                    await self.wait()
            nursery.cancel_scope.cancel()

    async def _cancel_after_exit(self, reading: trio.CancelScope) -> None:
        await self.wait()
        await trio.sleep(_LAST_WORDS_S)
        reading.cancel()

    @asynccontextmanager
    async def draining(self) -> AsyncIterator[None]:
        """Its stderr is read until the block is left: a flood must not block the server."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._drain_stderr)
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()

    async def _drain_stderr(self) -> None:
        assert self._process.stderr is not None
        try:
            while chunk := await self._process.stderr.receive_some(65536):
                self.stderr.write(chunk)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # closed from this side at the stop

    async def stop(self) -> None:
        """Ends the group and all that is known to be the server's. Bounded by the stop limits and 6 s."""
        with trio.CancelScope(shield=True):
            with trio.move_on_after(_LOOK_S):  # while its parents live, a process can't deny whose it is
                await looks.look_if_possible()
            await self.stdin.aclose()
            if not await self._group_gone(self._limits.stop_stdin_s):
                self._signal(signal.SIGTERM)
                if not await self._group_gone(self._limits.stop_term_s):
                    self._signal(signal.SIGKILL)
            await looks.end_rest(self._leader.key)
            await self.stdout.aclose()
            if self._process.stderr is not None:
                await self._process.stderr.aclose()
            with trio.move_on_after(2):
                await self._process.wait()

    async def _group_gone(self, within_s: float) -> bool:
        with trio.move_on_after(within_s):
            while self._signal(0):
                self._process.poll()  # reaps the leader, which keeps the group alive as a zombie
                if self._process.returncode is not None:
                    table = await looks.look_if_possible()
                    if table and not any(p.group == self.pid and p.is_live for p in table.values()):
                        break  # only zombies, which wait for a parent that is in no hurry
                await trio.sleep(0.02)
            return True
        return False

    def _signal(self, number: int) -> bool:
        """False where the group has no process left."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True  # a set-uid child: it exists
        return True
