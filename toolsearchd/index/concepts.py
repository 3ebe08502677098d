"""A query word's meaning within one scope: its stems and the words that stand for them, scored and cached.

The score of a word in a document is the best of its alternatives, never their sum: a tool that says both
`mail` and `email` is no better than one that says `mail` twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property, reduce
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from toolsearchd.index.analyzer import FIELDS, NAME, DefaultAnalyzer
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.scope import Positions, Scope, Scores

Stems = tuple[str, ...]  # a phrase, stemmed; all of it must occur
K = TypeVar("K")
V = TypeVar("V", bound=Any)

_CACHED_BYTES = 96 * 1024 * 1024  # per scope; past it what was not used for longest is computed again
_DENSE_SHARE = 8  # what is in more than 1/8 of the documents is added as a whole array, which is faster


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """The ranker's numbers. `tests/bench/README.md` says what each is worth."""

    k1: float = 1.2
    weights: tuple[float, ...] = (3.0, 3.0, 1.0, 1.0, 0.5, 3.0)  # by `analyzer.FIELDS`
    b: tuple[float, ...] = (0.3, 0.3, 0.6, 0.6, 0.6, 0.3)
    partner: float = 0.6  # a thesaurus partner counts for so much of the word itself
    name_coverage: float = 0.3  # a tool whose whole name the query covers gains so much
    coverage: float = 0.53  # share of the query's idf that the best match must carry
    relative: float = 0.7  # a match scores at least so much of the best score
    short_query: int = 6  # content words; longer ones name products in passing, and one typo matters little
    joins: bool = True
    typo_chars: int = 6  # shorter words have too many neighbours; 0 turns typos off


class TermImpact(NamedTuple):
    """One term (or phrase) in the scope."""

    idf: float
    positions: Positions  # ascending
    saturated: Scores  # BM25F without the idf
    named: npt.NDArray[np.bool_]  # does the tool's own name hold it?

    @property
    def nbytes(self) -> int:
        return 200 + self.positions.nbytes + self.saturated.nbytes + self.named.nbytes


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
    positions: Positions | None  # ascending; None for a frequent concept
    scores: Scores  # by `positions`; of a frequent concept by every position of the scope
    named_positions: Positions
    named: Scores  # 1.0 or the partner's weight

    def carriers(self) -> Positions:
        """Where the word is carried, or what stands for it."""
        if self.positions is not None:
            return self.positions
        return np.flatnonzero(self.scores > 0).astype(np.int32)

    def score_at(self, position: int) -> float:
        """The concept's score in a document; 0.0 where it is not carried."""
        if self.positions is None:
            return float(self.scores[position])
        at = int(np.searchsorted(self.positions, position))
        carried = at < len(self.positions) and int(self.positions[at]) == position
        return float(self.scores[at]) if carried else 0.0

    def carries(self, position: int) -> bool:
        """Does this document carry the word or what stands for it?"""
        return self.score_at(position) > 0.0

    @property
    def nbytes(self) -> int:
        sparse = 0 if self.positions is None else self.positions.nbytes
        return 400 + sparse + self.scores.nbytes + self.named_positions.nbytes + self.named.nbytes


class Concepts:
    """Makes and keeps the concepts of one scope."""

    def __init__(self, scope: Scope, analyzer: DefaultAnalyzer, lexicon: Lexicon, tuning: Tuning) -> None:
        self.scope = scope
        self._analyzer = analyzer
        self._tuning = tuning
        self._partners = _partners(analyzer, lexicon)
        self._terms = _Cache[Stems, TermImpact](_CACHED_BYTES // 3)
        self._concepts = _Cache[tuple[str, tuple[Stems, ...]], Concept](2 * _CACHED_BYTES // 3)

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
            found = self._concepts.put(key, self._make(word, extra))
        return found

    def term(self, stems: Stems) -> TermImpact:
        """A stem's impact; a phrase's documents hold all of its stems, and its weakest one counts."""
        found = self._terms.get(stems)
        if found is None:
            if len(stems) == 1:
                found = self._single(stems[0])
            else:
                found = reduce(self._both, (self.term((stem,)) for stem in stems))
            self._terms.put(stems, found)
        return found

    def field_scores(self, stem: str, position: int) -> list[float]:
        """What each field adds to a document's weighted frequency of the stem (explain)."""
        posting = self.scope.index.postings.get(stem)
        doc = int(self.scope.docs[position])
        if posting is None or doc not in posting.docs:
            return [0.0] * len(FIELDS)
        counts = posting.frequencies(len(FIELDS))[posting.docs.rank(doc) - 1]
        return [float(value) for value in counts * self._worth[position]]

    def _single(self, stem: str) -> TermImpact:
        positions, counts = self.scope.occurrences(stem)
        if len(positions) > 1:
            order = np.argsort(positions, kind="stable")
            positions, counts = positions[order], counts[order]
        weighted = (counts * self._worth[positions]).sum(axis=1)
        k1 = self._tuning.k1
        saturated = np.float32(k1 + 1) * weighted / (np.float32(k1) + weighted)
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

    @cached_property
    def _worth(self) -> npt.NDArray[np.float32]:
        """What one occurrence is worth, by position and field: weight over length normalisation."""
        b, weights = np.array(self._tuning.b), np.array(self._tuning.weights)
        relative = self.scope.lengths / np.array(self.scope.mean_lengths)
        worth: npt.NDArray[np.float64] = weights / (1 - b + b * relative)
        return worth.astype(np.float32)

    def _make(self, word: str, extra: tuple[Stems, ...]) -> Concept:
        own = tuple((stem,) for stem in self._analyzer.stems(word))
        stem_df = max(len(self.term(stems).positions) for stems in own)
        own_idf = self.idf(stem_df)
        alternatives = []
        impacts = []
        for stems, weight in self._alternatives(own, extra):
            impact = self.term(stems)
            df = len(impact.positions)
            if df:
                # A rare partner of a common word must not outweigh it, nor a common one hide a rare word.
                idf = impact.idf if weight == 1.0 or not stem_df else (impact.idf + own_idf) / 2
                alternatives.append(Alternative(stems, weight, idf, df))
                impacts.append((np.float32(weight), np.float32(weight * idf), impact))
        merged = _merged(impacts, self.scope.size)
        df = int(np.count_nonzero(merged.scores > 0)) if merged.positions is None else len(merged.positions)
        return Concept(
            word,
            own_idf if stem_df else self.idf(df),
            df,
            stem_df,
            tuple(alternatives),
            merged.positions,
            merged.scores,
            merged.named_positions,
            merged.named,
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


class _Merged(NamedTuple):
    """The best of several impacts, as `Concept` holds it."""

    positions: Positions | None
    scores: Scores
    named_positions: Positions
    named: Scores


def _merged(impacts: list[tuple[np.float32, np.float32, TermImpact]], size: int) -> _Merged:
    """`impacts`: (what a name is worth, what a saturated frequency is worth, the impact)."""
    if len(impacts) == 1:
        worth, factor, impact = impacts[0]
        named_positions = impact.positions[impact.named]
        named = np.full(len(named_positions), worth, np.float32)
        if len(impact.positions) * _DENSE_SHARE <= size:
            return _Merged(impact.positions, factor * impact.saturated, named_positions, named)
    if sum(len(impact.positions) for _, _, impact in impacts) * _DENSE_SHARE <= size:
        places = _union([impact.positions for _, _, impact in impacts])
        scores, named = np.zeros(len(places), np.float32), np.zeros(len(places), np.float32)
        for worth, factor, impact in impacts:
            at = np.searchsorted(places, impact.positions)
            _raise(scores, at, factor * impact.saturated)
            _raise(named, at[impact.named], worth)
        holds = named > 0
        return _Merged(places, scores, places[holds], named[holds])
    scores, named = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for worth, factor, impact in impacts:
        _raise(scores, impact.positions, factor * impact.saturated)
        _raise(named, impact.positions[impact.named], worth)
    named_positions = np.flatnonzero(named > 0).astype(np.int32)
    return _Merged(None, scores, named_positions, named[named_positions])


def _raise(values: Scores, at: npt.NDArray[np.integer], to: Scores | np.float32) -> None:
    values[at] = np.maximum(values[at], to)


def _union(several: list[Positions]) -> Positions:
    """All positions, ascending, each once. (Sorting beats numpy's own `unique` tenfold here.)"""
    if not several:
        return np.zeros(0, np.int32)
    merged = np.concatenate(several)
    merged.sort()
    first = np.ones(len(merged), dtype=bool)
    np.not_equal(merged[1:], merged[:-1], out=first[1:])
    return merged[first]


class _Cache(Generic[K, V]):
    """What was used last, up to a number of bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._held = 0
        self._items: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._items.pop(key, None)
        if found is not None:
            self._items[key] = found  # the newest again
        return found

    def put(self, key: K, value: V) -> V:
        self._items[key] = value
        self._held += value.nbytes
        while self._held > self._limit and len(self._items) > 1:
            oldest = self._items.pop(next(iter(self._items)))
            self._held -= oldest.nbytes
        return value


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
        found = _partner_tables[key] = {phrase: tuple(others) for phrase, others in table.items()}
    return found
