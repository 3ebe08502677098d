"""OpenClaw's reading of tools and queries, and its ranking (its second and third generation).

Okapi BM25 over one field. A tool is its name, id and description; a trusted one (of a plugin, not of a
server) also its label and parameters. A query's own words weigh 1; what they hint at weighs less, and a tool
that shares no word with the query never stands before one that does.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.ranking import Ranking
from toolsearchd.index.scope import Positions, Scope, Scores, best
from toolsearchd.index.searcher import Group, Hit

VERSION = 1  # raise when the terms change for the same text
K1 = 1.2
B = 0.75
HINT_WEIGHT = 0.35
LONGEST_SERVER = 30
LONGEST_RUN = 512  # characters; a longer one is data, and would be kept as a word

_KEPT_WORDS = 1 << 16

_STOP_WORDS = frozenset(
    "a an the i me my we us our you your it its they them their this that these here there "
    "who what when where which why how and or but if so then as at by for from in into of on to up with "
    "is are was were be has have had do can will no not".split()
)
_NOT_PLURAL = frozenset(
    "alias analysis atlas axis basis bonus bus canvas focus gas lens news plus status virus".split()
)
_HINTS = (
    ("look lookup google research", "search web find"),
    ("current today latest now recent news price weather", "search web"),
    ("url link page article site website", "fetch web browse"),
    ("remember recall memory earlier previously discussed decided", "memory recall history"),
    ("remind reminder later tomorrow daily weekly recurring", "schedule automations cron reminder"),
    ("say tell reply respond answer", "message send"),
    ("picture photo meme screenshot", "image"),
    ("speak say voice", "audio speech"),
    ("run execute command shell terminal", "exec process"),
    ("directory folder path", "file list"),
)
"""What a word hints at: any of the left ones, then all of the right ones. Never a product's name."""

_SUFFIXES = ("ies", "ing", "ed", "ly", "es", "er", "s", "e")
_RUN = re.compile(r"\w+")
_ASCII_PART = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # URLs stays whole
_CLASS_PART = re.compile(r"U+s?(?![ls])|U?[ls]+|9+")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
# How a locale orders what is neither letter nor digit: before both, and in this order among themselves.
_PUNCTUATION = str.maketrans(
    {sign: chr(1 + at) for at, sign in enumerate(" _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$")}
)


def safe_server(server: str) -> str:
    """A server's name as ids carry it: letters, digits, `_`, `-`, a letter first, 30 characters at most."""
    safe = _UNSAFE.sub("-", server.strip()) or "mcp"
    return (safe if safe[0].isalpha() else f"mcp-{safe}")[:LONGEST_SERVER]


@lru_cache(maxsize=32 * 1024)
def tool_id(kind: str, server: str, name: str) -> str:
    """`<source>:<owner>:<name>`: `mcp:calendar:create_event`, `openclaw:core:exec`."""
    if kind == "plugin":
        return f"openclaw:{server or 'core'}:{name}"
    return f"mcp:{safe_server(server)}:{name}"


def id_order(text: str) -> tuple[str, str]:
    """Sort key of a locale's comparison: case decides last, small letters first."""
    return text.casefold().translate(_PUNCTUATION), text.swapcase()


def stem(word: str) -> str:
    """At most three suffixes less, one after the other."""
    for _ in range(3):
        shorter = _without_suffix(word)
        if shorter == word:
            break
        word = shorter
    return word


def _without_suffix(word: str) -> str:
    if len(word) <= 3 or word in _NOT_PLURAL:
        return word
    for suffix in _SUFFIXES:
        if not word.endswith(suffix) or len(word) - len(suffix) < 3 or (suffix == "s" and word[-2] == "s"):
            continue
        kept = word[: -len(suffix)]
        if suffix == "ies":
            return f"{kept}y"
        if (
            suffix in ("ing", "ed", "er")
            and len(kept) > 3
            and kept[-1] == kept[-2]
            and kept[-1] not in "lsfzaeiou"
        ):
            return kept[:-1]  # running → run, calling → call
        return kept
    return word


@lru_cache(maxsize=_KEPT_WORDS)
def _terms_of(word: str) -> tuple[str, ...]:
    """A word's terms. `policies` and `cookies` can't be told apart: both readings count."""
    if word in _STOP_WORDS:
        return ()
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y", stem(f"{word[:-3]}ie")
    return (stem(word),)


@lru_cache(maxsize=_KEPT_WORDS)
def _words_of_run(run: str) -> tuple[str, ...]:
    """The whole run, then its parts where `_` or a change of case makes several."""
    parts = _ASCII_PART.findall(run) if run.isascii() else _unicode_parts(run)
    return (run.lower(), *(part.lower() for part in parts)) if len(parts) > 1 else (run.lower(),)


def _unicode_parts(run: str) -> list[str]:
    classes = "".join(map(_class_of, run))
    return [run[found.start() : found.end()] for found in _CLASS_PART.finditer(classes)]


def _class_of(character: str) -> str:
    if character == "s":
        return "s"
    category = unicodedata.category(character)
    return {"Lu": "U", "Ll": "l"}.get(category, "9" if category[0] == "N" else "-")


def words(text: str) -> Iterator[str]:
    """All words of a text in lower case, stop words included."""
    for run in _RUN.findall(text):
        yield from _words_of_run(run[:LONGEST_RUN])


def terms(text: str) -> list[str]:
    """A document's terms, repetitions included."""
    return [term for word in words(text) for term in _terms_of(word)]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


_HINTED: dict[str, tuple[str, ...]] = {}  # trigger → the terms it adds
for _triggers, _added in _HINTS:
    for _trigger in map(_singular, _triggers.split()):
        _HINTED[_trigger] = (*_HINTED.get(_trigger, ()), *map(stem, _added.split()))


def query_terms(query: str) -> dict[str, float]:
    """A query's terms and their weights: 1 for its own words, `HINT_WEIGHT` for what they hint at."""
    own = [word for word in words(query) if word not in _STOP_WORDS]
    weights = dict.fromkeys((term for word in own for term in _terms_of(word)), 1.0)
    for word in own:
        for term in _HINTED.get(_singular(word), ()):
            weights.setdefault(term, HINT_WEIGHT)
    return weights


class OpenclawAnalyzer:
    name = "openclaw"
    fields = ("text",)
    frequencies_type = "I"
    kept_words = _KEPT_WORDS  # by all of them together

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    @property
    def fingerprint(self) -> str:
        return f"{self.name}/{VERSION}/{unicodedata.unidata_version}"

    def analyse(self, document: IndexDocument) -> Analysis:
        key = tool_id(document.kind, document.server, document.name)
        texts = [document.name, key, document.description]
        if document.kind == "plugin":  # a server's own schema is never walked
            texts.append(document.title or document.name)
            for name, described in (*document.parameters, *document.nested):
                texts += (name, described)
        counts: dict[str, int] = {}
        length = 0
        for term in terms(" ".join(texts)):
            counts[term] = counts.get(term, 0) + 1
            length += 1
        return Analysis(
            key, document.name, (length,), "\n".join(counts), array("I", counts.values()).tobytes()
        )


class OpenclawSearcher:
    """Exact name or id first, then what shares a word with the query, then by score. No relevance floor.

    `tool_of`: the tool behind a doc id; its id orders equal scores.
    """

    analyzer = OpenclawAnalyzer()

    def __init__(self, scope: Scope, tool_of: Callable[[int], Any]) -> None:
        self.scope = scope
        self._tool_of = tool_of
        self._impacts: dict[str, tuple[Positions, Scores]] = {}

    def prepare(self) -> Iterator[None]:
        """There is nothing to make ahead."""
        return iter(())

    def search(self, query: str, limit: int) -> Group:
        weights = query_terms(query)
        size = self.scope.size
        if limit <= 0 or not size:
            return Group(diagnostics={"query_tokens": list(weights)})
        scores = np.zeros(size)
        literal = np.zeros(size, dtype=bool)
        for term, weight in weights.items():
            positions, impacts = self._impact(term)
            scores[positions] += weight * impacts
            if weight == 1.0:
                literal[positions] = True
        ranked = scores + np.where(literal, scores.max(initial=0.0) + 1.0, 0.0)
        ranked[self._exact(query)] += 2 * ranked.max(initial=0.0) + 1.0
        return Group(
            matches=[Hit(int(self.scope.docs[at]), float(scores[at])) for at in self._best(ranked, limit)],
            unknown=[term for term, weight in weights.items() if weight == 1.0 and not self._df(term)],
            diagnostics={"query_tokens": list(weights)},
        )

    def _best(self, ranked: Scores, limit: int) -> list[int]:
        """Positions of the `limit` largest; of equal ones the first by id, so all that tie are compared."""
        chosen = best(ranked, limit)
        if not chosen:
            return []
        tied = np.flatnonzero(ranked >= ranked[chosen[-1]]).tolist()
        tied.sort(key=lambda at: (-ranked[at], id_order(self._id_of(int(self.scope.docs[at])))))
        return [int(at) for at in tied[:limit]]

    def _id_of(self, doc: int) -> str:
        tool = self._tool_of(doc)
        return tool_id(tool.kind, tool.server, tool.name)

    def _exact(self, query: str) -> list[int]:
        wanted = query.strip().lower()
        index = self.scope.index
        return self.scope.positions((*index.named(wanted), *index.bearing(wanted))) if wanted else []

    def _df(self, term: str) -> int:
        return len(self._impact(term)[0])

    def _impact(self, term: str) -> tuple[Positions, Scores]:
        """What the term adds to each document that carries it, at weight 1."""
        found = self._impacts.get(term)
        if found is None:
            positions, counts = self.scope.occurrences(term)
            n, df = self.scope.size, len(positions)
            if not df:
                return positions, np.zeros(0)  # not kept: there is no end to unknown words
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            tf = counts[:, 0].astype(np.float64)
            length = self.scope.lengths[positions, 0].astype(np.float64)
            norm = K1 * (1 - B + B * length / self.scope.mean_lengths[0])
            found = self._impacts[term] = positions, idf * tf * (K1 + 1) / (tf + norm)
        return found


OPENCLAW = Ranking(
    name="openclaw",
    analyzer=OpenclawAnalyzer,
    searcher=lambda scope, means: OpenclawSearcher(scope, means.tool_of),
    by_name=True,
)
