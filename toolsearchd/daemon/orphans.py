"""What servers leave behind: who it is of, its end with its server, and at the latest with the daemon.

Owns the looks at the processes below the daemon. At its start it ends what a dead daemon of this user left
running; while servers run it looks now and then whose each process is, collects what has ended, and ends what
outlived its server; at its stop it ends all that still lives. Who must not be touched: another living
daemon's servers, what a command of the person's own began, and whoever started this daemon.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterable

import trio

from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.limits import Limits
from toolsearchd.records import Finding
from toolsearchd.system import children, guard, looks, processes
from toolsearchd.system.guard import guarded
from toolsearchd.system.household import above
from toolsearchd.system.marker import Mark, mark_in
from toolsearchd.system.processes import Process, Table

log = logging.getLogger(__name__)

_AFTER_START_S = (0.25, 0.5, 1.0, 2.0)  # between the looks behind a start; then `orphan_look_s`
_TRY_AGAIN_S = 0.05  # a start is under way: it takes milliseconds
_KILLED_S = 0.2  # a process that was killed is gone in milliseconds, unless it hangs in the kernel
_POLITE_S = 1.0  # from SIGTERM to SIGKILL at the daemon's stop, where little time is left
_END_S = 3.0  # for all of that
_NAMED = 20  # in one line of the log
_REFUSED = Finding(
    level="info",
    about="PR_SET_CHILD_SUBREAPER",
    message="the kernel refuses it: what detaches itself from a server before a look has seen it can't be "
    "told from your other processes",
    mend="the sandbox around the daemon forbids it (prctl 36)",
    kind="no-subreaper",
)


class Orphans:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._swept = trio.Event()
        self._strays: list[Process] = []
        self._undead: list[Process] = []  # of a dead daemon, and still there after SIGKILL

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled; then what is left below the daemon is ended, within 3 s."""
        task_status.started()
        try:
            async with trio.open_nursery() as nursery:
                guard.start(nursery, "ending what a dead daemon left", self._sweep)
                guard.start(nursery, "collecting what has ended", self._reap)
                await self._watch()
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(_END_S):
                await self._end_all()

    async def wait_swept(self) -> None:
        """Until what a dead daemon left has been ended, or given up on: two of one server would fight over
        its port or file."""
        await self._swept.wait()

    def findings(self) -> list[Finding]:
        """For `doctor`: what can't be told whose it is, and what could not be ended."""
        found = [
            _finding(
                process,
                "a server left it behind, and nothing tells which; it ends with the daemon",
                f"`kill {process.pid}` if it should not live that long",
            )
            for process in self._strays
            if _is_still(process)
        ]
        found += [
            _finding(
                process,
                "a daemon that is gone left it running, and SIGKILL did not end it",
                "it hangs in the kernel, mostly over a network file system",
            )
            for process in self._undead
            if _is_still(process)
        ]
        if children.is_refused():
            found.append(_REFUSED)
        return found

    # --- at the start -------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        try:
            with trio.move_on_after(self._limits.orphan_sweep_s):
                left = await _left_by_the_dead()
                if left:
                    log.warning("ending what a daemon that is gone left running: %s", _names(left))
                    self._undead = left
                    _send_all(left, signal.SIGTERM)  # they had their end of file when their daemon died
                    await _wait_gone(left, self._limits.stop_term_s)
                    while left := await _left_by_the_dead():
                        self._undead = left
                        _send_all(left, signal.SIGKILL)
                        await _wait_gone(left, _KILLED_S)
                    self._undead = []
        except OSError as error:
            log.warning("what a dead daemon may have left running can't be looked for: %s", error)
        finally:
            self._swept.set()

    # --- while servers run ----------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Often behind a start, now and then while there is anything to look at, else not at all."""
        while True:
            looks.started.clear()
            if self._is_idle():
                await looks.started.wait()
                continue
            for pause_s in _AFTER_START_S:
                await trio.sleep(pause_s)
                with guarded("looking at what servers started"):
                    await self._look()
            while not looks.started.is_set() and not self._is_idle():
                with trio.move_on_after(self._limits.orphan_look_s):
                    await looks.started.wait()
                    break
                with guarded("looking at what servers started"):
                    await self._look()

    def _is_idle(self) -> bool:
        return looks.household.is_empty and not self._strays

    async def _look(self) -> None:
        try:
            table = await looks.look()
        except OSError as error:  # no descriptor is left: the next look may have one
            log.debug("no look at the processes: %s", error)
            return
        left = looks.household.left_behind(table)
        if left:
            log.info("ending what outlived its server: %s", _names(left))
            _send_all(left, signal.SIGKILL)
        if children.is_starting():
            return  # whose a new child is will be known in a moment
        known = {process.key for process in self._strays}
        self._strays = looks.strays(table)
        if fresh := [process for process in self._strays if process.key not in known]:
            log.warning("left behind by a server, and nothing tells which: %s", _names(fresh))

    async def _reap(self) -> None:
        with trio.open_signal_receiver(signal.SIGCHLD) as deaths:
            while not children.reap():  # what ended before there was somebody to hear of it
                await trio.sleep(_TRY_AGAIN_S)
            async for _ in deaths:
                while not children.reap():
                    await trio.sleep(_TRY_AGAIN_S)

    # --- at the stop ------------------------------------------------------------------------------------

    async def _end_all(self) -> None:
        if looks.household.is_empty and not children.is_subreaper():
            return
        try:
            left = _below(await looks.look())
            if not left:
                return
            log.warning("ending what servers left behind: %s", _names(left))
            _send_all(left, signal.SIGTERM)
            await _wait_gone(left, _POLITE_S)
            while left := _below(await looks.look()):
                _send_all(left, signal.SIGKILL)
                await _wait_gone(left, _KILLED_S)
        except OSError as error:
            log.error("what servers left behind can't be looked for: %s", error)


def _below(table: Table) -> list[Process]:
    return [*looks.household.left_behind(table), *looks.strays(table)]


async def _left_by_the_dead() -> list[Process]:
    return await trio.to_thread.run_sync(left_by_the_dead, abandon_on_cancel=True)


def left_by_the_dead() -> list[Process]:
    """Live processes of this user whose marker names a dead daemon, and who is in a session that one of them
    began: only their children can be in it. A session whose leader lives and bears no such marker is somebody
    else's, whoever came into it with one. Nobody above this process. Reads much of /proc: for a thread."""
    table = processes.read_all()
    spared = {os.getpid(), *above(os.getppid(), table)}
    marks = {
        process.pid: mark
        for process in table.values()
        if process.is_live and process.pid not in spared and (mark := _mark_of(process)) is not None
    }
    dead = {pid for pid, mark in marks.items() if mark.names_dead_daemon(pid)}
    sessions = {table[pid].session for pid in dead}
    sessions -= {0, os.getsid(0)}  # 0: of a leader beyond this pid namespace
    sessions -= {id_ for id_ in sessions if id_ in table and table[id_].is_live and id_ not in dead}
    dead |= {
        process.pid
        for process in table.values()
        if process.session in sessions
        and process.is_live
        and process.pid not in spared
        and process.pid not in marks  # or it is a living daemon's
        and process.is_ours
    }
    return [table[pid] for pid in dead]


def _mark_of(process: Process) -> Mark | None:
    return mark_in(processes.environment(process.pid)) if process.is_ours else None


def _send_all(them: Iterable[Process], number: signal.Signals) -> None:
    for process in them:
        processes.send(process, number)


async def _wait_gone(them: list[Process], within_s: float) -> None:
    with trio.move_on_after(within_s):
        while any(_is_still(process) for process in them):
            await trio.sleep(0.02)


def _is_still(process: Process) -> bool:
    try:
        now = processes.read(process.pid)
    except OSError:
        return True  # nothing says otherwise
    return now is not None and now.key == process.key and now.is_live


def _names(them: list[Process]) -> str:
    said = ", ".join(f"{plain_line(process.name)} ({process.pid})" for process in them[:_NAMED])
    return said + (f" and {len(them) - _NAMED} more" if len(them) > _NAMED else "")


def _finding(process: Process, message: str, mend: str) -> Finding:
    return Finding(
        kind="left-behind",
        level="warning",
        about=f"{plain_line(process.name)} (pid {process.pid})",
        message=message,
        mend=mend,
    )
