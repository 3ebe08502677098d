"""A command line in one text → its words, as `shlex.split` would take it apart, in linear time."""

from __future__ import annotations

import re

_PART = re.compile(
    r"(?P<blank>[ \t\r\n]++)|(?P<plain>[^ \t\r\n'\"\\]++)|\\(?P<escaped>.)"
    r"|'(?P<single>[^']*+)'|\"(?P<double>[^\"\\]*+(?:\\.[^\"\\]*+)*+)\"",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\([\"\\])")  # all that a backslash escapes between double quotes


def split_words(text: str) -> list[str]:
    """Raises ValueError where a quote has no end or a backslash nothing behind it."""
    words: list[str] = []
    parts: list[str] | None = None  # of the word being read
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            dangling = text[at] != "'" and (len(text) - len(text.rstrip("\\"))) % 2
            raise ValueError("No escaped character" if dangling else "No closing quotation")
        at = match.end()
        kind = match.lastgroup
        if kind == "blank":
            if parts is not None:
                words.append("".join(parts))
            parts = None
            continue
        part = match[kind or 0]
        parts = [] if parts is None else parts
        parts.append(_ESCAPED.sub(r"\1", part) if kind == "double" else part)
    if parts is not None:
        words.append("".join(parts))
    return words
