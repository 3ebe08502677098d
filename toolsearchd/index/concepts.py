"""A query word's meaning within one scope: its stems and the words that stand for them, scored and cached.

The score of a word in a document is the best of its alternatives, never their sum: a tool that says both
`mail` and `email` is no better than one that says `mail` twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from toolsearchd.index.analyzer import FIELDS, NAME, DefaultAnalyzer
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.scope import Positions, Scope, Scores

Stems = tuple[str, ...]  # a phrase, stemmed; all of it must occur

_CACHED_BYTES = 48 * 1024 * 1024  # per scope; past it everything is computed again when needed
_DENSE_SHARE = 8  # a concept in more than 1/8 of the documents is added as a whole array, which is faster


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """The ranker's numbers. `tests/bench/README.md` says what each is worth."""

    k1: float = 1.2
    weights: tuple[float, ...] = (3.0, 3.0, 1.0, 1.0, 0.5, 3.0)  # by `analyzer.FIELDS`
    b: tuple[float, ...] = (0.3, 0.3, 0.6, 0.6, 0.6, 0.3)
    partner: float = 0.6  # a thesaurus partner counts for so much of the word itself
    name_coverage: float = 0.3  # a tool whose whole name the query covers gains so much
    coverage: float = 0.53  # share of the query's idf that the best match must carry
    relative: float = 0.7  # a match scores at least so much of the best score
    product_words: int = 6  # longer queries mention products in passing
    joins: bool = True
    typo_chars: int = 6  # shorter words have too many neighbours; 0 turns typos off


class TermImpact(NamedTuple):
    """One term (or phrase) in the scope."""

    idf: float
    positions: Positions
    saturated: Scores  # BM25F without the idf
    named: npt.NDArray[np.bool_]  # does the tool's own name hold it?


class Alternative(NamedTuple):
    stems: Stems
    weight: float
    idf: float  # the one it is scored with
    df: int


class Concept(NamedTuple):
    """One query word, ready to be added up. `df` 0: no document of the scope carries it."""

    word: str
    idf: float
    df: int
    stem_df: int  # of the word itself, without what stands for it
    alternatives: tuple[Alternative, ...]
    positions: Positions  # ascending
    scores: Scores  # by `positions`
    dense: Scores | None  # the same for every position of the scope, for frequent concepts
    named_positions: Positions
    named: Scores  # 1.0 or the partner's weight

    def carries(self, position: int) -> bool:
        """Does this document carry the word or what stands for it?"""
        at = int(np.searchsorted(self.positions, position))
        return at < len(self.positions) and int(self.positions[at]) == position


class Concepts:
    """Makes and keeps the concepts of one scope."""

    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer, lexicon: Lexicon, tuning: Tuning) -> None:
        self.scope = scope
        self._analyzer = analyzer
        self._tuning = tuning
        self._partners = _partners(analyzer, lexicon)
        self._terms: dict[Stems, TermImpact] = {}
        self._concepts: dict[tuple[str, tuple[Stems, ...]], Concept] = {}
        self._bytes = 0
        self._norms: dict[int, Scores] = {}

    def idf(self, df: int) -> float:
        """Positive for every df from 0 to the number of documents."""
        return math.log(1 + (self.scope.size - df + 0.5) / (df + 0.5))

    def is_known(self, word: str) -> bool:
        """Does any document carry the word itself?"""
        return any(self.scope.document_frequency(stem) for stem in self._analyzer.stems(word))

    def of(self, word: str, extra: tuple[Stems, ...] = ()) -> Concept:
        """The concept of a word; `extra`: phrases of the query that hold it, such as joined neighbours."""
        key = (word, extra)
        found = self._concepts.get(key)
        if found is None:
            if self._bytes > _CACHED_BYTES:
                self._terms.clear()
                self._concepts.clear()
                self._bytes = 0
            found = self._concepts[key] = self._make(word, extra)
            self._bytes += 16 * (len(found.positions) + len(found.named_positions))
            self._bytes += found.dense.nbytes if found.dense is not None else 0
        return found

    def term(self, stems: Stems) -> TermImpact:
        """A stem's impact; a phrase's documents hold all of its stems, and its weakest one counts."""
        found = self._terms.get(stems)
        if found is None:
            if len(stems) == 1:
                found = self._single(stems[0])
            else:
                found = reduce(self._both, (self.term((stem,)) for stem in stems))
            self._terms[stems] = found
            self._bytes += 17 * len(found.positions)
        return found

    def field_scores(self, stem: str, position: int) -> list[float]:
        """What each field adds to a document's weighted frequency of the stem (explain)."""
        posting = self.scope.index.postings.get(stem)
        doc = int(self.scope.docs[position])
        if posting is None or doc not in posting.docs:
            return [0.0] * len(FIELDS)
        counts = posting.frequencies[posting.docs.rank(doc) - 1]
        return [float(counts[field] / self._norm(field)[position]) for field in range(len(FIELDS))]

    def _single(self, stem: str) -> TermImpact:
        positions, counts = self.scope.occurrences(stem)
        order = np.argsort(positions, kind="stable")
        positions, counts = positions[order], counts[order]
        weighted = np.zeros(len(positions))
        for field in range(len(FIELDS)):
            column = counts[:, field]
            if column.any():
                weighted += column / self._norm(field)[positions]
        k1 = self._tuning.k1
        saturated = (k1 + 1) * weighted / (k1 + weighted)
        return TermImpact(self.idf(len(positions)), positions, saturated, counts[:, NAME] > 0)

    def _both(self, one: TermImpact, other: TermImpact) -> TermImpact:
        positions, left, right = np.intersect1d(
            one.positions, other.positions, assume_unique=True, return_indices=True
        )
        return TermImpact(
            self.idf(len(positions)),
            positions,
            np.minimum(one.saturated[left], other.saturated[right]),
            one.named[left] & other.named[right],
        )

    def _norm(self, field: int) -> Scores:
        """What a count in this field is divided by: length normalisation over weight, by position."""
        found = self._norms.get(field)
        if found is None:
            b, weight = self._tuning.b[field], self._tuning.weights[field]
            relative = self.scope.lengths[:, field] / self.scope.mean_lengths[field]
            found = self._norms[field] = (1 - b + b * relative) / weight
        return found

    def _make(self, word: str, extra: tuple[Stems, ...]) -> Concept:
        own = tuple((stem,) for stem in self._analyzer.stems(word))
        stem_df = max(len(self.term(stems).positions) for stems in own)
        own_idf = self.idf(stem_df)
        size = self.scope.size
        scores, named, carried = np.zeros(size), np.zeros(size), np.zeros(size, dtype=bool)
        alternatives = []
        for stems, weight in self._alternatives(own, extra):
            impact = self.term(stems)
            df = len(impact.positions)
            if not df:
                continue
            # A rare partner of a common word must not outweigh it, nor a common one hide a rare word.
            idf = impact.idf if weight == 1.0 or not stem_df else (impact.idf + own_idf) / 2
            at = impact.positions
            scores[at] = np.maximum(scores[at], weight * idf * impact.saturated)
            named[at] = np.maximum(named[at], weight * impact.named)
            carried[at] = True
            alternatives.append(Alternative(stems, weight, idf, df))
        positions = np.flatnonzero(carried)
        named_positions = np.flatnonzero(named)
        return Concept(
            word=word,
            idf=own_idf if stem_df else self.idf(len(positions)),
            df=len(positions),
            stem_df=stem_df,
            alternatives=tuple(alternatives),
            positions=positions,
            scores=scores[positions],
            dense=scores if len(positions) * _DENSE_SHARE > size else None,
            named_positions=named_positions,
            named=named[named_positions],
        )

    def _alternatives(
        self, own: tuple[Stems, ...], extra: tuple[Stems, ...]
    ) -> Iterable[tuple[Stems, float]]:
        for stems in own:
            yield stems, 1.0
        partners = (partner for stems in own for partner in self._partners.get(stems, ()))
        for stems in dict.fromkeys((*partners, *extra)):
            if stems not in own:
                yield stems, self._tuning.partner


_partner_tables: dict[tuple[str, int], dict[Stems, tuple[Stems, ...]]] = {}


def _partners(analyzer: DefaultAnalyzer, lexicon: Lexicon) -> dict[Stems, tuple[Stems, ...]]:
    """Stemmed phrase → the phrases that may stand for it. Made once per analyzer and lexicon."""
    key = (analyzer.fingerprint, id(lexicon.thesaurus))
    found = _partner_tables.get(key)
    if found is None:
        table: dict[Stems, dict[Stems, None]] = {}
        for group in lexicon.thesaurus:
            stemmed = [tuple(analyzer.stems(word)[0] for word in phrase) for phrase in group]
            for phrase in stemmed:
                table.setdefault(phrase, {}).update(
                    dict.fromkeys(other for other in stemmed if other != phrase)
                )
        found = _partner_tables[key] = {phrase: tuple(others) for phrase, others in table.items()}
    return found
