"""Which tools are hard to find, and which words would help.

Such a tool's name and description hold no word of its own, one that at most a page of tools carries, and
asked for by its own server and name it is not on the first page. Finding out takes a search; `is_crowded` is
the cheap question first, which about one tool in fifteen of a large catalog answers with yes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from pyroaring import BitMap

from toolsearchd.index import text
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.fields import IN_SIGHT
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.ranker import DefaultSearcher

PAGE = 5
_WORDS = 3


class HardToFind(msgspec.Struct, frozen=True):
    """One tool, what comes before it, and what would help."""

    key: str
    query: str  # its server and its own name
    before: tuple[int, ...]  # doc ids offered instead
    words: tuple[
        str, ...
    ]  # few other tools carry them: from its parameters, else synonyms of its name's words


class Finder:
    """Looks at the tools of one scope, one at a time: call it in slices over a large catalog."""

    def __init__(self, searcher: DefaultSearcher, lexicon: Lexicon) -> None:
        self._searcher = searcher
        self._analyzer = searcher.analyzer
        self._scope = searcher.scope
        self._synonyms = _synonyms(lexicon)
        self._carriers: dict[str, BitMap] = {}

    def is_crowded(self, server: str, name: str) -> bool:
        """Do more tools than a page holds carry every word of its server and name? Else it is found."""
        carriers: BitMap | None = None
        for word in _words([server, name]):
            carriers = self._carriers_of(word) if carriers is None else carriers & self._carriers_of(word)
            if len(carriers) <= PAGE:
                return False
        return carriers is not None

    def hard_to_find(self, document: IndexDocument, doc: int) -> HardToFind | None:
        """None where the tool has a word of its own, or is found. One analysis, and one search at most."""
        if self._has_word_in_sight(document):
            return None
        query = f"{document.server} {document.name}"
        group = self._searcher.search(query, PAGE)
        shown = tuple(hit.doc for hit in (*group.matches, *group.near))
        if doc in shown:
            return None
        return HardToFind(document.key, query, shown, self._helpful(document))

    def _has_word_in_sight(self, document: IndexDocument) -> bool:
        for term, row in self._analyzer.analyse(document).rows(self._analyzer.frequencies_type):
            if any(row[field] for field in IN_SIGHT) and self._scope.document_frequency(term) <= PAGE:
                return True
        return False

    def _helpful(self, document: IndexDocument) -> tuple[str, ...]:
        described = [part for pair in (*document.parameters, *document.nested) for part in pair]
        own = self._rare(_words(described))
        synonyms = self._rare(
            other for word in _words([document.name]) for other in self._synonyms.get(word, ())
        )
        return tuple(dict.fromkeys((*own, *synonyms)))[:_WORDS]

    def _rare(self, words: Iterable[str]) -> list[str]:
        """Those that would still be its own when it carries them too, the rarest first."""
        counted = {
            word: len(self._carriers_of(word))
            for word in words
            if word not in self._analyzer.stop_words and not word.isdigit() and len(word) > 1
        }
        return sorted((word for word, df in counted.items() if df < PAGE), key=lambda word: counted[word])

    def _carriers_of(self, word: str) -> BitMap:
        found = self._carriers.get(word)
        if found is None:
            postings, found = self._scope.index.postings, BitMap()
            for stem in self._analyzer.stems(word):
                if (posting := postings.get(stem)) is not None:
                    found |= posting.docs & self._scope.mask
            self._carriers[word] = found
        return found


def _words(texts: Iterable[str]) -> Iterator[str]:
    return (word for source in texts for run in text.runs(source) for word in text.parts(run))


def _synonyms(lexicon: Lexicon) -> dict[str, list[str]]:
    """Word → the single words that stand for it."""
    found: dict[str, list[str]] = {}
    for group in lexicon.thesaurus:
        single = [phrase[0] for phrase in group if len(phrase) == 1]
        for word in single:
            found.setdefault(word, []).extend(other for other in single if other != word)
    return found
