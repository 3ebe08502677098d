"""A query word's meaning within one scope: its stems and the words that stand for them, scored and cached.

The score of a word in a document is the best of its alternatives, never their sum: a tool that says both
`mail` and `email` is no better than one that says `mail` twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.fields import FIELDS, NAME
from toolsearchd.index.impact import Sum, TermImpact, add_up, both
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.postings import Counts, Posting
from toolsearchd.index.recent import Cache
from toolsearchd.index.scope import Positions, Scope, Scores
from toolsearchd.index.sketch import word_hash

Stems = tuple[str, ...]  # a phrase, stemmed; all of it must occur

_PREPARED_DOCS = 20_000  # more are not made ahead: seconds of work for what most sessions never ask
_PREPARED_A_STEP = 15_000
_TERMS_A_STEP = 500
_KEPT_TABLES = 4
_CACHED_BYTES = 48 * 1024 * 1024  # per scope; past it what was not used for longest is computed again


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """The ranker's numbers. `tests/bench/README.md` says what each is worth."""

    k1: float = 1.2
    weights: tuple[float, ...] = tuple(field.weight for field in FIELDS)
    b: tuple[float, ...] = tuple(field.b for field in FIELDS)
    partner: float = 0.6  # a thesaurus partner counts for so much of the word itself
    name_coverage: float = 0.3  # a tool whose whole name the query covers gains so much
    coverage: float = 0.53  # share of the query's idf that the best match must carry
    relative: float = 0.7  # a match scores at least so much of the best score
    short_query: int = 6  # content words; longer ones name products in passing, and one typo matters little
    joins: bool = True
    typo_chars: int = 6  # shorter words have too many neighbours; 0 turns typos off


class Alternative(NamedTuple):
    stems: Stems
    weight: float
    idf: float  # the one it is scored with
    df: int


class Concept(NamedTuple):
    """What a query word means in the scope, ready to be added up. `df` 0: no document carries it."""

    idf: float
    df: int
    stem_df: int  # of the word itself, without what stands for it
    alternatives: tuple[Alternative, ...]
    stands: tuple[tuple[int, float], ...]  # hash of each stem of theirs, and the most that it is worth
    sum: Sum

    def carriers(self) -> npt.NDArray[np.intp]:
        """Where the word is carried, or what stands for it. In no particular order."""
        if self.sum.dense is not None:
            return np.flatnonzero(self.sum.dense)
        return self.sum.places

    def score_at(self, position: int) -> float:
        """The concept's score in a document; 0.0 where it is not carried."""
        if self.sum.dense is not None:
            return float(self.sum.dense[position])
        at = np.flatnonzero(self.sum.places == position)
        return float(self.sum.values[at[0]]) if len(at) else 0.0

    def carries(self, position: int) -> bool:
        """Does this document carry the word or what stands for it?"""
        return self.score_at(position) > 0.0

    @property
    def nbytes(self) -> int:
        return 400 + 100 * len(self.stands) + self.sum.nbytes


class Concepts:
    """Makes and keeps the concepts of one scope."""

    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer, lexicon: Lexicon, tuning: Tuning) -> None:
        self.scope = scope
        self._analyzer = analyzer
        self._tuning = tuning
        self._partners = _partners(analyzer, lexicon)
        self._k1, self._k1_plus_1 = np.float32(tuning.k1), np.float32(tuning.k1 + 1)
        self._terms = Cache[Stems, TermImpact](_CACHED_BYTES // 3)
        self._concepts = Cache[tuple[tuple[str, ...], tuple[Stems, ...]], Concept](2 * _CACHED_BYTES // 3)

    def idf(self, df: int) -> float:
        """Positive for every df from 0 to the number of documents."""
        return math.log(1 + (self.scope.size - df + 0.5) / (df + 0.5))

    def is_known(self, word: str) -> bool:
        """Does any document carry the word itself?"""
        postings = self.scope.index.postings
        for stem in self._analyzer.tried_stems(word):
            if stem in postings and self.scope.document_frequency(stem):
                return True
        return False

    def of(self, stems: tuple[str, ...], extra: tuple[Stems, ...] = ()) -> Concept:
        """The concept of a word, given by its stems; `extra`: phrases of the query that hold it."""
        key = (stems, extra)
        found = self._concepts.get(key)
        if found is None:
            found = self._concepts.put(key, self._make(stems, extra))
        return found

    def term(self, stems: Stems) -> TermImpact:
        """A stem's impact; a phrase's documents hold all of its stems, and its weakest one counts."""
        found = self._terms.get(stems)
        if found is None:
            if len(stems) == 1:
                found = self._single(stems[0])
            else:
                parts = (self.term((stem,)) for stem in stems)
                found = reduce(lambda one, other: both(one, other, self.idf), parts)
            self._terms.put(stems, found)
        return found

    def field_scores(self, stem: str, position: int) -> list[float]:
        """What each field adds to a document's weighted frequency of the stem (explain)."""
        posting = self.scope.index.postings.get(stem)
        doc = int(self.scope.docs[position])
        if posting is None or doc not in posting.docs:
            return [0.0] * len(FIELDS)
        counts = posting.frequencies(len(FIELDS))[posting.docs.rank(doc) - 1]
        return [float(value) for value in counts * self._worth[:, position]]

    def prepare(self) -> Iterator[None]:
        """Makes ahead, in steps of about 2 ms, what the first searches would have to make."""
        if self.scope.size > _PREPARED_DOCS:
            return
        chunk: list[tuple[str, Posting]] = []
        documents = 0
        for item in self.scope.index.postings.items():
            chunk.append(item)
            documents += len(item[1].docs)
            if documents > _PREPARED_A_STEP or len(chunk) > _TERMS_A_STEP:
                self._prepare_terms(chunk)
                chunk, documents = [], 0
                yield
        self._prepare_terms(chunk)
        for phrase in self._partners:
            if len(phrase) == 1 and self.scope.document_frequency(phrase[0]):
                self.of(phrase)
                yield

    def _prepare_terms(self, chunk: list[tuple[str, Posting]]) -> None:
        """The impacts of many terms by a few operations on long arrays."""
        positions, counts, ends = self.scope.occurrences_of([posting for _, posting in chunk])
        saturated, named = self._impacts(positions, counts)
        start = 0
        for (term, _), end in zip(chunk, ends, strict=True):
            if end > start:
                part = slice(start, end)
                impact = TermImpact(self.idf(end - start), positions[part], saturated[part], named[part])
                self._terms.put((term,), impact)
            start = end

    def _single(self, stem: str) -> TermImpact:
        positions, counts = self.scope.occurrences(stem)
        return TermImpact(self.idf(len(positions)), positions, *self._impacts(positions, counts))

    def _impacts(self, positions: Positions, counts: Counts) -> tuple[Scores, npt.NDArray[np.bool_]]:
        """BM25F without the idf, and whether the tool's name is among the fields."""
        weighted = np.add.reduce(counts.T * self._worth.take(positions, axis=1), axis=0)
        return self._k1_plus_1 * weighted / (self._k1 + weighted), counts[:, NAME] > 0

    @cached_property
    def _worth(self) -> npt.NDArray[np.float32]:
        """What one occurrence is worth, by field and position: weight over length normalisation."""
        b, weights = np.array(self._tuning.b), np.array(self._tuning.weights)
        relative = self.scope.lengths / np.array(self.scope.mean_lengths)
        worth = (weights / (1 - b + b * relative)).astype(np.float32)
        return np.ascontiguousarray(worth.T)

    def _make(self, stems: tuple[str, ...], extra: tuple[Stems, ...]) -> Concept:
        own = tuple((stem,) for stem in stems)
        stem_df = max(len(self.term(phrase).positions) for phrase in own)
        own_idf = self.idf(stem_df)
        alternatives = []
        impacts = []
        for phrase, weight in self._alternatives(own, extra):
            impact = self.term(phrase)
            df = len(impact.positions)
            if df:
                # A rare partner of a common word must not outweigh it, nor a common one hide a rare word.
                idf = impact.idf if weight == 1.0 or not stem_df else (impact.idf + own_idf) / 2
                alternatives.append(Alternative(phrase, weight, idf, df))
                impacts.append((weight, np.float32(weight * idf), impact))
        df, added = add_up(impacts, self.scope.size)
        stands: dict[int, float] = {}
        for alternative in alternatives:
            for hashed in map(word_hash, alternative.stems):
                stands[hashed] = max(alternative.weight, stands.get(hashed, 0.0))
        idf = own_idf if stem_df else self.idf(df)
        return Concept(idf, df, stem_df, tuple(alternatives), tuple(stands.items()), added)

    def _alternatives(
        self, own: tuple[Stems, ...], extra: tuple[Stems, ...]
    ) -> Iterable[tuple[Stems, float]]:
        for stems in own:
            yield stems, 1.0
        partners = (partner for stems in own for partner in self._partners.get(stems, ()))
        for stems in dict.fromkeys((*partners, *extra)):
            if stems not in own:
                yield stems, self._tuning.partner


_partner_tables: dict[tuple[str, Any], dict[Stems, tuple[Stems, ...]]] = {}


def _partners(analyzer: DefaultAnalyzer, lexicon: Lexicon) -> dict[Stems, tuple[Stems, ...]]:
    """Stemmed phrase → the phrases that may stand for it. Made once per analyzer and lexicon."""
    key = (analyzer.fingerprint, lexicon.thesaurus)
    found = _partner_tables.get(key)
    if found is None:
        table: dict[Stems, dict[Stems, None]] = {}
        for group in lexicon.thesaurus:
            stemmed = [tuple(analyzer.stems(word)[0] for word in phrase) for phrase in group]
            for phrase in stemmed:
                table.setdefault(phrase, {}).update(
                    dict.fromkeys(other for other in stemmed if other != phrase)
                )
        if len(_partner_tables) >= _KEPT_TABLES:
            _partner_tables.clear()  # the lists were edited a few times
        found = _partner_tables[key] = {phrase: tuple(others) for phrase, others in table.items()}
    return found
