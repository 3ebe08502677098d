"""Looks at what runs below this process: whose each process is, and what nobody answers for.

Owns the one household, for the kernel's tree is one per process too. /proc is read in threads, one look at a
time; who comes while one is under way shares the next.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterable
from typing import NamedTuple

import trio

from toolsearchd.system import children, processes
from toolsearchd.system.household import Household, descendants
from toolsearchd.system.marker import MARKER, is_persons
from toolsearchd.system.processes import Key, Process, Table
from toolsearchd.system.signal import Signal

log = logging.getLogger(__name__)

_REST_S = 2.0  # for descendants that fork while they are killed
household = Household()
started = Signal()
"""Set at each start of a server: what daemonises mostly does so at once. `Orphans` reads it."""


class _Traces(NamedTuple):
    """What a process shows of its origin."""

    marker: str
    is_persons: bool  # begun by a command of the person's own, which may leave what it likes
    cgroup: str


class _Looks:
    def __init__(self) -> None:
        self.turn = trio.CapacityLimiter(1)
        self.count = 0
        self.latest: tuple[int, Table] = (0, {})
        self.asked: set[Key] = set()  # processes whose traces were read, and told nothing
        self.persons: set[Key] = set()


_looks = _Looks()


async def look() -> Table:
    """All processes, read after this was called; the household knows what there is to know of them. Raises
    OSError where they can't be read now. Cancelled, a reading thread may go on, unheard."""
    before = _looks.count
    async with _looks.turn:
        number, table = _looks.latest
        if number > before:
            return table
        _looks.count += 1
        number = _looks.count
        table = await trio.to_thread.run_sync(processes.read_all, abandon_on_cancel=True)
        household.look(table, os.getpid())
        await _ask_for_traces(table)
        _looks.latest = (number, table)
        return table


async def look_if_possible() -> Table:
    """Empty where nothing can be read now: no descriptor is left."""
    try:
        return await look()
    except OSError as error:
        log.debug("no look at the processes: %s", error)
        return {}


def leader(pid: int) -> Process:
    """A process that was just started, and not collected yet: it is there, if only as a zombie."""
    try:
        found = processes.read(pid)
    except OSError:  # no descriptor is left: its group is all that is known of it then
        found = None
    return found or Process(pid, os.getpid(), pid, pid, 0, "X", "")


async def end_rest(of: Key) -> None:
    """What the server left, its descendants in other groups too, is killed, within 2 s; from then on it has
    been stopped. Until none is found, for some fork faster than they are killed."""
    try:
        with trio.move_on_after(_REST_S):
            while True:
                table = await look_if_possible()
                found = household.of(of, table)
                if table and not found and not children.is_starting():  # or a child may not be placed yet
                    break
                for process in found:
                    processes.send(process, signal.SIGKILL)
                await trio.sleep(0.02)
    finally:
        household.end(of)


async def _ask_for_traces(table: Table) -> None:
    """Of each process of which nothing is known, once."""
    standing = {process.key for process in table.values()}
    _looks.asked &= standing
    _looks.persons &= standing
    unknown = [process for process in _unplaced(table) if process.key not in _looks.asked]
    servers = household.running()
    if not unknown or household.is_empty:
        return
    traces, cgroups, own = await trio.to_thread.run_sync(
        _read_traces, unknown, servers, abandon_on_cancel=True
    )
    household.note_cgroups(cgroups)
    for process, its in zip(unknown, traces, strict=True):
        _looks.asked.add(process.key)
        household.claim(process, its.marker, its.cgroup, own)
        if its.is_persons:
            _looks.persons.add(process.key)
    household.look(table, os.getpid())


def _unplaced(table: Table) -> list[Process]:
    """Of a subreaper: what lives below it and is no server's nor its own children's. Else all of this user's
    that live and are nobody's: what was left behind may be anybody's child."""
    if not children.is_subreaper():
        return [p for p in table.values() if p.is_live and not household.is_known(p) and p.pid != os.getpid()]
    if children.is_starting():
        return []  # whose a new child is will be known in a moment
    given = [p for p in table.values() if p.parent == os.getpid() and not children.is_own(p.pid)]
    found = [*given, *descendants([process.pid for process in given], table)]
    return [process for process in found if process.is_live and not household.is_known(process)]


def strays(table: Table) -> list[Process]:
    """What lives below a subreaper and nothing tells whose it is. None of the person's own commands'."""
    if not children.is_subreaper():
        return []
    persons = {pid for pid, _ in _looks.persons}
    spared = persons | {process.pid for process in descendants(persons, table)}
    return [process for process in _unplaced(table) if process.pid not in spared]


def _read_traces(
    unknown: Iterable[Process], servers: Iterable[Key]
) -> tuple[list[_Traces], dict[Key, str], str]:
    """In a thread. The cgroups are those of the servers, and this process's own."""
    traces = [_traces(process) for process in unknown]
    return traces, {server: processes.cgroup(server[0]) for server in servers}, processes.cgroup(os.getpid())


def _traces(process: Process) -> _Traces:
    if not process.is_ours:
        return _Traces("", False, "")
    environment, prefix = processes.environment(process.pid), f"{MARKER}=".encode()
    marks = [
        entry[len(prefix) :].decode("utf-8", "replace") for entry in environment if entry.startswith(prefix)
    ]
    return _Traces(marks[0] if marks else "", is_persons(environment), processes.cgroup(process.pid))
