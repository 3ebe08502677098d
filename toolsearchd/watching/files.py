"""Config files as the file system has them: read without ever waiting, watched wherever links lead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from toolsearchd.system.files import UnreadableError, read_file

_MAX_LINKS = 40  # as the kernel
_SAYS_SOMETHING = re.compile(r"[^\s\ufeff]")


def read_config(path: Path, max_bytes: int) -> str | None:
    """The text, or None where there is no such file. Raises `UnreadableError`, `NoRoomError`."""
    try:
        data = read_file(path, max_bytes)
    except FileNotFoundError:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not UTF-8 (byte {error.start})") from error
    # A crash of the system leaves zeros where data had no time to come; some formats take them for odd lines.
    if "\0" in text:
        raise UnreadableError("holds a NUL, so it is no text")
    return text


def is_blank(text: str) -> bool:
    """Nothing but white space and byte order marks."""
    return _SAYS_SOMETHING.search(text) is None


class WatchPoints(NamedTuple):
    """`directories`: (path, device, inode) of what to watch, none of them a link or below one.
    `names`: the paths in them whose change may change a file's content or existence."""

    directories: frozenset[tuple[str, int, int]]
    names: frozenset[str]

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(path for path, _, _ in self.directories)


def watch_points(files: Iterable[Path]) -> WatchPoints:
    """Where to look so that no change of `files` goes unseen: the directory of each file, of each link on
    the way to it, and of the first part of its path that does not exist yet."""
    directories: set[tuple[str, int, int]] = set()
    names: set[str] = set()
    for file in files:
        for directory, name in _steps(os.path.abspath(file)):
            try:
                found = os.stat(directory)
            except OSError:
                continue  # gone meanwhile: the next look sees it
            directories.add((directory, found.st_dev, found.st_ino))
            names.add(os.path.join(directory, name))
    return WatchPoints(frozenset(directories), frozenset(names))


def _steps(path: str) -> list[tuple[str, str]]:
    """(directory, name) of every place where the path can change its meaning, links followed. What no path
    can hold (NUL, half a character) is a part that is missing."""
    found: list[tuple[str, str]] = []
    here, rest, links = "/", path.split("/"), 0
    while rest:
        part, *rest = rest
        if part in ("", "."):
            continue
        if part == "..":
            here = os.path.dirname(here)
            continue
        step = os.path.join(here, part)
        try:
            target = os.readlink(step)
        except (OSError, ValueError):
            # No link: a directory to go through, the file itself, or the first part that is missing.
            if not rest or not os.path.isdir(step):
                found.append((here, part))
                break
            here = step
            continue
        found.append((here, part))
        links += 1
        if links > _MAX_LINKS:
            break
        here = "/" if target.startswith("/") else here
        rest = [*target.split("/"), *rest]
    return found
