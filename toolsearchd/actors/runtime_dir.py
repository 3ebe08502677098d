"""Owns the runtime directory: the lock that makes the daemon the only one, and the two sockets in it.

The lock file is held for life and never unlinked, so a second daemon can tell a live one from a dead one.
A stale socket is removed only under the lock, and only if it is a socket of ours.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from pathlib import Path

from toolsearchd.errors import ToolsearchdError

BACKLOG = 128
LISTEN_FDS_START = 3  # sd_listen_fds(3)


class RuntimeDir:
    """`path` is made 0700. Raises ALREADY_RUNNING, or BAD_CONFIG where the place can't serve."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_fd = -1
        self._bound: dict[str, tuple[int, int]] = {}  # name → device and inode of the socket file

    def acquire(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(self.path, 0o700)
        except OSError as error:
            raise ToolsearchdError(
                "BAD_CONFIG", f"the runtime directory {self.path} can't be made: {error.strerror}"
            ) from error
        self._lock_fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock_fd, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock_fd)
            self._lock_fd = -1
            raise ToolsearchdError(
                "ALREADY_RUNNING", f"already running (pid {owner or 'unknown'}) in {self.path}"
            ) from None
        os.ftruncate(self._lock_fd, 0)
        os.pwrite(self._lock_fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def bind(self, name: str) -> socket.socket:
        """A listening socket at `name` in the directory; a stale one there is removed first."""
        path = self.path / name
        try:
            found = path.lstat()
        except FileNotFoundError:
            pass
        else:
            if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
                raise ToolsearchdError(
                    "BAD_CONFIG", f"{path} exists and is not a socket of yours; move it away"
                )
            path.unlink()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(str(path))
        except OSError as error:
            sock.close()
            raise ToolsearchdError(
                "BAD_CONFIG",
                f"{path} can't be bound: {error.strerror or error}; a socket's path has at most 107 bytes, "
                f"give a shorter --runtime-dir",
            ) from error
        os.chmod(path, 0o600)
        made = path.lstat()
        self._bound[name] = (made.st_dev, made.st_ino)
        sock.listen(BACKLOG)
        sock.setblocking(False)
        return sock

    def holds(self, name: str) -> bool:
        """Does the path still lead to the socket bound last? (Someone may have cleaned the directory.)

        A socket that systemd bound is systemd's to keep: True.
        """
        if name not in self._bound:
            return True
        try:
            found = (self.path / name).lstat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._bound[name]


def activated_sockets(environ: dict[str, str]) -> dict[str, socket.socket]:
    """Sockets passed by systemd, by their `FileDescriptorName`; the LISTEN_* variables are removed.

    A descriptor that is no listening Unix stream socket, or bears a name that is not ours, is closed.
    """
    pid, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    if pid != str(os.getpid()) or not count.isdigit():
        return {}
    found: dict[str, socket.socket] = {}
    for offset in range(int(count)):
        fd = LISTEN_FDS_START + offset
        name = names[offset].removesuffix(".sock") if offset < len(names) else ""
        try:
            os.set_inheritable(fd, False)
            sock = socket.socket(fileno=fd)
        except OSError:
            continue
        listening = (
            sock.family == socket.AF_UNIX
            and sock.type == socket.SOCK_STREAM
            and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        )
        if not listening or name not in ("agent", "control") or name in found:
            sock.close()
            continue
        sock.setblocking(False)
        found[name] = sock
    return found
