"""Files of ours that only their owner may read: replaced whole, or not at all. `system.files` reads them.

A client's own file is changed by `ctl.file_changes`: it keeps its mode, its owner and the link that leads
to it.
"""

from __future__ import annotations

import os
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
