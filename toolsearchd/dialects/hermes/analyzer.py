"""The reference's reading of a tool, of its two releases: ASCII runs of one text."""

from __future__ import annotations

import re
from array import array
from typing import Any

from toolsearchd.index.analyzer import KEPT_STEMS, VERSION, snowball_version, stemmer
from toolsearchd.index.document import Analysis, IndexDocument

_RUN = re.compile(r"[A-Za-z0-9]+")
_SEPARATORS = str.maketrans("_.:-", "    ")


class HermesAnalyzer:
    """The reference's reading of a tool: ASCII runs, lower case, English stems, one field."""

    name = "hermes"
    fields = ("text",)
    frequencies_type = "I"
    kept_words = KEPT_STEMS

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self._tokens: dict[str, str] = {}

    @property
    def fingerprint(self) -> str:
        return f"{self.name}/{VERSION}/{snowball_version()}"

    def analyse(self, document: IndexDocument) -> Analysis:
        counts: dict[str, int] = {}
        length = 0
        for token in self.tokens(self._text(document)):
            counts[token] = counts.get(token, 0) + 1
            length += 1
        return Analysis(
            self._key(document),
            document.name,
            (length,),
            "\n".join(counts),
            array("I", counts.values()).tobytes(),
        )

    def tokens(self, source: str) -> list[str]:
        """All tokens of a text, in order, repetitions included."""
        return [self._token(run) for run in _RUN.findall(source)]

    def _key(self, document: IndexDocument) -> str:
        return document.exposed

    def _text(self, document: IndexDocument) -> str:
        name = document.exposed.removeprefix("mcp__").translate(_SEPARATORS)
        words = [name]
        if document.server and document.server not in name.split(" "):
            words.append(document.server)
        words.append(document.description)
        words.extend(parameter for parameter, _ in document.parameters)
        return " ".join(words)

    def _token(self, run: str) -> str:
        found = self._tokens.get(run)
        if found is None:
            if len(self._tokens) >= self.kept_words:
                self._tokens.clear()
            found = self._tokens[run] = stemmer("english").stemWord(run.lower())
        return found


class HermesV1Analyzer(HermesAnalyzer):
    """The reference of June 2026: no stems, the `mcp` prefix counts as a word, no source label."""

    name = "hermes-v1"

    def _key(self, document: IndexDocument) -> str:
        """`mcp_<server>_<tool>`: its names had single underscores."""
        server, end = document.exposed[5 : 5 + len(document.server)], 5 + len(document.server)
        if not (document.exposed.startswith("mcp__") and document.exposed[end : end + 2] == "__"):
            return document.exposed
        return f"mcp_{server}_{document.exposed[end + 2 :]}"

    def _text(self, document: IndexDocument) -> str:
        name = document.exposed.translate(_SEPARATORS)
        return " ".join((name, document.description, *(parameter for parameter, _ in document.parameters)))

    def _token(self, run: str) -> str:
        return run.lower()
