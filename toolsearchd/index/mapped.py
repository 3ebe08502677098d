"""A table of this package, mapped: what is not looked at takes no memory, what is can be dropped again."""

from __future__ import annotations

import mmap
from functools import cache
from hashlib import sha256
from importlib.resources import files

Buffer = bytes | mmap.mmap

_mapped: list[mmap.mmap] = []


@cache
def mapped_table(name: str, digest: str) -> mmap.mmap:
    """A file of `index/tables`. Raises ValueError where it is not the one of this SHA-256."""
    place = files("toolsearchd.index.tables").joinpath(name)
    with open(str(place), "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if sha256(mapped).hexdigest() != digest:
        raise ValueError(f"{place} is not the file that this package was made with: install it anew")
    mapped.madvise(mmap.MADV_DONTNEED)  # all of it was read once
    mapped.madvise(mmap.MADV_RANDOM)
    _mapped.append(mapped)
    return mapped


def let_go() -> None:
    """The tables' pages leave this process; those that are looked at again come back from the page cache."""
    for mapped in _mapped:
        mapped.madvise(mmap.MADV_DONTNEED)
