"""How long a connection is kept: until it is lost, or nobody has used it for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from toolsearchd.upstream.calls import ServerCalls

if TYPE_CHECKING:
    from toolsearchd.upstream.connection import Connection

_PROVEN_S = 180.0  # a session that held this long was no accident (the reference's keepalive interval)


async def wait_end(
    connection: Connection,
    calls: ServerCalls,
    idle_timeout_s: Callable[[], float],
    proven: Callable[[], None],
) -> bool:
    """Until the connection is lost, or (True) nobody has used it for `idle_timeout_s()`; 0: for ever."""
    proven_at = trio.current_time() + _PROVEN_S
    while not connection.lost.is_set():
        now, idle_s = trio.current_time(), idle_timeout_s()
        idle_at = float("inf")
        if idle_s and calls.in_flight:
            idle_at = now + idle_s
        elif idle_s:
            idle_at = calls.last_used + idle_s
        if now >= idle_at:
            return True
        if now >= proven_at:
            proven()
            proven_at = float("inf")
        with trio.move_on_at(min(idle_at, proven_at)):
            await connection.lost.wait()
    return False
