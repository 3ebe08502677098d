"""Who is at the other end of a Unix socket? The kernel's word, and the process's ancestry."""

from __future__ import annotations

import errno
import os
import socket
import struct
from pathlib import Path
from typing import NamedTuple

SERVER_MARKER = "TOOLSEARCHD_SERVER"  # in the environment of every MCP server that the daemon starts
_UCRED = struct.Struct("3i")
_MAX_ANCESTORS = 64
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
    if os.getpid() in ancestors(pid) or _bears_marker(pid):
        return Peer(pid, uid, "a process that descends from one of the daemon's own servers")
    return Peer(pid, uid, "")


def ancestors(pid: int) -> list[int]:
    """Parents of `pid`, nearest first, as far as /proc tells."""
    found: list[int] = []
    while pid > 1 and len(found) < _MAX_ANCESTORS:
        try:
            # The command name stands in parentheses and may hold anything: what follows the last one counts.
            pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError) as error:
            _raise_exhausted(error)
            break
        found.append(pid)
    return found


def _bears_marker(pid: int) -> bool:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError as error:
        _raise_exhausted(error)
        return False
    return f"{SERVER_MARKER}={os.getpid()}:".encode() in environ


def _raise_exhausted(error: Exception) -> None:
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        raise error
