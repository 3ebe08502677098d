"""The way to a daemon's socket, for the relay and all clients: whose it is is known before the first byte.

The runtime directory and the socket in it are looked at first (anybody may make a directory in the temp dir),
and once connected the kernel's word counts: what is swapped in between gets a connection and not a byte.
Nothing here waits without a bound. Standard library only: the relay runs in every agent.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
import time
from typing import Protocol

from toolsearchd.system import processes
from toolsearchd.system.files import open_file

GREETING_S = 10.0  # for a connection, a welcome or a ping's answer: systemd starts a daemon in 1 to 3
_RETRY_S = 0.02  # between tries while the daemon's queue of connections is full
_PATH_BYTES = 107  # sun_path of unix(7) has 108, with the NUL
_LOCK_BYTES = 32  # a pid and the end of its line
_UCRED = struct.Struct("3i")  # unix(7), SO_PEERCRED: pid, uid, gid


class RefusedError(Exception):
    """What stands there is not this user's alone. Nothing was sent to it; the text says whose it is, and the
    mend."""


class Connected(Protocol):
    """A socket, or trio's."""

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes: ...


def connect(path: str, timeout_s: float) -> socket.socket:
    """A connected, non-blocking socket whose other end is this user's; blocks `timeout_s` at most.

    Raises as `dial`; TimeoutError where the queue stayed full.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return dial(path)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError("its queue of connections is full") from None
        time.sleep(_RETRY_S)


def dial(path: str) -> socket.socket:
    """One try, which waits for nothing.

    Raises RefusedError; OSError where nobody listens, and of these BlockingIOError where somebody does and
    his queue of connections is full.
    """
    if len(os.fsencode(path)) > _PATH_BYTES:
        raise OSError(errno.ENAMETOOLONG, f"too long for a socket: {_PATH_BYTES} bytes at most")
    check_directory(os.path.dirname(path) or ".")
    _check_socket(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(path)
        _check_peer(sock, path)
    except BaseException:
        sock.close()
        raise
    return sock


def check_directory(directory: str) -> None:
    """Raises RefusedError, and OSError where there is none."""
    found = os.lstat(directory)
    _check_owner(directory, found)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{directory} is no directory")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(found.st_mode)
        raise RefusedError(
            f"{directory} can be written by others (mode {mode:04o}), so what is in it may be anybody's: "
            f"`chmod 700 {directory}`"
        )


def check_home_of(directory: str) -> None:
    """May a daemon of this user make or use `directory`? Raises RefusedError where it, or the nearest place
    above it that exists, is another's; root's will do for a place above, as /tmp is."""
    try:
        check_directory(directory)
        return
    except OSError:
        pass  # it is not there yet
    above = os.path.dirname(os.path.abspath(directory))
    while not os.path.exists(above):
        above = os.path.dirname(above)
    uid = os.stat(above).st_uid
    if uid not in (os.getuid(), 0):
        raise RefusedError(
            f"{directory} would lie in {above}, which belongs to {_name_of(uid)}: set XDG_RUNTIME_DIR to a "
            f"directory of yours, or give one with --runtime-dir"
        )


def peer_pid(sock: Connected) -> int:
    """Of the process that listens: the daemon, or systemd where it opened the socket; 0: not known."""
    try:
        return _credentials(sock)[0]
    except OSError:
        return 0


def silence(path: str, listener: int, timeout_s: float) -> tuple[str, int]:
    """What to say of a daemon that takes connections and answers nothing, and its pid (0: not known).

    `listener`: what `peer_pid` said, 0 where there was no connection.
    """
    by_systemd = (process := _process(listener)) is not None and process.name == "systemd"
    pid = 0 if by_systemd else listener
    if not pid:
        lock = _lock_of(os.path.dirname(path))
        pid = int(lock) if lock.isascii() and lock.isdigit() else 0
    is_stopped = (process := _process(pid)) is not None and process.is_stopped
    who = f" (pid {pid}, {'stopped' if is_stopped else 'not responding'})" if pid else ""
    mends = [f"`kill -CONT {pid}` lets it go on"] if is_stopped else []
    if by_systemd or not pid:
        mends.append("`systemctl --user restart toolsearchd.service` starts it anew")
    else:
        mends.append(f"`kill -KILL {pid}` ends it, and the next agent starts another")
    return f"the daemon at {path}{who} said nothing within {timeout_s:g} s: {', '.join(mends)}", pid


def _process(pid: int) -> processes.Process | None:
    try:
        return processes.read(pid)
    except OSError:  # no descriptor is left: the words do without
        return None


def _check_socket(path: str) -> None:
    found = os.lstat(path)
    _check_owner(path, found)
    if not stat.S_ISSOCK(found.st_mode):
        raise ConnectionRefusedError(f"{path} is no socket")


def _check_owner(path: str, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise RefusedError(
            f"{path} is a link of {_name_of(found.st_uid)}, and where it leads may change: remove it, or "
            f"give the place itself with --runtime-dir"
        )
    if found.st_uid != os.getuid():
        raise RefusedError(
            f"{path} belongs to {_name_of(found.st_uid)}, not to {_name_of(os.getuid())}: remove it, or give "
            f"a directory of yours with --runtime-dir or XDG_RUNTIME_DIR"
        )


def _check_peer(sock: socket.socket, path: str) -> None:
    try:
        pid, uid, _ = _credentials(sock)
    except OSError as error:
        raise RefusedError(
            f"the kernel does not say who listens at {path} ({error.strerror}): nothing was sent"
        ) from error
    if uid != os.getuid():
        raise RefusedError(
            f"what listens at {path} is a process of {_name_of(uid)} (pid {pid}), not of "
            f"{_name_of(os.getuid())}: nothing was sent; end it, or give another --runtime-dir"
        )


def _credentials(sock: Connected) -> tuple[int, int, int]:
    pid, uid, gid = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return pid, uid, gid


def _name_of(uid: int) -> str:
    import pwd  # refusals are seldom

    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _lock_of(directory: str) -> str:
    """What the daemon in it wrote there of itself; empty where that can't be read."""
    try:
        with open_file(f"{directory}/lock", follow=False) as file:
            return file.read(_LOCK_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
