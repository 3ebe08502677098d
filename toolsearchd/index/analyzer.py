"""Turns documents and queries into terms. An analyzer's fingerprint names everything its terms depend on.

Here is the daemon's own: fields, Unicode, camelCase, stems per language. A dialect may bring others, over the
same kind of index.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import numpy as np
import snowballstemmer

from toolsearchd.index import languages, text
from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.fields import DESCRIPTION, FIELDS, NAMES
from toolsearchd.index.languages import is_foreign, language_table
from toolsearchd.index.lexicon import default_lexicon
from toolsearchd.index.sketch import first_sentence, head
from toolsearchd.index.words import DIGEST, quantised, word_table

VERSION = 2  # raise when any analyzer's terms change for the same text
SKETCH_VERSION = 2  # likewise for sketches

FOREIGN = 0.4  # of a sentence's words are unknown and in the table of languages: it is not English

# What a word of each field counts in a tool's vector; of several fields the most.
VECTOR_WEIGHTS = np.array([1, 1, 1, 0, 0, 1, 0], np.float32)

KEPT_STEMS = 1 << 16  # 100,000 real tools hold about 60,000 distinct words

# A script says which stemmer to use; Latin is shared by many languages, so those are configured.
_SCRIPT_LANGUAGES = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
LATIN_LANGUAGES = frozenset(snowballstemmer.algorithms()) - {language for _, _, language in _SCRIPT_LANGUAGES}


class Run(NamedTuple):
    """One run of letters and digits in a head."""

    stems: tuple[str, ...]
    words: int
    strange: int  # of them: of another script, or in the table of languages


class Analyzer(Protocol):
    """What a compile needs: which fields there are, and one document's terms in them."""

    name: str
    fields: tuple[str, ...]
    frequencies_type: str  # array typecode of `Analysis.frequencies`
    options: dict[str, Any]  # keyword arguments it was made with, to make the same one elsewhere
    kept_words: int  # of each kind; read once, looked up after that

    @property
    def fingerprint(self) -> str:
        """Analyses of equal fingerprint and document are equal."""
        ...

    def analyse(self, document: IndexDocument) -> Analysis: ...


class DefaultAnalyzer:
    """The daemon's own. `languages`: Snowball names for words in Latin letters, `text.py` cuts the words."""

    name = "default"
    fields = NAMES
    frequencies_type = "B"  # a word's 256th repetition in a field adds nothing to a saturated score
    kept_words = KEPT_STEMS

    def __init__(
        self,
        languages: Iterable[str] = ("english",),
        stop_words: Iterable[str] | None = None,
        tables: bool = True,
    ) -> None:
        self.languages = tuple(languages)
        for language in self.languages:
            if language not in LATIN_LANGUAGES:
                raise ValueError(
                    f"no stemmer for {language!r}; there are: {', '.join(sorted(LATIN_LANGUAGES))}"
                )
        self.options: dict[str, Any] = {"languages": list(self.languages)}
        self.stop_words = default_lexicon().stop_words
        if stop_words is not None:
            self.stop_words = frozenset(word.casefold() for word in stop_words)
            self.options["stop_words"] = sorted(self.stop_words)
        self._words = word_table() if tables else None
        self.languages_table = language_table() if tables else None
        if not tables:
            self.options["tables"] = False
        self._latin = [stemmer(language) for language in self.languages]
        self._stems: dict[str, tuple[str, ...]] = {}
        self._runs: dict[str, tuple[tuple[str, ...], int]] = {}
        self._whole_runs: dict[str, tuple[tuple[str, ...], int]] = {}
        self._heads: dict[str, Run] = {}

    @property
    def fingerprint(self) -> str:
        digest = blake2b("\n".join(sorted(self.stop_words)).encode(), digest_size=6).hexdigest()
        parts = ["default", VERSION, snowball_version(), "+".join(self.languages), digest]
        if self._words is not None:
            parts += [SKETCH_VERSION, DIGEST[:16], languages.DIGEST[:16]]
        return "/".join(map(str, parts))

    def analyse(self, document: IndexDocument) -> Analysis:
        width = len(FIELDS)
        places: dict[str, int] = {}  # term → where its row begins in `rows`
        rows = bytearray()
        blank = bytes(width)
        lengths = [0] * width
        for at, field in enumerate(FIELDS):
            source, keeps = field.text_of(document), field.keeps_stop_words
            if not source:
                continue
            memo = self._whole_runs if keeps else self._runs
            for run in text.runs(source):
                found = memo.get(run)
                if found is None:
                    if len(memo) >= self.kept_words:
                        memo.clear()
                    found = memo[run] = self._cut(run, keep_stop_words=keeps)
                terms, count = found
                lengths[at] += count
                for term in terms:
                    place = places.get(term)
                    if place is None:
                        places[term] = place = len(rows)
                        rows += blank
                    if rows[place + at] < 255:
                        rows[place + at] += 1
        sketch = b""
        if self._words is not None:
            line = first_sentence(document.description or document.title)
            english = self.in_english(line)
            for stem in english:  # found by English words too
                if stem not in places:
                    places[stem] = len(rows)
                    rows += blank
                    rows[places[stem] + DESCRIPTION] = 1
            sketch = self._sketch(document, self.words(line), english, places, rows)
        return Analysis(document.key, document.name, tuple(lengths), "\n".join(places), bytes(rows), sketch)

    def words(self, source: str) -> list[str]:
        """The first stem of each word, in order, stop words left out; of unspaced scripts the pairs."""
        return [stem for run in text.runs(source) for stem in self._of_run(run).stems]

    def _of_run(self, run: str) -> Run:
        found = self._heads.get(run)
        if found is None:
            if len(self._heads) >= self.kept_words:
                self._heads.clear()
            parts = text.parts(run)
            words = [run] if is_foreign(run) else parts
            table = self.languages_table
            strange = [word for word in words if table and (is_foreign(word) or table.knows(word))]
            if not text.is_unspaced(run):
                parts = [self.stems(word)[0] for word in parts if word not in self.stop_words]
            found = self._heads[run] = Run(tuple(parts), len(words), len(strange))
        return found

    def verb(self, stems: Iterable[str]) -> int:
        """The kind of the first verb among the words; 0: none."""
        kinds = self._verbs
        return next((kinds[stem] for stem in stems if stem in kinds), 0)

    @cached_property
    def verbs_of(self) -> tuple[tuple[str, ...], ...]:
        """The stems of each kind of verb; none of kind 0."""
        found: list[list[str]] = [[] for _ in range(1 + len(default_lexicon().verbs))]
        for stem, kind in self._verbs.items():
            found[kind].append(stem)
        return tuple(map(tuple, found))

    @cached_property
    def _verbs(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for kind, verbs in enumerate(default_lexicon().verbs, 1):
            for verb in verbs:
                found.setdefault(self.stems(verb)[0], kind)
        return found

    def is_english(self, word: str) -> bool:
        """Has the word table a row for it?"""
        return self._words is not None and self._words.place(self.stems(word)[0]) >= 0

    def in_english(self, line: str) -> list[str]:
        """The English stems of a sentence in another language, as far as the table knows; else none."""
        table = self.languages_table
        assert table is not None
        runs = [self._of_run(run) for run in text.runs(line)]
        strange = sum([run.strange for run in runs])
        if not strange or strange < FOREIGN * sum([run.words for run in runs]):
            return []
        told = []
        for run in text.runs(line):
            if text.is_unspaced(run):
                told += [stem for _, several in table.segments(run.casefold()) for stem in several[:1]]
            else:
                for word in text.parts(run):
                    if not table.is_function_word(word):
                        told += table.of(word)[:1] or self.words(word)
        return told

    def _sketch(
        self,
        document: IndexDocument,
        line: list[str],
        english: list[str],
        places: dict[str, int],
        rows: bytearray,
    ) -> bytes:
        assert self._words is not None
        name, server = self.words(document.name), self.words(document.server)
        aliases = self.words("\n".join(document.aliases))
        counts = np.frombuffer(rows, np.uint8).reshape(-1, len(VECTOR_WEIGHTS))
        vector = self._words.vector(places, ((counts != 0) * VECTOR_WEIGHTS).max(axis=1, initial=0))
        verb = self.verb(name) or self.verb((english or line)[:3])
        found = (
            bytes(self._words.dimensions) if vector is None else quantised(vector).astype(np.int8).tobytes()
        )
        return head(verb, name, server, [*line, *english], aliases) + found

    def stems(self, word: str) -> tuple[str, ...]:
        """The stems of one case-folded word: one per configured language, without repeats."""
        found = self._stems.get(word)
        if found is None:
            if len(self._stems) >= self.kept_words:
                self._stems.clear()
            if len(self._latin) == 1 and word.isascii() and word.isalpha():
                found = (self._latin[0].stemWord(word),)
            else:
                stems = (stemmer(language).stemWord(word) for language in self._languages_of(word))
                found = tuple(dict.fromkeys(stems)) or (word,)
            self._stems[word] = found
        return found

    def tried_stems(self, word: str) -> tuple[str, ...]:
        """`stems(word)`, not kept: for words that were made up and are only tried."""
        if len(self._latin) == 1 and word.isascii() and word.isalpha():
            return (self._latin[0].stemWord(word),)
        return self.stems(word)

    def _languages_of(self, word: str) -> tuple[str, ...]:
        if word.isdigit() or not word.isascii():
            first = word[0]
            for low, high, language in _SCRIPT_LANGUAGES:
                if low <= first <= high:
                    return (language,)
            if not first.isalpha() or ord(first) > 0x24F:
                return ()
        return self.languages

    def _cut(self, run: str, *, keep_stop_words: bool) -> tuple[tuple[str, ...], int]:
        """A run's terms, and how many tokens it counts for."""
        words = text.parts(run)
        if text.is_unspaced(run):
            return tuple(words), len(words)
        kept = [word for word in words if keep_stop_words or word not in self.stop_words]
        terms = [stem for word in kept for stem in self.stems(word)]
        if is_compound(words):
            terms.extend(self.stems("".join(words)))
        return tuple(terms), len(kept)


def is_compound(words: list[str]) -> bool:
    """Is `GitHub` also worth the term `github`? Long identifiers are not: nobody types them joined."""
    return 2 <= len(words) <= 3 and sum(map(len, words)) <= 20


@cache
def stemmer(language: str) -> Any:
    """Of a Snowball language; one for all."""
    found = snowballstemmer.stemmer(language)
    found.maxCacheSize = 0  # its cache costs more than a stem; what recurs is kept here
    return found


@cache
def snowball_version() -> str:
    try:
        import Stemmer  # snowballstemmer leaves the work to it where it is installed
    except ImportError:
        from importlib.metadata import version  # brings the email package in: only where it must

        return f"snowballstemmer {version('snowballstemmer')}"
    return f"PyStemmer {Stemmer.version()}"
