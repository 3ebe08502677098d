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

import trio

from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.limits import Limits

MARKER = "TOOLSEARCHD_SERVER"
_KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ")
_KEPT_PREFIXES = ("LC_", "XDG_")
_REST_S = 2.0  # for descendants that fork while they are killed
_starts = itertools.count(1)
_one_scan = trio.CapacityLimiter(1)  # many servers stop at once; their scans queue


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
        """Raises OSError where the command can't be started; its `filename` may be the working directory."""
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
        """Ends the group and all that bears the marker. Bounded by the stop limits and 4 s."""
        with trio.CancelScope(shield=True):
            await self.stdin.aclose()
            if not await self._group_gone(self._limits.stop_stdin_s):
                self._signal(signal.SIGTERM)
                if not await self._group_gone(self._limits.stop_term_s):
                    self._signal(signal.SIGKILL)
            await self._kill_the_rest()
            await self.stdout.aclose()
            if self._process.stderr is not None:
                await self._process.stderr.aclose()
            with trio.move_on_after(2):
                await self._process.wait()

    async def _group_gone(self, within_s: float) -> bool:
        with trio.move_on_after(within_s):
            while self._signal(0):
                self._process.poll()  # reaps the leader, which keeps the group alive as a zombie
                if self._process.returncode is not None and not await scan(in_group=self.pid):
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

    async def _kill_the_rest(self) -> None:
        """The group again, and descendants that left it: they still carry the environment they were born
        with. Until none is found, for some fork faster than they are killed."""
        group = self.pid if self._signal(0) else 0  # the id of a group that is gone may be another's by now
        with trio.move_on_after(_REST_S):
            while pids := await scan(in_group=group, bearing=f"{MARKER}={self._marker}"):
                for pid in pids:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except OSError:
                        pass  # it went by itself
                await trio.sleep(0.02)


async def scan(*, in_group: int = 0, bearing: str = "") -> list[int]:
    """Pids of live processes in a group, or with a variable in their environment. In a worker thread: on a
    busy machine /proc takes longer to read than the loop may stand."""
    return await trio.to_thread.run_sync(_scan, in_group, bearing.encode(), limiter=_one_scan)


def _scan(group: int, variable: bytes) -> list[int]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if (group and _is_live_in(entry.path, group)) or (variable and _bears(entry.path, variable)):
                    found.append(int(entry.name))
            except OSError:
                continue  # gone, or another user's
    return found


def _is_live_in(path: str, group: int) -> bool:
    with open(f"{path}/stat", "rb") as file:
        state, _parent, its_group = file.read().rpartition(b")")[2].split()[:3]
    return int(its_group) == group and state not in (b"Z", b"X")


def _bears(path: str, variable: bytes) -> bool:
    with open(f"{path}/environ", "rb") as file:
        return variable in file.read().split(b"\0")
