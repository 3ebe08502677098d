"""The word lists of the default ranker: stop words, a thesaurus of agents' words, product names.

Data files beside this module (licences: README.md there); a user's own directory with files of the same
names replaces any of them. Nothing here depends on a catalog or a query.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


def read(name: str) -> str:
    """The text of a data file of this package."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@cache
def stop_words() -> frozenset[str]:
    """Words that carry no intent. They never gate and count only in tool names."""
    return frozenset(
        word for line in read("stop_words.txt").splitlines() if line[:1] != "#" for word in line.split()
    )
