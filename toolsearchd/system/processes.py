"""What /proc tells of processes, and signals that reach the one that was meant.

A pid is given out again; a pid with the time of its start is one process for ever.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

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

    @property
    def key(self) -> Key:
        return (self.pid, self.started)

    @property
    def is_live(self) -> bool:
        """A zombie is not: it holds nothing but its number."""
        return self.state not in "ZX"


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
        )
    except (FileNotFoundError, ProcessLookupError, PermissionError, IndexError, ValueError):
        return None


def read_all() -> Table:
    """Every process that /proc shows, zombies too; all of them, or OSError. 20 µs each: not for the loop."""
    found = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def is_ours(pid: int) -> bool:
    """Does it run as this user?"""
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.getuid()
    except OSError:
        return False


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
