"""All that is read of /proc, and signals that reach the process that was meant.

A pid is given out again; a pid with the time of its start is one process for ever. Standard library only, and
little of it: the relay runs in every agent.
"""

from __future__ import annotations

import os
import resource
import signal
from typing import NamedTuple

_MAX_ANCESTORS = 64

Key = tuple[int, int]
"""A process: pid, and its start in clock ticks since boot."""


class Process(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    started: int  # clock ticks since boot
    state: str  # a letter, as in proc_pid_stat(5)
    name: str  # at most 15 characters, any
    terminal: int = 0  # device number of its controlling terminal; 0: it has none
    uid: int = -1  # the effective one

    @property
    def key(self) -> Key:
        return (self.pid, self.started)

    @property
    def is_live(self) -> bool:
        """A zombie is not: it holds nothing but its number."""
        return self.state not in "ZX"

    @property
    def is_stopped(self) -> bool:
        return self.state in "Tt"

    @property
    def is_ours(self) -> bool:
        """Does it run as this user?"""
        return self.uid == os.getuid()


Table = dict[int, Process]


def read(pid: int) -> Process | None:
    """None where there is no such process, or /proc does not tell. Raises OSError where nothing can be read
    now (no descriptor is left): that is no word on the process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name stands in parentheses and may hold anything: what follows the last one counts.
            head, _, rest = file.read().rpartition(b")")
        fields = rest.split()
        return Process(
            pid=pid,
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            started=int(fields[19]),
            state=chr(fields[0][0]),
            name=head.partition(b"(")[2].decode("utf-8", "replace"),
            terminal=int(fields[4]),
            uid=os.stat(f"/proc/{pid}").st_uid,
        )
    except (FileNotFoundError, ProcessLookupError, PermissionError, IndexError, ValueError):
        return None


def read_all() -> Table:
    """Every process that /proc shows, zombies too; all of them, or OSError. 20 µs each: not for the loop."""
    found = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def climb(pid: int) -> list[Process]:
    """The process and its ancestors, nearest first, 64 at most; empty where it is gone.
    Raises OSError as `read`."""
    found: list[Process] = []
    while pid > 0 and len(found) < _MAX_ANCESTORS and (process := read(pid)) is not None:
        found.append(process)
        pid = process.parent
    return found


def is_whole(climbed: list[Process]) -> bool:
    """Was nothing missing above what `climb` found, as far as it climbs?"""
    return climbed[-1].parent == 0 or len(climbed) == _MAX_ANCESTORS


def children() -> list[int]:
    """Of this process, all of them, dead ones too. Raises OSError where they can't be read now."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except FileNotFoundError:  # a kernel without that file, or a thread that has just ended
        us = os.getpid()
        found = [process.pid for process in read_all().values() if process.parent == us]
    return found


def environment(pid: int) -> list[bytes]:
    """The `NAME=value` that it was started with; none where that can't be read. Raises OSError where nothing
    can be read now. May hang as long as the kernel lets that process hang: not for the loop."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def cgroup(pid: int) -> str:
    """Its place in the unified hierarchy; empty where there is none."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as file:
            return next((line[3:].strip() for line in file if line.startswith("0::")), "")
    except OSError:
        return ""


def pid_namespace(pid: int) -> int:
    """The inode of its pid namespace, in which its parents' numbers hold; 0 where that can't be read."""
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return 0


def open_files() -> int:
    """Descriptors of this process, the one that reads them among them."""
    return len(os.listdir("/proc/self/fd"))


class Memory:
    """Of this process. Holds a descriptor, so that it can be told when no other is left."""

    def __init__(self) -> None:
        self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def resident_bytes(self) -> int:
        return int(os.pread(self._fd, 200, 0).split()[1]) * resource.getpagesize()


def send(process: Process, number: signal.Signals) -> bool:
    """Signals this very process. False where it has ended, or may not be signalled: nobody was then.

    The descriptor pins the process before its start is compared, so that no other can come in between; where
    there is no descriptor to be had the gap is that between two system calls.
    """
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except OSError:
        fd = -1  # an old kernel, or no descriptor left
    try:
        now = read(process.pid)
        if now is None or now.started != process.started or not now.is_live:
            return False
        if fd >= 0:
            signal.pidfd_send_signal(fd, number)
        else:
            os.kill(process.pid, number)
    except OSError:
        return False
    finally:
        if fd >= 0:
            os.close(fd)
    return True
