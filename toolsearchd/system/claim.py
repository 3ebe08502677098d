"""This process's claim on a directory: the only daemon in it for as long as it lives.

Two locks say so, both by flock, both let go by the kernel when the process ends: one on the directory
itself, which nobody can remove and leave the directory, and one on the file `lock` in it, which names the
holder. Whoever finds that the path does not lead to what it holds has lost the claim until it takes it again.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
from pathlib import Path

from toolsearchd.errors import ToolsearchdError
from toolsearchd.system.files import open_file

log = logging.getLogger(__name__)

_TRIES = 100  # others may replace the file while we lock it; who does so that often does it on purpose
_NO_DIRECTORY_LOCKS = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP}  # some network file systems


class Claim:
    """`what`: the directory's name for a person. `take` first; again where `stands` is False."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self.what = what
        self._directory_fd = -1
        self._lock_fd = -1

    @property
    def is_held(self) -> bool:
        """Something is locked; whether the path still leads to it, `stands` tells."""
        return self._lock_fd >= 0

    def take(self) -> None:
        """Makes the directory where it is missing, 0700, and locks it; what was held before is let go only
        then. Raises ALREADY_RUNNING, BAD_CONFIG where the place is not this user's own, and OSError."""
        directory_fd = open_own_directory(self.path, self.what)
        if self._directory_fd >= 0 and _is_same(os.fstat(self._directory_fd), os.fstat(directory_fd)):
            os.close(directory_fd)
            directory_fd = self._directory_fd
        try:
            if directory_fd != self._directory_fd:
                self._lock_directory(directory_fd)
            lock_fd = self._lock_file(directory_fd)
        except BaseException:
            if directory_fd != self._directory_fd:
                os.close(directory_fd)
            raise
        if directory_fd != self._directory_fd:
            _close(self._directory_fd)
        if lock_fd != self._lock_fd:
            _close(self._lock_fd)
        self._directory_fd, self._lock_fd = directory_fd, lock_fd

    def stands(self) -> bool:
        """Do the paths still lead to what is locked?"""
        if not self.is_held:
            return False
        try:
            directory, lock = os.stat(self.path), os.lstat(self.path / "lock")
        except OSError:
            return False
        return _is_same(directory, os.fstat(self._directory_fd)) and _is_same(lock, os.fstat(self._lock_fd))

    def tighten(self) -> str:
        """Gives the directory its mode again; why it could not, empty where it has it."""
        try:
            found = os.fstat(self._directory_fd)
            if stat.S_IMODE(found.st_mode) != 0o700:
                log.warning("%s had mode %o; it is 700 again", self.path, stat.S_IMODE(found.st_mode))
                os.fchmod(self._directory_fd, 0o700)
        except OSError as error:
            return f"its mode can't be set to 700: {error.strerror}"
        return ""

    def release(self) -> None:
        """The file stays: a second daemon tells a live holder from a dead one by the lock alone."""
        _close(self._lock_fd)
        _close(self._directory_fd)
        self._lock_fd = self._directory_fd = -1

    def _lock_directory(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._already_running(_holder(self.path / "lock")) from None
        except OSError as error:
            if error.errno not in _NO_DIRECTORY_LOCKS:
                raise

    def _lock_file(self, directory_fd: int) -> int:
        """A descriptor of the file at the path, locked: looked at again once it is, for the file that was
        opened may have been removed, and another daemon may hold the one that is there now."""
        path = self.path / "lock"
        for _ in range(_TRIES):
            fd = _open_lock(path, directory_fd)
            kept = False
            try:
                if self._lock_fd >= 0 and _is_same(os.fstat(self._lock_fd), os.fstat(fd)):
                    return self._lock_fd
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise self._already_running(_pid_in(fd)) from None
                if _leads_to(path, fd):
                    os.fchmod(fd, 0o600)
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
                    kept = True
                    return fd
            finally:
                if not kept:
                    os.close(fd)
        raise ToolsearchdError("BAD_CONFIG", f"{path} is replaced again and again; find out by whom")

    def _already_running(self, pid: str) -> ToolsearchdError:
        return ToolsearchdError(
            "ALREADY_RUNNING",
            f"already running (pid {pid or 'unknown'}) in the {self.what} {self.path}; use it, stop it, "
            "or give --runtime-dir and --state-dir",
        )


def open_own_directory(path: Path, what: str) -> int:
    """A descriptor of the directory, made where it is missing; one of ours that is too open is closed to
    others. Raises BAD_CONFIG, with the mend, where it is not ours alone to write, and OSError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        link = path.lstat()
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileExistsError, NotADirectoryError) as error:
        raise ToolsearchdError(
            "BAD_CONFIG", f"the {what} {path} is not a directory; move away what is there"
        ) from error
    try:
        found, above = os.fstat(fd), os.stat(os.path.dirname(os.path.realpath(path)))
        problem = _problem(path, link, found, above)
        if problem:
            raise ToolsearchdError("BAD_CONFIG", f"the {what} {path} {problem}")
        if stat.S_IMODE(found.st_mode) != 0o700:
            os.fchmod(fd, 0o700)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _problem(path: Path, link: os.stat_result, found: os.stat_result, above: os.stat_result) -> str:
    """Why nobody should trust what is in the directory, and what to do; empty where one may."""
    uid = os.getuid()
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, uid):
        return f"is a link that belongs to uid {link.st_uid}; remove it, or name another directory"
    if found.st_uid != uid:
        return f"belongs to uid {found.st_uid}, not to you (uid {uid}); `chown {uid} {path}`, or name another"
    if found.st_mode & stat.S_ISVTX:
        return "is shared with others (sticky bit); name one of your own"
    if above.st_mode & 0o002 and not above.st_mode & stat.S_ISVTX:
        return (
            f"lies in {path.parent}, where everybody may rename it (mode {stat.S_IMODE(above.st_mode):o}); "
            f"`chmod o-w {path.parent}`"
        )
    return ""


def _open_lock(path: Path, directory_fd: int) -> int:
    """Raises BAD_CONFIG for what is no file of ours; a link is not followed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open("lock", flags, 0o600, dir_fd=directory_fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _no_file_of_ours(path) from error
        raise
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        os.close(fd)
        raise _no_file_of_ours(path)
    return fd


def _no_file_of_ours(path: Path) -> ToolsearchdError:
    return ToolsearchdError("BAD_CONFIG", f"{path} is not a regular file of yours; remove it")


def _holder(path: Path) -> str:
    try:
        with open_file(path, follow=False) as file:
            return _pid_in(file.fileno())
    except OSError:
        return ""  # somebody removed it; the directory's lock held


def _pid_in(fd: int) -> str:
    try:
        found = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return found if found.isdigit() else ""


def _leads_to(path: Path, fd: int) -> bool:
    try:
        return _is_same(path.lstat(), os.fstat(fd))
    except OSError:
        return False


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _close(fd: int) -> None:
    if fd >= 0:
        os.close(fd)
