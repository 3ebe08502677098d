"""The lock by which a client keeps others from its config while it reads and writes it: a folder of its own
beside the file, touched while it is held."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from toolsearchd.errors import ToolsearchdError

_STALE_S = 10.0  # older than this it was left behind: the client itself waits no longer
_WAIT_S = 15.0
_PAUSE_S = 0.05


@contextlib.contextmanager
def held(file: Path) -> Iterator[None]:
    """Waits for it, at most 15 s. Raises CONFIG_CHANGED where somebody else keeps it, and WRITE_FAILED."""
    lock = Path(f"{os.path.realpath(file)}.lock")
    deadline = time.monotonic() + _WAIT_S
    while not _taken(lock):
        if time.monotonic() > deadline:
            raise ToolsearchdError("CONFIG_CHANGED", f"{file} is being written: somebody holds {lock}")
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):  # we took so long that somebody called it stale
            lock.rmdir()


def _taken(lock: Path) -> bool:
    try:
        lock.mkdir()
    except FileExistsError:
        with contextlib.suppress(OSError):
            if time.time() - lock.stat().st_mtime > _STALE_S:
                lock.rmdir()
        return False
    except OSError as error:
        raise ToolsearchdError("WRITE_FAILED", f"{lock} can't be made: {error.strerror}") from error
    return True
