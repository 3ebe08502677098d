"""Files of the state directory that only their owner may read: replaced whole, or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_private(path: Path, data: bytes) -> None:
    """Mode 0600, by a temporary file, fsync and rename: a crash leaves the old content or the new one.

    Blocks until it is on the disk. Raises OSError; then the old content stands. One writer at a time.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """`write_private` in pieces: the new file takes the old one's place when the block ends well."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    placed = False
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(fd)
        new.replace(path)
        placed = True
    finally:
        if not placed:
            new.unlink(missing_ok=True)


def open_private(path: Path) -> BinaryIO | None:
    """The file, open for reading, or None where there is none. Raises OSError for one that is not this user's
    alone or no regular file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    file = os.fdopen(fd, "rb")
    found = os.fstat(fd)
    problem = ""
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        problem = "is not a regular file of this user"
    elif found.st_mode & 0o022:
        problem = f"can be written by others (mode {stat.S_IMODE(found.st_mode):o})"
    if problem:
        file.close()
        raise PermissionError(f"{path} {problem}")
    return file


def read_private(path: Path, max_bytes: int) -> bytes | None:
    """The content, or None where there is no file. Raises OSError as `open_private`, or for its size."""
    file = open_private(path)
    if file is None:
        return None
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise OSError(f"{path} has {size} bytes, at most {max_bytes} are read")
        return file.read(max_bytes)
