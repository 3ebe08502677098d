"""Which child processes are this process's own, and which the kernel gave it.

A subreaper inherits what its descendants leave behind. The status of a child that was started here belongs to
who started it; those of the others are collected by `reap`, so that no zombie stays. As the kernel's list of
children is one per process, so is what is known of them here.

Everything in the daemon that starts a process does so through `open_process` or `run_process`, or in a
`starting` block with `adopt`: nothing else tells an own child from an inherited one. `tests/test_layering.py`
holds that.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import trio

from toolsearchd.system import processes

_PR_SET_CHILD_SUBREAPER = 36


class _Children:
    def __init__(self) -> None:
        self.own: weakref.WeakValueDictionary[int, trio.Process | subprocess.Popen[bytes]] = (
            weakref.WeakValueDictionary()
        )
        self.starting = 0  # starts under way: of a child without an owner nobody knows yet whose it is
        self.is_reaper = False
        self.is_refused = False


_children = _Children()


def become_subreaper() -> bool:
    """From now on what descendants leave behind is this process's child, and `reap` collects it. False where
    the kernel refuses: then it goes to another, as ever. For a process that is nothing but the daemon."""
    libc = ctypes.CDLL(None, use_errno=True)
    _children.is_reaper = libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    _children.is_refused = not _children.is_reaper
    return _children.is_reaper


def is_subreaper() -> bool:
    return _children.is_reaper


def is_refused() -> bool:
    """It wanted to be one, and the kernel did not let it."""
    return _children.is_refused


async def open_process(command: Sequence[str], **options: Any) -> trio.Process:
    """As `trio.lowlevel.open_process`. Cancelled, nothing was started, or the process is returned."""
    with starting():
        process = await trio.lowlevel.open_process(list(command), **options)
        adopt(process)
    return process


async def run_process(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """As `trio.run_process`. Raises OSError where it can't be started; cancelled, it kills the process."""
    done: list[subprocess.CompletedProcess[bytes]] = []

    async def run(*, task_status: trio.TaskStatus[trio.Process]) -> None:
        done.append(await trio.run_process(list(command), task_status=task_status, **options))

    refusal: OSError | None = None
    async with trio.open_nursery() as nursery:
        with starting():
            try:
                adopt(await nursery.start(run))
            except OSError as error:
                refusal = error
    if refusal is not None:
        raise refusal
    return done[0]


@contextmanager
def starting() -> Iterator[None]:
    """While a process is started whose owner `adopt` has not heard of yet, nothing is reaped."""
    _children.starting += 1
    try:
        yield
    finally:
        _children.starting -= 1


def is_starting() -> bool:
    return _children.starting > 0


def adopt(process: trio.Process | subprocess.Popen[bytes]) -> None:
    """Its status belongs to the holder of `process`, for as long as that is held."""
    _children.own[process.pid] = process


def is_own(pid: int) -> bool:
    """Was it started here, and has its owner not collected its status yet?"""
    process = _children.own.get(pid)
    return process is not None and process.returncode is None


def reap() -> bool:
    """Collects the inherited children that have ended. False where that can't be done now, mostly because a
    start is under way: try again in a moment. Does nothing where this process is no subreaper."""
    if not _children.is_reaper:
        return True
    try:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return True
    except ChildProcessError:
        return True  # there are no children at all
    if _children.starting:
        return False
    try:
        pids = processes.children()
    except OSError:  # no descriptor is left to read them with
        return False
    for pid in pids:
        if not is_own(pid):
            try:
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG)
            except ChildProcessError:
                pass  # `is_own` has let its owner collect it
    return True
