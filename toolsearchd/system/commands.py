"""One short command: what it is told, what it says, within bounds; nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import trio

from toolsearchd.system import children, looks
from toolsearchd.system.marker import MARKER
from toolsearchd.system.processes import Process

_END_S = 2.0
_GRACE_S = 0.2  # for what is still in the pipe when it has ended; its children may hold it open


class CommandFault(Exception):
    """It gave no answer that could be used; the text says why."""


class Answer(NamedTuple):
    returncode: int
    out: bytes
    err: bytes


async def ask(
    command: str | Sequence[str],
    told: bytes,
    *,
    env: Mapping[str, str],
    timeout_s: float,
    most: int,
    mark: str = "",
) -> Answer:
    """`command`: words, or a text for the shell; it runs in a session of its own. `most`: bytes of each
    output. `mark`: of the server that it runs for, with which its descendants end; without one they are the
    person's own once they leave its group. Raises `CommandFault` and OSError. Cancelling ends it."""
    process = await children.open_process(
        ["/bin/sh", "-c", command] if isinstance(command, str) else list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env) | ({MARKER: mark} if mark else {}),
        start_new_session=True,
    )
    leader = looks.leader(process.pid) if mark else None
    if leader is not None:
        looks.household.add(leader, mark)
        looks.started.set()
    assert process.stdout is not None
    assert process.stderr is not None
    said = {process.stdout: b"", process.stderr: b""}

    async def read(pipe: Any, ended: trio.CancelScope) -> None:
        while len(said[pipe]) <= most and (chunk := await pipe.receive_some(65536)):
            said[pipe] += chunk
        if len(said[pipe]) > most:
            ended.cancel()

    async def write() -> None:
        assert process.stdin is not None
        try:
            await process.stdin.send_all(told)
            await process.stdin.aclose()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # it does not want to know

    try:
        with trio.move_on_after(timeout_s) as bound:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                nursery.start_soon(read, process.stdout, nursery.cancel_scope)
                nursery.start_soon(read, process.stderr, nursery.cancel_scope)
                await process.wait()
                nursery.cancel_scope.deadline = trio.current_time() + _GRACE_S
        if bound.cancelled_caught:
            raise CommandFault(f"no answer within {timeout_s:g} s")
        if max(map(len, said.values())) > most:
            raise CommandFault(f"it said more than {most} bytes")
    finally:
        await _end(process, leader)
    assert process.returncode is not None
    return Answer(process.returncode, said[process.stdout], said[process.stderr])


async def _end(process: trio.Process, marked: Process | None) -> None:
    """`marked`: for whose sake all that descends from it ends too."""
    with trio.CancelScope(shield=True), trio.move_on_after(_END_S):
        if marked is not None:  # while its parents live, a process can't deny whose it is
            await looks.look_if_possible()
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass  # all of it has ended
        if marked is not None:
            await looks.end_rest(marked.key)
    with trio.CancelScope(shield=True), trio.move_on_after(_END_S):
        await process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            await pipe.aclose()
