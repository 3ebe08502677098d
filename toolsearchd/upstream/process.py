"""Owns one server process and everything it started: its group, its pipes, its last words.

A server gets a session and a process group of its own (no terminal to ask on), a small environment, and a
marker by which even a descendant that left the group is found. Stopping: close stdin, SIGTERM the group,
SIGKILL the group, then whatever still bears the marker. Never waits for an end of file.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import trio

from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.limits import Limits

MARKER = "TOOLSEARCHD_SERVER"
_KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ")
_KEPT_PREFIXES = ("LC_", "XDG_")
_starts = itertools.count(1)


def environment_of(spec: ServerSpec, environ: Mapping[str, str], passed: tuple[str, ...]) -> dict[str, str]:
    """What the server sees: the person's basics, what the config passes on, the entry's own."""
    kept = {k: v for k, v in environ.items() if k in _KEPT or k.startswith(_KEPT_PREFIXES)}
    for name in (*passed, *spec.pass_env):
        if name in environ:
            kept[name] = environ[name]
    return kept | dict(spec.env)


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

    def __init__(self, process: trio.Process, marker: str, stderr: StderrRing, limits: Limits) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._marker = marker
        self._limits = limits
        self.stderr = stderr
        self.stdin = process.stdin
        self.stdout = process.stdout

    @classmethod
    async def start(
        cls, spec: ServerSpec, env: Mapping[str, str], stderr: StderrRing, limits: Limits
    ) -> ServerProcess:
        """Raises OSError where the command can't be started."""
        marker = f"{os.getpid()}:{spec.name}:{next(_starts)}"
        process = await trio.lowlevel.open_process(
            list(spec.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env) | {MARKER: marker},
            cwd=spec.cwd or env.get("HOME") or "/",
            start_new_session=True,
        )
        return cls(process, marker, stderr, limits)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    async def wait(self) -> None:
        """Until the process itself has ended; its descendants may live on."""
        await self._process.wait()

    async def drain_stderr(self) -> None:
        """Reads stderr into the ring until it ends: a flood must not block the server."""
        assert self._process.stderr is not None
        try:
            while chunk := await self._process.stderr.receive_some(65536):
                self.stderr.write(chunk)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # closed from this side at the stop

    async def stop(self) -> None:
        """Ends the group and all that bears the marker. Bounded by the stop limits and 2 s."""
        with trio.CancelScope(shield=True):
            await self.stdin.aclose()
            if not await self._group_gone(self._limits.stop_stdin_s):
                self._signal(signal.SIGTERM)
                if not await self._group_gone(self._limits.stop_term_s):
                    self._signal(signal.SIGKILL)
                    await self._group_gone(2.0)
            await self._kill_marked()
            await self.stdout.aclose()
            if self._process.stderr is not None:
                await self._process.stderr.aclose()
            with trio.move_on_after(2):
                await self._process.wait()

    async def _group_gone(self, within_s: float) -> bool:
        with trio.move_on_after(within_s):
            while self._signal(0):
                self._process.poll()  # reaps the leader, which keeps the group alive as a zombie
                await trio.sleep(0.01)
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

    async def _kill_marked(self) -> None:
        """Descendants that left the group still carry the environment they were born with."""
        for _ in range(40):
            pids = _bearing(f"{MARKER}={self._marker}")
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass  # it went by itself
            await trio.sleep(0.05)


def _bearing(variable: str) -> list[int]:
    wanted = variable.encode()
    found = []
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            if wanted in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue  # gone, or another user's
    return found
