"""By what a server, and whatever it starts, is known for ours: a variable in its environment.

`TOOLSEARCHD_SERVER=pid:name:number:started:namespace`: the daemon's pid, when it started and in which pid
namespace its pid holds, so that what a dead daemon left is told from what a living one runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import NamedTuple

from toolsearchd.system import processes
from toolsearchd.system.processes import Table

MARKER = "TOOLSEARCHD_SERVER"
COMMAND = "TOOLSEARCHD_COMMAND"  # of what is started on the person's own behalf: its daemons are theirs
_PREFIX = f"{MARKER}=".encode()
_FIRST_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO: the namespace that has no parent


class Mark(NamedTuple):
    """Whose server it is; of an older daemon, only the pid is known."""

    pid: int
    started: int | None
    namespace: int | None

    def names_dead_daemon(self, bearer: int, table: Table) -> bool:
        """Is its daemon surely gone? What can't be told counts as living: its pid may hold elsewhere."""
        here = processes.pid_namespace(os.getpid())
        daemon = table.get(self.pid)
        if self.started is None:
            is_told_here = here == _FIRST_NAMESPACE == processes.pid_namespace(bearer)
            return is_told_here and daemon is None
        if self.namespace != here or not here:
            return False
        return daemon is None or daemon.started != self.started or not daemon.is_live


def marker(name: str, number: int) -> str:
    """For the `number`-th server that this daemon starts."""
    us = processes.read(os.getpid())
    started = us.started if us is not None else 0
    return f"{os.getpid()}:{name}:{number}:{started}:{processes.pid_namespace(os.getpid())}"


def mark_in(environment: Iterable[bytes]) -> Mark | None:
    """None where there is no marker, or no pid in it."""
    value = next((entry for entry in environment if entry.startswith(_PREFIX)), None)
    if value is None:
        return None
    text = value[len(_PREFIX) :].decode("utf-8", "replace")
    pid = text.partition(":")[0]
    if not pid.isdecimal():
        return None
    parts = text.rsplit(":", 3)
    if len(parts) == 4 and all(part.isdecimal() for part in parts[1:]):
        return Mark(int(pid), int(parts[2]), int(parts[3]))
    return Mark(int(pid), None, None)


def shed() -> None:
    """Begins this program again without the marker that it was started with: a daemon that a server's
    descendant started is no server, and what /proc shows of an environment can't be changed otherwise.

    Returns where there is none.
    """
    if MARKER in os.environ:
        environ = {name: value for name, value in os.environ.items() if name != MARKER}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)  # noqa: S606 - ourselves
