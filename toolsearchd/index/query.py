"""Reads a query within one scope: its content words, what they mean there, and what is not there at all."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from toolsearchd.index import text
from toolsearchd.index.analyzer import DefaultAnalyzer, is_compound
from toolsearchd.index.concepts import Concept, Concepts, Stems, Tuning
from toolsearchd.index.lexicon import Lexicon

MAX_WORDS = 64  # a query of more content words names nothing by its 65th

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_JOINED_CHARS = 24
_SPLIT_FROM = 6  # letters of a word that may be two known ones run together


class Plan(NamedTuple):
    """A query as the ranker uses it."""

    concepts: tuple[Concept, ...]  # distinct words, in query order, those that no document carries included
    unknown: tuple[str, ...]  # words that no document carries, nor anything that stands for them
    typos: dict[str, str]  # unknown word → the known term it was read as
    absent_product: str | None
    total_idf: float  # of all words, unknown ones included


class QueryReader:
    """One scope's reader. Keeps nothing between queries but what `concepts` caches."""

    def __init__(
        self, concepts: Concepts, analyzer: DefaultAnalyzer, lexicon: Lexicon, tuning: Tuning
    ) -> None:
        self._concepts = concepts
        self._analyzer = analyzer
        self._lexicon = lexicon
        self._tuning = tuning

    def read(self, query: str) -> Plan:
        words = self._words(query)
        product = self._absent_product(words)
        extra = self._neighbours(words) if self._tuning.joins else {}
        concepts: list[Concept] = []
        unknown: list[str] = []
        typos: dict[str, str] = {}
        for word in words:
            concept = self._concepts.of(word, extra.get(word, ()))
            if not concept.df:
                unknown.append(word)
                meant = self._meant(word) if len(words) <= self._tuning.short_query else None
                if meant:
                    typos[word] = meant
                    concept = self._concepts.of(meant)._replace(word=word)
            concepts.append(concept)
        return Plan(tuple(concepts), tuple(unknown), typos, product, sum(c.idf for c in concepts))

    def _words(self, query: str) -> list[str]:
        """The distinct content words; all words where there are no others. Words of equal stems are one."""
        words: list[str] = []
        for run in text.runs(query):
            pieces = text.parts(run)
            joined = "".join(pieces)
            if is_compound(pieces) and (joined in self._lexicon.products or self._concepts.is_known(joined)):
                pieces = [joined]
            words.extend(pieces)
        content = [word for word in words if word not in self._analyzer.stop_words] or words
        by_stems: dict[Stems, str] = {}
        for word in content:
            by_stems.setdefault(self._analyzer.stems(word), word)
        return list(by_stems.values())[:MAX_WORDS]

    def _absent_product(self, words: list[str]) -> str | None:
        """A product that a short query names and no document of the scope carries."""
        if len(words) > self._tuning.short_query:
            return None
        products = self._lexicon.products
        for one, other in pairwise(words):
            if f"{one} {other}" in products and not self._occur_together(one, other):
                return f"{one} {other}"
        for word in words:
            if word in products and not self._concepts.of(word).df:
                return word
        return None

    def _occur_together(self, one: str, other: str) -> bool:
        stems = (self._analyzer.stems(one)[0], self._analyzer.stems(other)[0])
        return len(self._concepts.term(stems).positions) > 0

    def _neighbours(self, words: list[str]) -> dict[str, tuple[Stems, ...]]:
        """`time zone` may be `timezone` in a tool, and the reverse: further readings by word."""
        found: dict[str, list[Stems]] = {}
        for one, other in pairwise(words):
            if len(one) > 1 and len(other) > 1 and len(one) + len(other) <= _JOINED_CHARS:
                stem = self._analyzer.stems(one + other)[0]
                if self._concepts.scope.document_frequency(stem):
                    for word in (one, other):
                        found.setdefault(word, []).append((stem,))
        for word in words:
            if _SPLIT_FROM <= len(word) <= _JOINED_CHARS and word.isascii() and word.isalpha():
                found.setdefault(word, []).extend(self._halves(word))
        return {word: tuple(readings) for word, readings in found.items() if readings}

    def _halves(self, word: str) -> list[Stems]:
        """An unknown word as two known ones that some document holds both of."""
        if self._concepts.is_known(word):
            return []
        halves: list[Stems] = []
        for at in range(3, len(word) - 2):
            one, other = word[:at], word[at:]
            if self._concepts.is_known(one) and self._concepts.is_known(other):
                stems = (self._analyzer.stems(one)[0], self._analyzer.stems(other)[0])
                if len(self._concepts.term(stems).positions):
                    halves.append(stems)
        return halves

    def _meant(self, word: str) -> str | None:
        """The most frequent known term one edit away from an unknown word; its first letter is believed."""
        shortest = self._tuning.typo_chars
        if (
            not shortest
            or not shortest <= len(word) <= _JOINED_CHARS
            or not (word.isascii() and word.isalpha())
        ):
            return None
        if word in self._lexicon.products:
            return None
        scope = self._concepts.scope
        candidates: set[str] = set()
        for form in {word, self._analyzer.stems(word)[0]}:
            if len(form) >= shortest - 1:
                candidates |= {edit for edit in _edits(form) if edit in scope.index.postings}
        known = [(-df, term) for term in candidates if (df := scope.document_frequency(term))]
        return min(known)[1] if known else None


def _edits(word: str) -> set[str]:
    """Everything one deletion, transposition, substitution or insertion away, the first letter kept."""
    heads = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    edits = {head + tail[1:] for head, tail in heads if tail}
    edits |= {head + tail[1] + tail[0] + tail[2:] for head, tail in heads if len(tail) > 1}
    edits |= {head + letter + tail[1:] for head, tail in heads if tail for letter in _LETTERS}
    return edits | {head + letter + tail for head, tail in heads for letter in _LETTERS}
