"""Files read within a bound and without ever waiting, whoever put what in their place.

Standard library only: the relay runs in every agent.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_CHUNK_BYTES = 1024 * 1024
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class UnreadableError(OSError):
    """Why a file was not read, in words for a person that go on behind its path."""


class NoRoomError(UnreadableError):
    """The process has no descriptor or memory left: nothing is known about the file, ask again."""


def open_file(path: str | Path, *, follow: bool = True) -> BinaryIO:
    """A regular file, open for reading. `follow`: it may be a link, as a person's own may be.

    Raises FileNotFoundError, also where a directory above is none, and `UnreadableError`.
    """
    # O_NONBLOCK: a FIFO or a device in the file's place must not hold us.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except NotADirectoryError as error:
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        kind = NoRoomError if getattr(error, "errno", None) in _EXHAUSTED else UnreadableError
        raise kind(f"can't be opened: {getattr(error, 'strerror', error)}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UnreadableError("is not a regular file; it is not read")
    return os.fdopen(fd, "rb")


def read_file(path: str | Path, max_bytes: int) -> bytes:
    """The content. Raises as `open_file`, also for its size."""
    with open_file(path) as file:
        return _content(file, max_bytes)


def open_private(path: Path) -> BinaryIO | None:
    """A file of ours, open for reading, or None where there is none. Raises `UnreadableError` for a link, and
    for what is not this user's alone to write."""
    try:
        file = open_file(path, follow=False)
    except FileNotFoundError:
        return None
    found = os.fstat(file.fileno())
    problem = ""
    if found.st_uid != os.getuid():
        problem = "is not this user's"
    elif found.st_mode & 0o022:
        problem = f"can be written by others (mode {stat.S_IMODE(found.st_mode):o})"
    if problem:
        file.close()
        raise UnreadableError(problem)
    return file


def read_private(path: Path, max_bytes: int) -> bytes | None:
    """The content, or None where there is no file. Raises as `open_private`, also for its size."""
    file = open_private(path)
    if file is None:
        return None
    with file:
        return _content(file, max_bytes)


def _content(file: BinaryIO, max_bytes: int) -> bytes:
    """All there is. Memory is taken for that, whatever the bound."""
    size = os.fstat(file.fileno()).st_size
    if size > max_bytes:
        raise UnreadableError(f"has {size} bytes, at most {max_bytes} are read")
    parts, size = [], 0
    try:
        while size <= max_bytes and (part := os.read(file.fileno(), _CHUNK_BYTES)):
            parts.append(part)
            size += len(part)
    except OSError as error:
        raise UnreadableError(f"can't be read: {error.strerror}") from error
    if size > max_bytes:
        raise UnreadableError(f"grew past {max_bytes} bytes; it is not read")
    return b"".join(parts)


def named_by(pattern: str) -> list[str]:
    """The file of this name; where the last part holds `*`, those that there are, by name."""
    path = Path(pattern)
    if "*" not in path.name:
        return [pattern]
    try:
        return sorted(map(str, path.parent.glob(path.name)))
    except OSError:
        return []  # a directory that can't be read says nothing
