"""The three rankers written down a second time: plain loops over lists, nothing compiled, nothing cached.

Only the analyzers and the word lists are shared with the daemon. Arithmetic runs in the same order, so scores
must be equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from toolsearchd.dialects.hermes.analyzer import HermesAnalyzer, HermesV1Analyzer
from toolsearchd.index import text
from toolsearchd.index.analyzer import DefaultAnalyzer, is_compound
from toolsearchd.index.concepts import Tuning
from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.features import KIN
from toolsearchd.index.fields import FIELDS, NAME
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.query import QueryPlan
from toolsearchd.index.sketch import first_sentence
from toolsearchd.index.vectors import BEGINNING
from toolsearchd.index.words import quantised, word_table

F = np.float32  # what the daemon keeps one word's scores in; a query's sum is a double

Answer = tuple[list[tuple[str, float]], list[tuple[str, float]], list[str], str | None]


def rows_of(analysis: Analysis, frequencies_type: str) -> dict[str, list[int]]:
    return {
        term: memoryview(row).cast(frequencies_type).tolist() for term, row in analysis.rows(frequencies_type)
    }


class Naive:
    """Documents in the order of equal scores."""

    def __init__(self, analyzer: Any, documents: Sequence[IndexDocument]) -> None:
        self.analyzer = analyzer
        self.documents = documents
        self.width = len(analyzer.fields)
        analyses = [analyzer.analyse(document) for document in documents]
        self.rows = [rows_of(analysis, analyzer.frequencies_type) for analysis in analyses]
        self.lengths = [list(analysis.lengths) for analysis in analyses]
        self.n = len(documents)
        self.means = [
            max(1.0, sum(lengths[field] for lengths in self.lengths) / self.n) if self.n else 1.0
            for field in range(self.width)
        ]

    def df(self, term: str) -> int:
        return sum(term in rows for rows in self.rows)

    def idf(self, df: int) -> float:
        return math.log(1 + (self.n - df + 0.5) / (df + 0.5))

    def ranked(self, scores: Sequence[float], limit: int) -> list[int]:
        return sorted((at for at in range(self.n) if scores[at] > 0), key=lambda at: -scores[at])[:limit]


class NaiveHermes(Naive):
    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        tokens = self.analyzer.tokens(query)
        if not tokens or limit <= 0:
            return []
        scores = [self.score(tokens, at) for at in range(self.n)]
        answerable = {token for token in tokens if self.df(token)}
        required = math.ceil(len(answerable) / 2) if len(answerable) >= 4 else 1
        gate = min(tokens, key=self.df)
        for at, rows in enumerate(self.rows):
            if gate not in rows or sum(token in rows for token in answerable) < required:
                scores[at] = 0.0
            if self.documents[at].exposed.lower() == query.strip().lower():
                scores[at] = math.inf
        return [(self.documents[at].exposed, scores[at]) for at in self.ranked(scores, limit)]

    def score(self, tokens: list[str], at: int) -> float:
        score = 0.0
        for token in tokens:
            tf = self.rows[at].get(token, [0])[0]
            if tf:
                norm = 1.5 * (1 - 0.75 + 0.75 * self.lengths[at][0] / self.means[0])
                score += self.idf(self.df(token)) * tf * (1.5 + 1) / (tf + norm)
        return score


class NaiveHermesV1(NaiveHermes):
    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        tokens = self.analyzer.tokens(query)
        if not tokens or limit <= 0:
            return []
        scores = [self.score(tokens, at) for at in range(self.n)]
        if not any(scores):
            wanted = query.strip().lower()
            scores = [0.1 if wanted in document.exposed.lower() else 0.0 for document in self.documents]
        return [(self.documents[at].exposed, scores[at]) for at in self.ranked(scores, limit)]


class NaiveDefault(Naive):
    def __init__(
        self, analyzer: DefaultAnalyzer, documents: Sequence[IndexDocument], lexicon: Lexicon, tuning: Tuning
    ) -> None:
        super().__init__(analyzer, documents)
        self.lexicon = lexicon
        self.tuning = tuning
        self.partners: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for group in lexicon.thesaurus:
            stemmed = [tuple(analyzer.stems(word)[0] for word in phrase) for phrase in group]
            for phrase in stemmed:
                for other in stemmed:
                    if other != phrase and other not in self.partners.setdefault(phrase, []):
                        self.partners[phrase].append(other)

    # One term, one phrase, one word.

    def saturated(self, stems: tuple[str, ...], at: int) -> float:
        """BM25F without idf of a phrase in a document; 0.0 where one of its stems is missing."""
        found = []
        for stem in stems:
            row = self.rows[at].get(stem)
            if row is None:
                return 0.0
            weighted = F(0)
            for field in range(len(FIELDS)):
                b, weight = self.tuning.b[field], self.tuning.weights[field]
                worth = F(weight / (1 - b + b * (self.lengths[at][field] / self.means[field])))
                weighted += F(row[field]) * worth
            found.append(F(self.tuning.k1 + 1) * weighted / (F(self.tuning.k1) + weighted))
        return min(found)

    def docs(self, stems: tuple[str, ...]) -> set[int]:
        return {at for at, rows in enumerate(self.rows) if all(stem in rows for stem in stems)}

    def named(self, stems: tuple[str, ...], at: int) -> bool:
        return all(self.rows[at][stem][NAME] > 0 for stem in stems)

    def concept(self, word: str, extra: Sequence[tuple[str, ...]] = ()) -> dict[str, Any]:
        own = [(stem,) for stem in self.analyzer.stems(word)]
        stem_df = max(len(self.docs(stems)) for stems in own)
        scores: dict[int, float] = {}
        named: dict[int, float] = {}
        others = dict.fromkeys([p for stems in own for p in self.partners.get(stems, [])] + list(extra))
        for stems, weight in [(s, 1.0) for s in own] + [
            (s, self.tuning.partner) for s in others if s not in own
        ]:
            docs = self.docs(stems)
            idf = self.idf(len(docs))
            if weight != 1.0 and stem_df:
                idf = (idf + self.idf(stem_df)) / 2
            for at in docs:
                scores[at] = max(scores.get(at, F(0)), F(weight * idf) * self.saturated(stems, at))
                named[at] = max(named.get(at, F(0)), F(weight * self.named(stems, at)))
        return {
            "word": word,
            "scores": scores,
            "named": named,
            "idf": self.idf(stem_df) if stem_df else self.idf(len(scores)),
        }

    def known(self, word: str) -> bool:
        return any(self.df(stem) for stem in self.analyzer.stems(word))

    # The query.

    def words(self, query: str) -> list[str]:
        words: list[str] = []
        for run in text.runs(query):
            pieces = text.parts(run)
            joined = "".join(pieces)
            if is_compound(pieces) and (joined in self.lexicon.products or self.known(joined)):
                pieces = [joined]
            words += pieces
        content = [word for word in words if word not in self.lexicon.stop_words] or words
        distinct: dict[tuple[str, ...], str] = {}
        for word in content:
            distinct.setdefault(self.analyzer.stems(word), word)
        return list(distinct.values())

    def absent_product(self, words: list[str]) -> str | None:
        if len(words) > self.tuning.short_query:
            return None
        for one, other in pairwise(words):
            stems = (self.analyzer.stems(one)[0], self.analyzer.stems(other)[0])
            if f"{one} {other}" in self.lexicon.products and not self.docs(stems):
                return f"{one} {other}"
        return next((w for w in words if w in self.lexicon.products and not self.concept(w)["scores"]), None)

    def extra(self, words: list[str]) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for one, other in pairwise(words):
            stem = self.analyzer.stems(one + other)[0]
            if len(one) > 1 and len(other) > 1 and len(one + other) <= 24 and self.df(stem):
                found.setdefault(one, []).append((stem,))
                found.setdefault(other, []).append((stem,))
        for word in words:
            if 6 <= len(word) <= 24 and word.isascii() and word.isalpha() and not self.known(word):
                for at in range(3, len(word) - 2):
                    if self.known(word[:at]) and self.known(word[at:]):
                        stems = (self.analyzer.stems(word[:at])[0], self.analyzer.stems(word[at:])[0])
                        if self.docs(stems):
                            found.setdefault(word, []).append(stems)
        return found

    def meant(self, word: str) -> str | None:
        if not (self.tuning.typo_chars <= len(word) <= 24 and word.isascii() and word.isalpha()):
            return None
        if word in self.lexicon.products:
            return None
        forms = [f for f in (word, self.analyzer.stems(word)[0]) if len(f) >= self.tuning.typo_chars - 1]
        known = {term for rows in self.rows for term in rows if any(one_edit(form, term) for form in forms)}
        return min(known, key=lambda term: (-self.df(term), term), default=None)

    def search(self, query: str, limit: int) -> Answer:
        if not self.n or limit <= 0:
            return [], [], [], None
        words = self.words(query)
        wanted = query.strip().lower()
        exact = [at for at, document in enumerate(self.documents) if document.key.lower() == wanted]
        bare = [at for at, document in enumerate(self.documents) if document.name.lower() == wanted]
        first = exact or (bare if len(bare) == 1 else [])
        extra = self.extra(words)
        concepts, unknown = [], []
        for word in words:
            concept = self.concept(word, extra.get(word, ()))
            if not concept["scores"]:
                unknown.append(word)
                meant = self.meant(word) if len(words) <= self.tuning.short_query else None
                if meant:
                    concept = self.concept(meant) | {"word": word}
            concepts.append(concept)
        product = self.absent_product(words)
        if product is not None and not first:
            return [], [], unknown, product
        scores = [0.0] * self.n
        for at in range(self.n):
            covered = 0.0
            for concept in concepts:
                scores[at] += float(concept["scores"].get(at, 0.0))
                covered += float(concept["named"].get(at, 0.0))
            if covered:
                share = min(1.0, covered / max(1, self.lengths[at][NAME]))
                scores[at] *= 1.0 + self.tuning.name_coverage * share
        finite: list[Any] = list(scores)
        for at in first:
            scores[at], finite[at] = math.inf, 0.0
        matches = list(first)
        known = [concept for concept in concepts if concept["scores"]]
        if known:
            gate = max(known, key=lambda concept: (concept["idf"], concept["word"]))
            carriers = [at for at in self.ranked(finite, self.n) if at in gate["scores"]][:limit]
            total = sum(concept["idf"] for concept in concepts)
            if carriers:
                carried = sum(concept["idf"] for concept in concepts if carriers[0] in concept["scores"])
                if carried / total >= self.tuning.coverage:
                    floor = self.tuning.relative * float(max(finite))
                    matches += [at for at in carriers if finite[at] >= floor]
        matches = matches[:limit]
        near = [at for at in self.ranked(scores, limit) if at not in matches][: limit - len(matches)]

        def hits(positions: list[int]) -> list[tuple[str, float]]:
            return [(self.documents[at].key, float(scores[at])) for at in positions]

        return hits(matches), hits(near), unknown, None


class NaiveSecondStage(NaiveDefault):
    """The features of the second stage from words instead of hashes, a tool at a time.

    What a query's words are, and what stands for them, is the reader's.
    """

    def features(self, plan: QueryPlan) -> dict[int, dict[str, float]]:
        concepts = []
        for word, concept in zip(plan.words, plan.concepts, strict=True):
            scores: dict[int, float] = {}
            named: dict[int, float] = {}
            for stems, weight, idf, _ in concept.alternatives:
                for at in self.docs(stems):
                    scores[at] = max(scores.get(at, F(0)), F(weight * idf) * self.saturated(stems, at))
                    named[at] = max(named.get(at, F(0)), F(weight * self.named(stems, at)))
            stands = [(stem, a.weight) for a in concept.alternatives for stem in a.stems]
            found = {"word": word, "idf": concept.idf, "scores": scores, "named": named, "stands": stands}
            concepts.append(found)
        if not concepts:
            return {}
        counted = [concept for concept in concepts if concept["word"] not in plan.values]
        total = sum(concept["idf"] for concept in counted)
        unknown = sum(concept["idf"] for concept in counted if not concept["scores"]) / total
        scores = self.totals(concepts)
        vectors = {at: self.vector(at) for at in range(self.n)}
        pairs = zip(plan.words, plan.stems, strict=True)
        asked = self.query_vector([stems[0] for word, stems in pairs if word not in plan.values])
        known = [concept for concept in concepts if concept["scores"]]
        gate = max(known, key=lambda one: (one["idf"], one["word"]), default=None)
        verb = self.analyzer.verb([stems[0] for stems in plan.stems])
        at_verb = [at for at, stems in enumerate(plan.stems) if self.analyzer.verb(stems[:1])][:1]
        kin = [at for at in at_verb if not plan.concepts[at].stem_df]
        of_kind = self.analyzer.verbs_of[verb] if kin else ()
        told = {stem for concept in concepts for stem, _ in concept["stands"]}
        for at in kin:
            concepts[at]["stands"] += [(stem, KIN) for stem in of_kind if stem not in told]
        subject = plan.subject is not None
        found: dict[int, dict[str, float]] = {}
        for at in range(self.n):
            cosine = 0.0 if asked is None else cosine_of(vectors[at], asked)
            is_near = asked is not None and cosine_of(vectors[at][:BEGINNING], asked[:BEGINNING]) > 0
            if scores[at] <= 0 and not is_near:
                continue
            coverage = sum(concept["idf"] for concept in concepts if at in concept["scores"]) / total
            name, server, line, aliases = self.heads[at]
            document = self.documents[at]
            english = self.analyzer.in_english(first_sentence(document.description or document.title))
            kind = self.analyzer.verb(name) or self.analyzer.verb((english or line)[:3])
            found[at] = {
                "score": scores[at] / max(scores) if max(scores) else 0.0,
                "coverage": coverage,
                "name": max(self.said(concepts, name + server), self.said(concepts, aliases)),
                "line": self.said(concepts, line),
                "adjacent": self.adjacent(concepts, at),
                "other_verb": float(verb != 0 and kind not in (0, verb)),
                "same_verb": float(verb != 0 and kind == verb),
                "rarest": float(gate is not None and at in gate["scores"]),
                "cosine": cosine,
                "server": 0.0 if asked is None else self.server_cosine(at, vectors, asked),
                "unknown": unknown,
                "product": float(subject),
                "product_place": float(subject and plan.is_place),
                "product_rest": coverage / (1 - unknown) if subject and unknown < 1 else 0.0,
                "wordless": float(asked is None),
                "meaning": 0.0,
            }
        return found

    def totals(self, concepts: list[dict[str, Any]]) -> list[float]:
        scores = [0.0] * self.n
        for at in range(self.n):
            covered = sum(float(concept["named"].get(at, 0.0)) for concept in concepts)
            scores[at] = sum(float(concept["scores"].get(at, 0.0)) for concept in concepts)
            share = min(1.0, covered / max(1, self.lengths[at][NAME]))
            scores[at] *= 1.0 + self.tuning.name_coverage * share
        return scores

    @cached_property
    def heads(self) -> list[tuple[list[str], ...]]:
        read = self.analyzer.words
        return [
            (
                read(document.name)[:8],
                read(document.server)[:4],
                self.line(document)[:20],
                read("\n".join(document.aliases))[:8],
            )
            for document in self.documents
        ]

    def line(self, document: IndexDocument) -> list[str]:
        sentence = first_sentence(document.description or document.title)
        return [*self.analyzer.words(sentence), *self.analyzer.in_english(sentence)]

    def which(self, concepts: list[dict[str, Any]], word: str | None) -> tuple[float, int]:
        """How far the query says a word, and which of its own does."""
        stands = [
            (-weight, at)
            for at, concept in enumerate(concepts)
            for stem, weight in concept["stands"]
            if stem == word
        ]
        return (-min(stands)[0], min(stands)[1]) if stands else (0.0, -1)

    def said(self, concepts: list[dict[str, Any]], words: list[str]) -> float:
        return sum(self.which(concepts, word)[0] for word in words) / len(words) if words else 0.0

    def adjacent(self, concepts: list[dict[str, Any]], at: int) -> float:
        if len(concepts) < 2:
            return 0.0
        slots: list[str | None] = []
        for words, width in zip(self.heads[at], (8, 4, 20, 8), strict=True):
            slots += [*words, *[None] * (width - len(words))]
        numbers = [self.which(concepts, word)[1] for word in slots]
        pairs = sum(one >= 0 and other == one + 1 for one, other in pairwise(numbers))
        return min(1.0, pairs / (len(concepts) - 1))

    def vector(self, at: int) -> list[int]:
        table, rows = word_table(), self.rows[at]
        told = [term for term, row in rows.items() if any(row[field] for field in (0, 1, 2, 5))]
        found = table.vector(told)
        return [0] * table.dimensions if found is None else quantised(found).tolist()

    def query_vector(self, stems: list[str]) -> list[int] | None:
        table = word_table()
        found = table.of_query(stems)
        return None if found is None else quantised(found).tolist()

    def server_cosine(self, at: int, vectors: dict[int, list[int]], asked: list[int]) -> float:
        total = [0.0] * len(asked)
        for other, vector in vectors.items():
            if self.heads[other][1] == self.heads[at][1]:
                length = math.sqrt(sum(a * a for a in vector)) or 1.0
                total = [a + b / length for a, b in zip(total, vector, strict=True)]
        most = max(map(abs, total)) or 1.0
        return cosine_of([round(one * 1_000 / most) for one in total], asked)


def cosine_of(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


def one_edit(one: str, other: str) -> bool:
    """Is `other` one deletion, insertion, substitution or transposition away, the first letter the same?"""
    if one == other or one[0] != other[:1] or abs(len(one) - len(other)) > 1 or not other.isascii():
        return False
    if len(one) == len(other):
        differ = [at for at in range(len(one)) if one[at] != other[at]]
        if len(differ) == 1:
            return other[differ[0]].islower()
        return (
            len(differ) == 2
            and differ[1] == differ[0] + 1
            and one[differ[0]] == other[differ[1]]
            and one[differ[1]] == other[differ[0]]
        )
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return any(
        longer[:at] + longer[at + 1 :] == shorter and (longer is one or longer[at].islower())
        for at in range(1, len(longer))
    )


REFERENCE = {"hermes": (HermesAnalyzer, NaiveHermes), "hermes-v1": (HermesV1Analyzer, NaiveHermesV1)}
