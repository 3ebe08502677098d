"""Cuts text into words: Unicode, camelCase, acronyms, digits, scripts without spaces. Knows no language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from toolsearchd.nfkc import nfkc

MAX_TOKEN_CHARS = 64  # nobody types a longer word; a 200,000-character one is an attack or base64
MAX_RUN_CHARS = 512

# A run of letters and digits; marks (Devanagari vowels, combining accents) belong to it.
_RUN = re.compile(r"[^\W_]+(?:[\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e4e]+[^\W_]*)*")
_ASCII_RUN = re.compile(r"[A-Za-z0-9]+")
# HTTPServer → HTTP Server, createIssue → create Issue, EC2Instance → EC2 Instance, k8s stays whole.
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])|[A-Z]")
# Scripts written without spaces: their runs become overlapping pairs of characters.
_UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af]+"
)


def runs(text: str) -> Iterable[str]:
    """Maximal runs of letters and digits, in their own case, NFKC."""
    return _ASCII_RUN.findall(text) if text.isascii() else _unicode_runs(text)


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(_UNSPACED)  # takes milliseconds, and few texts go beyond ASCII


def _unicode_runs(text: str) -> Iterator[str]:
    for match in _RUN.finditer(nfkc(text)):
        run = match[0][:MAX_RUN_CHARS]
        if run.isascii():
            yield run
            continue
        end = 0
        for piece in _unspaced().finditer(run):
            if piece.start() > end:
                yield run[end : piece.start()]
            yield piece[0]
            end = piece.end()
        if end < len(run):
            yield run[end:]


def parts(run: str) -> list[str]:
    """The words inside one run, case folded: camelCase and acronyms split, unspaced scripts as bigrams."""
    if run.isascii():
        if run.islower() or run.isdigit():
            return [run[:MAX_TOKEN_CHARS]]
        return [part.lower()[:MAX_TOKEN_CHARS] for part in _CAMEL.findall(run[:MAX_RUN_CHARS])]
    if _unspaced().match(run):
        run = run.casefold()
        return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return [part.casefold()[:MAX_TOKEN_CHARS] for part in _camel_parts(run)]


def is_unspaced(run: str) -> bool:
    """True for a run of a script that is written without spaces."""
    return not run.isascii() and _unspaced().match(run) is not None


def _camel_parts(run: str) -> list[str]:
    """`parts` for letters beyond ASCII: a capital after a small letter begins a word."""
    found, start = [], 0
    for i in range(1, len(run)):
        if run[i].isupper() and run[i - 1].islower():
            found.append(run[start:i])
            start = i
    found.append(run[start:])
    return found
