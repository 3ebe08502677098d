"""One guard for all that belongs to a session, an entry, a server or a file: a bug in it is that one's end.

Such code runs under `guarded`, its tasks are started by `start`: a bug is told in the log, once with its
traceback, and counted; its waiter hears INTERNAL; everything else goes on. The singletons that `app` starts
are not guarded: a bug of their own ends the process, and systemd starts it again.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import trio

from toolsearchd.errors import ToolsearchdError

log = logging.getLogger(__name__)

Tell = Callable[[ToolsearchdError], None]
"""Ends a wait with an error."""

_WORDS = 300  # of a bug in the error that its waiter hears

bugs: Counter[str] = Counter()
"""Caught since the process began, by what failed. As the log it is the process's, and nobody's state."""
_told: set[tuple[str, str]] = set()  # what failed and where: as many as there are bugs in the code


class guarded:
    """`with guarded(what, tell):` nothing but cancellation leaves the block.

    A `ToolsearchdError` is an outcome that the block may have: `tell` hears it as it is. Anything else is a
    bug: `tell` hears INTERNAL. Without `tell` nobody waits, and every error is a bug. `what` names the kind
    of work, from the code and not from a peer.
    """

    __slots__ = ("_tell", "_what")

    def __init__(self, what: str, tell: Tell | None = None) -> None:
        self._what = what
        self._tell = tell

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        if error is None:
            return False
        if isinstance(error, BaseExceptionGroup):
            errors, rest = error.split(Exception)
            if errors is not None:
                self._take(errors)
            if rest is not None:
                raise rest from None  # a cancellation goes on, without the bug that came with it
            return True
        if isinstance(error, Exception):
            self._take(error)
            return True
        return False

    def _take(self, error: Exception) -> None:
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if self._tell is None:
            caught(self._what, error)
            return
        outcome = error if isinstance(error, ToolsearchdError) else caught(self._what, error)
        try:
            self._tell(outcome)
        except Exception as second:  # noqa: BLE001 - who waits can't be told: the guard is the last resort
            caught(f"the error of {self._what}", second)


def caught(what: str, error: Exception) -> ToolsearchdError:
    """Logs and counts a bug; what its waiter is told."""
    bugs[what] += 1
    place = traceback.extract_tb(error.__traceback__)[-1:]
    kind = (what, f"{type(error).__name__} {place}")
    if kind in _told:
        log.debug("%s failed again: %s", what, _words(error))
    else:
        _told.add(kind)
        log.error("%s failed, which is a bug; the rest goes on", what, exc_info=error)
    return ToolsearchdError("INTERNAL", f"{what} failed: {_words(error)}")


def start(
    nursery: trio.Nursery,
    what: str,
    run: Callable[..., Awaitable[Any]],
    *args: Any,
    tell: Tell | None = None,
) -> None:
    """A task in `nursery` that ends alone, however it ends."""

    async def body() -> None:
        with guarded(what, tell):
            await run(*args)

    nursery.start_soon(body, name=what)


def _words(error: Exception) -> str:
    try:
        words = repr(error)
    except Exception:  # noqa: BLE001 - an error whose words fail is told by its kind
        words = type(error).__name__
    return words[:_WORDS].encode("utf-8", "replace").decode()
