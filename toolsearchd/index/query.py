"""Reads a query within one scope: its content words, what they mean there, and what is not there at all."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from toolsearchd.index import text
from toolsearchd.index.analyzer import DefaultAnalyzer, is_compound
from toolsearchd.index.concepts import Concept, Concepts, Stems, Tuning
from toolsearchd.index.given import given, is_place, is_value
from toolsearchd.index.impact import NOTHING, Sum
from toolsearchd.index.lexicon import Lexicon

MAX_WORDS = 64  # a query of more content words names nothing by its 65th

_JOINED_CHARS = 24
_KEPT_RUNS = 1 << 14
_FOREIGN = 0.4  # of a Latin query's words
_SIGNS = 2  # function words make sure that a query is in another language, as one word of the table does
_LATIN = 0x24F  # the last letter of its blocks
_SPLIT_FROM = 6  # letters of a word that may be two known ones run together


class QueryPlan(NamedTuple):
    """A query as the ranker uses it."""

    words: list[str]  # distinct, in query order
    is_english: bool  # as far as is known
    stems: list[tuple[str, ...]]  # theirs; of words of other languages, the English ones
    concepts: list[Concept]  # theirs, also of those that no document carries
    unknown: tuple[str, ...]  # words that no document carries, nor anything that stands for them
    typos: dict[str, str]  # unknown word → the known term it was read as
    absent_product: str | None
    subject: str | None  # the absent product, unless the query names it as the value of an argument
    is_place: bool  # the query begins with the subject, or works on it
    values: frozenset[str]  # unknown words that are given as values: no tool is to carry them
    total_idf: float  # of all words, unknown ones included
    asked_idf: float  # of all but the values
    missing_idf: float  # of those that no tool carries
    gate: tuple[str, Concept] | None  # the rarest known word; among equals the same one in any order
    added: Sum  # what the concepts that are not dense add, one after the other
    ends: list[int]  # where each concept's places end

    @classmethod
    def of(
        cls,
        words: list[str],
        is_english: bool,
        stems: list[tuple[str, ...]],
        concepts: list[Concept],
        unknown: list[str],
        typos: dict[str, str],
        absent_product: str | None,
        subject: str | None,
        is_place: bool,
        values: frozenset[str],
    ) -> QueryPlan:
        known = [
            (concept.idf, word, concept) for word, concept in zip(words, concepts, strict=True) if concept.df
        ]
        asked = [concept for word, concept in zip(words, concepts, strict=True) if word not in values]
        sums = [concept.sum for concept in concepts] or [NOTHING]
        return cls(
            words,
            is_english,
            stems,
            concepts,
            tuple(unknown),
            typos,
            absent_product,
            subject,
            is_place,
            values,
            sum([concept.idf for concept in concepts]),
            sum([concept.idf for concept in asked]),
            sum([concept.idf for concept in asked if not concept.df]),
            max(known)[1:] if known else None,
            Sum(
                np.concatenate([added.places for added in sums]),
                np.concatenate([added.values for added in sums]),
                np.concatenate([added.named for added in sums]),
                np.concatenate([added.worth for added in sums]),
                None,
            ),
            list(accumulate([len(added.places) for added in sums])),
        )

    def asked_stems(self) -> list[str]:
        """The first stem of each word that is no value."""
        if not self.values:
            return [stems[0] for stems in self.stems]
        return [
            stems[0] for word, stems in zip(self.words, self.stems, strict=True) if word not in self.values
        ]

    def carried(self, position: int) -> float:
        """The idf of the words that a document carries."""
        found = {bisect_right(self.ends, at) for at in (self.added.places == position).nonzero()[0].tolist()}
        return sum(
            [
                concept.idf
                for at, concept in enumerate(self.concepts)
                if at in found or (concept.sum.dense is not None and concept.sum.dense[position] > 0)
            ]
        )


class Word(NamedTuple):
    """What one word of a query is in the scope."""

    text: str
    stems: tuple[str, ...]
    halves: tuple[Stems, ...]  # an unknown word as two known ones
    is_product: bool
    is_stop_word: bool
    means: tuple[str, ...] = ()  # English stems, of a word of another script


class QueryReader:
    """One scope's reader. Keeps what it learnt of words; of queries, nothing."""

    def __init__(
        self, concepts: Concepts, analyzer: DefaultAnalyzer, lexicon: Lexicon, tuning: Tuning
    ) -> None:
        self._concepts = concepts
        self._analyzer = analyzer
        self._lexicon = lexicon
        self._tuning = tuning
        self._runs: dict[str, tuple[Word, ...]] = {}  # by the run of letters and digits as it was typed

    def read(self, query: str) -> QueryPlan:
        words = self._words(query)
        means = self._means(words)
        if means:
            words = [word for word in words if means.get(word.text, self._counts(word))] or words
        is_short = len(words) <= self._tuning.short_query
        product = self._absent_product(words) if is_short else None
        joined = self._joined(words) if self._tuning.joins else {}
        concepts: list[Concept] = []
        unknown: list[str] = []
        typos: dict[str, str] = {}
        for word in words:
            extra = (*joined.get(word.text, ()), *word.halves) if self._tuning.joins else ()
            extra += tuple((stem,) for stem in means.get(word.text, ()))
            concept = self._concepts.of(word.stems, extra)
            if not concept.df:
                unknown.append(word.text)
                meant = self._meant(word.text) if is_short else None
                if meant:
                    typos[word.text] = meant
                    concept = self._concepts.of(self._analyzer.stems(meant))
            concepts.append(concept)
        stems = [means.get(word.text) or word.stems for word in words]
        subject = product
        if product is not None and is_value(
            product, query, self._products_here(words), self._concepts.is_known
        ):
            subject = None
        values = frozenset(unknown) & given(query) if unknown and not means else frozenset()
        if subject is not None:
            values -= set(subject.split())
        elif product is not None:
            values |= set(product.split()) & set(unknown)
        if len(values) == len(words):
            values = frozenset()
        texts = [word.text for word in words]
        at = subject is not None and is_place(subject, query)
        return QueryPlan.of(texts, not means, stems, concepts, unknown, typos, product, subject, at, values)

    def _products_here(self, words: list[Word]) -> list[str]:
        """Those of one word that the query names and a tool carries."""
        return [word.text for word in words if word.is_product and self._concepts.of(word.stems).df]

    def _words(self, query: str) -> list[Word]:
        """The distinct content words; all words where there are no others. Words of equal stems are one."""
        known = self._runs
        words: list[Word] = []
        for run in text.runs(query):
            found = known.get(run)
            words += self._read_run(run) if found is None else found
        content = [word for word in words if not word.is_stop_word] or words
        by_stems: dict[tuple[str, ...], Word] = {}
        for word in content:
            by_stems.setdefault(word.stems, word)
        return list(by_stems.values())[:MAX_WORDS]

    def _means(self, words: list[Word]) -> dict[str, tuple[str, ...]]:
        """Word → English stems, of other scripts, and of a Latin query that is hardly English.

        That is one of which two fifths are unknown here and known to the table of languages, and no word of
        which a tool carries as it is: tools in that language are found by it.
        """
        table = self._analyzer.languages_table
        if table is None:
            return {}
        found = {word.text: word.means for word in words if word.means}
        here = False
        strange: dict[str, tuple[str, ...]] = {}
        signs = len(found) * _SIGNS
        for word in words:
            if word.means or word.is_product:
                continue
            if table.is_function_word(word.text):
                strange[word.text] = ()
                signs += 1
                continue
            whole = table.whole(word.text)
            is_known = self._concepts.is_known(word.text)
            if stems := whole or (() if self._analyzer.is_english(word.text) else table.of(word.text)):
                if whole and not is_known:
                    signs += _SIGNS
                if is_known:
                    here |= not self._analyzer.is_english(word.text)
                else:
                    strange[word.text] = stems
        if signs >= _SIGNS and not here and len(strange) + len(found) >= _FOREIGN * len(words):
            found |= strange
        return found

    def _counts(self, word: Word) -> bool:
        """Does a word of a translated query count? Those that nothing is known of are its `of` and `the`."""
        return word.is_product or self._concepts.is_known(word.text)

    def _read_unspaced(self, run: str) -> list[Word]:
        """The pairs that the scope knows, and the words that the table knows."""
        table, run = self._analyzer.languages_table, run.casefold()
        assert table is not None
        starts: dict[int, tuple[str, tuple[str, ...]]] = {}
        at = 0
        for segment, stems in table.segments(run):
            at = run.index(segment, at)
            starts[at] = segment, stems
            at += len(segment)
        found = []
        for at, pair in enumerate(text.parts(run)):
            segment, stems = starts.get(at, (pair, ()))
            if stems or not starts or self._concepts.is_known(pair):
                known = self._concepts.is_known(pair)
                found.append(self._word(pair if known else segment)._replace(stems=(pair,), means=stems))
        return found

    def _read_run(self, run: str) -> tuple[Word, ...]:
        if self._analyzer.languages_table is not None and text.is_unspaced(run):
            found = self._runs[run] = tuple(self._read_unspaced(run))
            return found
        pieces = text.parts(run)
        if is_compound(pieces):
            joined = "".join(pieces)
            if joined in self._lexicon.products or self._concepts.is_known(joined):
                pieces = [joined]
        if len(self._runs) >= _KEPT_RUNS:
            self._runs.clear()
        found = self._runs[run] = tuple([self._word(piece) for piece in pieces])
        return found

    def _word(self, word: str) -> Word:
        stop = word in self._analyzer.stop_words
        product = word in self._lexicon.products
        table = self._analyzer.languages_table
        means = table.of(word) if table is not None and ord(word[0]) > _LATIN else ()
        return Word(word, self._analyzer.stems(word), self._halves(word), product, stop, means)

    def _absent_product(self, words: list[Word]) -> str | None:
        """A product that a short query names and no document of the scope carries."""
        products = self._lexicon.products
        for one, other in pairwise(words):
            name = f"{one.text} {other.text}"
            if name in products:
                together = self._concepts.term((one.stems[0], other.stems[0]))
                if not len(together.positions):
                    return name
        for word in words:
            if word.is_product and not self._concepts.of(word.stems).df:
                return word.text
        return None

    def _joined(self, words: list[Word]) -> dict[str, list[Stems]]:
        """`time zone` may be `timezone` in a tool: further readings by word."""
        found: dict[str, list[Stems]] = {}
        postings, stems = self._concepts.scope.index.postings, self._analyzer.tried_stems
        for before, after in pairwise(words):
            one, other = before.text, after.text
            if len(one) < 2 or len(other) < 2 or len(one) + len(other) > _JOINED_CHARS:
                continue
            stem = stems(one + other)[0]
            if stem in postings and self._concepts.scope.document_frequency(stem):
                for word in (one, other):
                    found.setdefault(word, []).append((stem,))
        return found

    def _halves(self, word: str) -> tuple[Stems, ...]:
        """`timezone` may be `time zone` in a tool: an unknown word as two that a document holds."""
        if not (_SPLIT_FROM <= len(word) <= _JOINED_CHARS and word.isascii() and word.isalpha()):
            return ()
        if self._concepts.is_known(word):
            return ()
        halves: list[Stems] = []
        for at in range(3, len(word) - 2):
            one, other = word[:at], word[at:]
            if self._concepts.is_known(one) and self._concepts.is_known(other):
                stems = (self._analyzer.stems(one)[0], self._analyzer.stems(other)[0])
                if len(self._concepts.term(stems).positions):
                    halves.append(stems)
        return tuple(halves)

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
        forms = {word, self._analyzer.stems(word)[0]}
        candidates = {
            term
            for form in forms
            if len(form) >= shortest - 1
            for term in scope.index.spellings.near(form, scope.index.postings)
        }
        known = [(-df, term) for term in candidates if (df := scope.document_frequency(term))]
        return min(known)[1] if known else None
