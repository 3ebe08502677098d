"""Who is at the other end of a Unix socket? The kernel's word, and the process's ancestry."""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import NamedTuple

from toolsearchd.system import children, looks, processes
from toolsearchd.system.marker import MARKER, is_persons

_UCRED = struct.Struct("3i")
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # ours, and no word about the process


class Peer(NamedTuple):
    pid: int
    uid: int
    refusal: str  # why it gets no session; empty: it may have one


def identify(sock: socket.socket) -> Peer:
    """SO_PEERCRED first: another user is refused before a byte is read. Then ancestry: an MCP server of
    ours, or anything it started, must not drive the daemon that drives it. Raises OSError where no descriptor
    is left to look at it: who can't be told from a server gets no session."""
    try:
        pid, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    except OSError as error:
        return Peer(0, -1, f"the kernel does not say who connects ({error.strerror})")
    if uid != os.getuid():
        return Peer(pid, uid, "another user's process")
    if pid == os.getpid():
        return Peer(pid, uid, "")
    try:
        refusal = _descends(pid)
    except OSError as error:
        if error.errno in _EXHAUSTED:
            raise
        refusal = f"a process of which can't be told what it is ({error.strerror})"
    return Peer(pid, uid, refusal)


def _descends(pid: int) -> str:
    """Why a process of this user gets no session. One that is gone may have been anybody's; so may be one
    that is not in this pid namespace, but then none of the daemon's servers started it. What a command of the
    person's own has left behind (their login shell a terminal multiplexer, say) is theirs, and no server's.
    Raises OSError."""
    if pid == 0:
        return ""
    climbed = processes.climb(pid)
    if not climbed:
        return "a process that has ended"
    ours = next((process for process in climbed if process.parent == os.getpid()), None)
    descends = ours is not None and (
        children.is_own(ours.pid) or not is_persons(processes.environment(ours.pid))
    )
    if descends or any(map(looks.household.is_known, climbed)) or _bears_marker(pid):
        return "a process that descends from one of the daemon's own servers"
    return ""


def _bears_marker(pid: int) -> bool:
    prefix = f"{MARKER}={os.getpid()}:".encode()
    return any(entry.startswith(prefix) for entry in processes.environment(pid))
