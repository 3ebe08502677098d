"""The word lists of the default ranker: stop words, a thesaurus of agents' words, product names.

Data files beside this module (licences: README.md there). Nothing here depends on a catalog or a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files

import msgspec

Phrase = tuple[str, ...]  # words of a thesaurus entry, case folded


class Lexicon(msgspec.Struct, frozen=True):
    """All lists at once. Replace one with `msgspec.structs.replace`."""

    stop_words: frozenset[str]
    thesaurus: tuple[tuple[Phrase, ...], ...]  # groups of phrases that stand for one another
    products: frozenset[str]  # one word, or two with a space, ordinary words left out

    @classmethod
    def parse(cls, read: Callable[[str], str]) -> Lexicon:
        """From the texts of the four files, as `read(name)` gives them."""
        ordinary = set(_words(read("ordinary_words.txt")))
        return cls(
            stop_words=frozenset(_words(read("stop_words.txt"))),
            thesaurus=tuple(
                tuple(tuple(phrase.casefold().split("_")) for phrase in line.split())
                for line in _lines(read("thesaurus.txt"))
            ),
            products=frozenset(line.strip().casefold() for line in _lines(read("products.txt"))) - ordinary,
        )


@cache
def default_lexicon() -> Lexicon:
    """The lists of this package."""
    return Lexicon.parse(lambda name: files(__name__).joinpath(name).read_text(encoding="utf-8"))


def _lines(source: str) -> Iterator[str]:
    return (line for line in source.splitlines() if line.strip() and not line.startswith("#"))


def _words(source: str) -> Iterator[str]:
    return (word for line in _lines(source) for word in line.split())
