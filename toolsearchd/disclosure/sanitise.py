"""The one sanitiser: whatever a server wrote passes here before a model or a terminal sees it.

Removed: control characters and escape sequences, bidirectional overrides, the Unicode tag block, zero-width
and other invisible characters. Kept: letters of every script, the joiners that scripts and emoji need.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but tab and newline
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufe00-\ufe0e\U000e0000-\U000e0fff]"
)
_SPACE = re.compile(r"\s+")
_PARAGRAPHS = re.compile(r"\n{3,}")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_ABBREVIATION = re.compile(r"(?:^|[^\w])(?:e\.g|i\.e|etc)$", re.IGNORECASE)

SHORT_CHARS = 60


def clean(text: str) -> str:
    """Text of several lines, without what hides or moves text."""
    if text.isascii() and text.isprintable():
        return text
    text = _INVISIBLE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return _PARAGRAPHS.sub("\n\n", text)


def plain_line(text: str) -> str:
    """One line: as `clean`, with white space collapsed."""
    return _SPACE.sub(" ", clean(text)).strip()


def clipped(text: str, chars: int) -> str:
    """At most `chars` characters and an ellipsis where it was cut."""
    return text if len(text) <= chars else text[:chars] + "…"


def short_description(text: str) -> str:
    """The first sentence, at most 60 characters, cut at a word (the reference's listing rule)."""
    text = plain_line(text[:4096])
    for end in _SENTENCE_END.finditer(text):
        if text[end.start()] == "." and _ABBREVIATION.search(text[: end.start()]):
            continue
        text = text[: end.end()]
        break
    if len(text) <= SHORT_CHARS:
        return text
    cut = text[:SHORT_CHARS]
    if " " in cut:
        cut = cut[: cut.rindex(" ")]
    return cut.rstrip(",;: ") + "…"


def clean_json(value: object) -> object:
    """The same value with every text in it cleaned: schemas carry descriptions, titles and examples."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean(key) if isinstance(key, str) else key: clean_json(item) for key, item in value.items()}
    return value
