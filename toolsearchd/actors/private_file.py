"""Files of the state directory that only their owner may read: replaced whole, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Mode 0600, by a temporary file, fsync and rename: a crash leaves the old content or the new one.

    Raises OSError; then the old content stands.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    new.replace(path)


def read_private(path: Path, max_bytes: int) -> bytes | None:
    """The content, or None where there is no file. Raises OSError for one that is not this user's alone, is
    no regular file or is too large."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(f"{path} is not a regular file of this user")
        if found.st_mode & 0o022:
            raise PermissionError(f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):o})")
        if found.st_size > max_bytes:
            raise OSError(f"{path} has {found.st_size} bytes, at most {max_bytes} are read")
        return file.read(max_bytes)
