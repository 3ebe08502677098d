"""Keeps the daemon's places as they were at the start: both directories, their locks, the two sockets.

Looks once a second. What somebody removed is made again; what stands in the way is said, and tried again
until it is gone; the connections that are open go on meanwhile. Where another live daemon has a place, this
one binds and removes nothing, and when that lasts it stops in order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import trio

from toolsearchd.errors import ToolsearchdError
from toolsearchd.records import Finding
from toolsearchd.sockets.listener import Listener
from toolsearchd.sockets.runtime_dir import RuntimeDir
from toolsearchd.system.claim import Claim

log = logging.getLogger(__name__)

_LOOK_S = 1.0  # a handful of stat calls; an agent's client tries for longer
_LOOKS_BEFORE_YIELDING = 2  # a second daemon that is about to refuse holds its lock for a moment only


class PlaceKeeper:
    """`yield_to` is called once, with why, where another daemon has one of the places for good."""

    def __init__(self, runtime_dir: RuntimeDir, state: Claim, yield_to: Callable[[str], None]) -> None:
        self._runtime_dir = runtime_dir
        self._state = state
        self._yield_to = yield_to
        self._problems: dict[str, str] = {}  # about what → what is wrong
        self._rivals = 0  # looks in a row that found another daemon

    def claim(self) -> None:
        """At the start, before anything is read or written there. Raises ALREADY_RUNNING and BAD_CONFIG; a
        state directory that can't be written is served without, and said."""
        self._runtime_dir.acquire()
        try:
            self._state.take()
        except OSError as error:
            self._say(str(self._state.path), f"the state directory can't be locked: {error.strerror}")
        except ToolsearchdError:
            self._runtime_dir.release()
            raise

    def release(self) -> None:
        self._state.release()
        self._runtime_dir.release()

    def findings(self) -> list[Finding]:
        """What is wrong with the places now, for `status` and `doctor`."""
        return [
            Finding(
                level="error",
                about=about,
                message=problem,
                mend="remove what is in the way, or mend owner and mode; it is tried again every second",
                kind="place-unusable",
            )
            for about, problem in self._problems.items()
        ]

    async def run(
        self,
        listeners: Sequence[Listener],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Until cancelled."""
        task_status.started()
        while True:
            await trio.sleep(_LOOK_S)
            self.look(listeners)

    def look(self, listeners: Sequence[Listener]) -> None:
        """One look at everything; raises nothing that a person's doing may cause."""
        rival = self._hold(self._runtime_dir.claim) or self._hold(self._state)
        self._rivals = self._rivals + 1 if rival else 0
        if self._rivals == _LOOKS_BEFORE_YIELDING:
            self._yield_to(rival)
        if not rival:
            for listener in listeners:
                self._keep_bound(listener)

    def _hold(self, claim: Claim) -> str:
        """Takes the claim again where it is lost; who has it, where another daemon does."""
        rival, about = "", str(claim.path)
        try:
            problem = claim.tighten() if claim.is_held else ""
            if not claim.stands():
                was_held = claim.is_held
                claim.take()
                log.warning(
                    "%s %s was %s; it is locked again",
                    claim.what,
                    claim.path,
                    "changed from outside" if was_held else "not ours",
                )
        except ToolsearchdError as error:
            problem = error.message
            rival = error.message if error.code == "ALREADY_RUNNING" else ""
        except OSError as error:
            problem = f"the {claim.what} can't be locked: {error.strerror}"
        self._say(about, problem)
        return rival

    def _keep_bound(self, listener: Listener) -> None:
        about, problem = str(self._runtime_dir.path / listener.name), ""
        try:
            if listener.is_closed:
                return
            if self._runtime_dir.holds(listener.name):
                self._runtime_dir.tighten(listener.name)
            else:
                listener.rebind()
                log.warning("%s was removed; it is bound again", about)
        except ToolsearchdError as error:
            problem = error.message
        except OSError as error:
            problem = f"{about}: {error.strerror}"
        self._say(about, problem)

    def _say(self, about: str, problem: str) -> None:
        """In the log when it changes."""
        if not problem:
            if self._problems.pop(about, None):
                log.info("%s is as it should be again", about)
        elif self._problems.get(about) != problem:
            self._problems[about] = problem
            log.error("%s; what is connected is served on", problem)
