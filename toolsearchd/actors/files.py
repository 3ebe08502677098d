"""Reads a config file without ever waiting on it: regular files only, up to a size."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class UnreadableError(Exception):
    """Why the file was not read, in words for a person."""


def read_config(path: Path, max_bytes: int) -> str | None:
    """The text, or None where there is no such file. Raises `UnreadableError`."""
    try:
        # O_NONBLOCK: a FIFO or a device in the file's place must not hold us.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(f"can't be opened: {error.strerror}") from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableError("is not a regular file; it is not read")
        if found.st_size > max_bytes:
            raise UnreadableError(f"has {found.st_size} bytes, at most {max_bytes} are read")
        with os.fdopen(os.dup(fd), "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise UnreadableError(f"can't be read: {error.strerror}") from error
    finally:
        os.close(fd)
    if len(data) > max_bytes:
        raise UnreadableError(f"grew past {max_bytes} bytes; it is not read")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not UTF-8 (byte {error.start})") from error
