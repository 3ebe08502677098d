"""Owns the runtime directory: the claim that makes the daemon the only one in it, and the two sockets.

A stale socket is removed only while the claim stands, only if it is a socket of ours and nobody listens at
it. While another daemon has the place nothing is bound and nothing removed.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path

from toolsearchd.errors import ToolsearchdError
from toolsearchd.system.claim import Claim

BACKLOG = 128
LISTEN_FDS_START = 3  # sd_listen_fds(3)
_UCRED = struct.Struct("3i")


class RuntimeDir:
    """`path` is made 0700. Raises ALREADY_RUNNING, or BAD_CONFIG where the place can't serve."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claim = Claim(path, "runtime directory")
        self._bound: dict[str, tuple[int, int]] = {}  # name → device and inode of the socket file

    def acquire(self) -> None:
        try:
            self.claim.take()
        except OSError as error:
            raise ToolsearchdError(
                "BAD_CONFIG", f"the runtime directory {self.path} can't be made: {error.strerror}"
            ) from error

    def release(self) -> None:
        self.claim.release()

    def bind(self, name: str) -> socket.socket:
        """A listening socket at `name` in the directory; a stale one there is removed first. Raises
        ALREADY_RUNNING where somebody listens there, BAD_CONFIG where it can't be bound."""
        path = self.path / name
        if not self.claim.stands():
            raise ToolsearchdError("BAD_CONFIG", f"{self.path / 'lock'} is not ours; {path} is not bound")
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _clear(path)
            sock.bind(str(path))
            os.chmod(path, 0o600)
            made = path.lstat()
            sock.listen(BACKLOG)
        except OSError as error:
            sock.close()
            hint = ""
            if len(os.fsencode(path)) > 107:
                hint = "; a socket's path has at most 107 bytes, give a shorter --runtime-dir"
            raise ToolsearchdError(
                "BAD_CONFIG", f"{path} can't be bound: {error.strerror or error}{hint}"
            ) from error
        except ToolsearchdError:
            sock.close()
            raise
        self._bound[name] = (made.st_dev, made.st_ino)
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

    def tighten(self, name: str) -> None:
        """The socket's mode as it was made, where the path leads to it. Raises OSError."""
        path = self.path / name
        if name in self._bound and self.holds(name) and stat.S_IMODE(path.lstat().st_mode) != 0o600:
            os.chmod(path, 0o600)


def _clear(path: Path) -> None:
    """Removes a socket of ours at which nobody listens. Raises ALREADY_RUNNING, BAD_CONFIG and OSError."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
        raise ToolsearchdError("BAD_CONFIG", f"{path} exists and is not a socket of yours; move it away")
    os.chmod(path, 0o600)  # a mode that keeps us out would make a live one look stale
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
            pid = _UCRED.unpack(probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]
        except BlockingIOError:
            pid = 0  # its backlog is full: somebody is there
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
    raise ToolsearchdError("ALREADY_RUNNING", f"pid {pid or 'unknown'} listens at {path} already")


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
