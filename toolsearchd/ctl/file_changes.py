"""Several files changed as one: each is replaced whole, and when one can't be, those before it are as before.

They are the clients' own: each keeps its mode and owner, the link that leads to it stays, and what somebody
else wrote meanwhile is not lost. Files of ours need none of that: `system.state_file` replaces them.

A process that is killed leaves the old or the new file at every place, never a part of one; what it may leave
beside them, `sweep` removes.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolsearchd.errors import ToolsearchdError
from toolsearchd.system.files import UnreadableError, read_file

_MOST_BYTES = 128 << 20  # some clients keep their history in the file
_PRIVATE = 0o600


class Change(NamedTuple):
    """`old` is what was read there, `new` what shall be there; None: no file."""

    path: Path
    old: bytes | None
    new: bytes | None


def read(path: Path) -> bytes | None:
    """None where there is no such file. Raises BAD_CONFIG."""
    try:
        return read_file(path, _MOST_BYTES)
    except FileNotFoundError:
        return None
    except UnreadableError as error:
        raise ToolsearchdError("BAD_CONFIG", f"{path} {error}") from error


def apply(changes: Sequence[Change]) -> None:
    """In their order. Raises CONFIG_CHANGED and WRITE_FAILED; then nothing has changed."""
    begun: list[Change] = []
    try:
        for change in changes:
            if change.new != change.old:
                begun.append(change)
                _replace(change)
    except ToolsearchdError as error:
        left = [str(change.path) for change in reversed(begun) if not _undone(change)]
        if left:
            raise ToolsearchdError(
                error.code, f"{error.message}; not put back as it was: {', '.join(left)}"
            ) from error
        raise


def sweep(path: Path) -> None:
    """Removes what a killed process left beside `path`. Nobody else may be changing it."""
    with contextlib.suppress(OSError):  # if it is in the way, the next change says so
        _beside(Path(os.path.realpath(path))).unlink()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.toolsearchd-new")


def _undone(change: Change) -> bool:
    """Also where the change failed before it began, or somebody else has written there since."""
    try:
        if read(change.path) == change.new:
            _replace(Change(change.path, change.new, change.old))
    except ToolsearchdError:
        return False
    return True


def _replace(change: Change) -> None:
    # Through a link the file behind it is changed; the link stays.
    path = Path(os.path.realpath(change.path))
    try:
        if change.new is None:
            _expect(change)
            os.unlink(path)
        else:
            _rename_over(change, path, change.new)
        _sync(path.parent)
    except OSError as error:
        where = error.filename or path
        raise ToolsearchdError("WRITE_FAILED", f"{where} can't be written: {error.strerror}") from error


def _rename_over(change: Change, path: Path, data: bytes) -> None:
    mode, owner = _kept(path)
    new = _beside(path)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if owner is not None:
                os.fchown(fd, *owner)
            os.fchmod(fd, mode)
            os.fsync(fd)
        finally:
            os.close(fd)
        _expect(change)
        os.rename(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _kept(path: Path) -> tuple[int, tuple[int, int] | None]:
    """Mode and, where it is not ours, owner of the file to be replaced. Raises WRITE_FAILED."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return _PRIVATE, None
    mode = stat.S_IMODE(found.st_mode)
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise ToolsearchdError("WRITE_FAILED", f"{path} is read-only (mode {mode:04o})")
    ours = (found.st_uid, found.st_gid) == (os.geteuid(), os.getegid())
    return mode, None if ours else (found.st_uid, found.st_gid)


def _expect(change: Change) -> None:
    """Somebody else may have written the file since it was read."""
    if read(change.path) != change.old:
        raise ToolsearchdError("CONFIG_CHANGED", f"{change.path} was changed meanwhile; nothing was written")


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
