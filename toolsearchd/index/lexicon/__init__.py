"""The word lists of the default ranker: stop words, a thesaurus of agents' words, product names.

Data files beside this module (licences: README.md there), and a person's own. Nothing here depends on a
catalog or a query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from toolsearchd.index import text

Phrase = tuple[str, ...]  # words of a thesaurus entry, case folded


class Lexicon(msgspec.Struct, frozen=True):
    """All lists at once. Replace one with `msgspec.structs.replace`."""

    stop_words: frozenset[str]
    thesaurus: tuple[tuple[Phrase, ...], ...]  # groups of phrases that stand for one another
    products: frozenset[str]  # one word, or two with a space, ordinary words left out
    verbs: tuple[tuple[str, ...], ...] = ()  # kinds of verbs

    @classmethod
    def parse(cls, read: Callable[[str], str]) -> Lexicon:
        """From the texts of the four files, as `read(name)` gives them."""
        ordinary = set(_words(read("ordinary_words.txt").casefold()))
        return cls(
            stop_words=frozenset(_words(read("stop_words.txt").casefold())),
            thesaurus=tuple(
                tuple(map(_phrase, line.split())) for line in _lines(read("thesaurus.txt").casefold())
            ),
            products=frozenset(map(" ".join, map(str.split, _lines(read("products.txt").casefold()))))
            - ordinary,
            verbs=tuple(tuple(line.split()) for line in _lines(read("verbs.txt").casefold())),
        )


@cache
def default_lexicon() -> Lexicon:
    """The lists of this package."""
    return Lexicon.parse(_packaged)


def own_lexicon(texts: Mapping[str, str], replaced: Collection[str] = ()) -> Lexicon:
    """The lists of this package with a person's own. `texts`: list name (`thesaurus`) → its lines.

    What they say is added, or stands alone for a name in `replaced`; a product of theirs is one although it
    is an ordinary word to the package's list.
    """
    if not texts:
        return default_lexicon()
    base = Lexicon.parse(lambda name: "" if name.removesuffix(".txt") in replaced else _packaged(name))
    own = Lexicon.parse(lambda name: texts.get(name.removesuffix(".txt"), ""))
    ordinary = frozenset(_words(texts.get("ordinary_words", "").casefold()))
    return Lexicon(
        stop_words=base.stop_words | own.stop_words,
        thesaurus=base.thesaurus + own.thesaurus,
        products=(base.products - ordinary) | own.products,
        verbs=base.verbs,
    )


def _packaged(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _phrase(written: str) -> Phrase:
    """The words of a case-folded phrase as a query has them: `time_zone` is two."""
    if written.isascii() and written.isalnum():  # nearly all; 4,000 of them are read at each start
        return (written[: text.MAX_TOKEN_CHARS],)
    return tuple(part for run in text.runs(written) for part in text.parts(run))


def _lines(source: str) -> Iterator[str]:
    return (line for line in source.splitlines() if line.strip() and not line.startswith("#"))


def _words(source: str) -> Iterator[str]:
    return (word for line in _lines(source) for word in line.split())
