"""A tool's sketch: what the second stage reads of it, some hundred bytes of fixed width, kept with the index.

The words of its name, server, first sentence and aliases in order, as 32-bit hashes of their stems; the kind
of its verb; and its vector. Made once per tool, of the tool alone: no statistics of others are in it.
"""

from __future__ import annotations

import re
import zlib
from array import array
from functools import cache

import numpy as np
import numpy.typing as npt

NAME_WORDS = 8
SERVER_WORDS = 4
LINE_WORDS = 20  # of the first sentence, stop words left out
ALIAS_WORDS = 8
WORDS = NAME_WORDS + SERVER_WORDS + LINE_WORDS + ALIAS_WORDS
HEAD_BYTES = 4 * (1 + WORDS)  # the verb's kind, then the words

NAME_SLOTS = slice(0, NAME_WORDS + SERVER_WORDS)  # the server's name is part of a tool's full one
SERVER_SLOTS = slice(NAME_WORDS, NAME_WORDS + SERVER_WORDS)
LINE_SLOTS = slice(NAME_WORDS + SERVER_WORDS, WORDS - ALIAS_WORDS)
ALIAS_SLOTS = slice(WORDS - ALIAS_WORDS, WORDS)

_SENTENCE = re.compile(r"(?<=\w\w)[.!?](?=\s)|\n|[。！？]")

Heads = npt.NDArray[np.uint32]
Vectors = npt.NDArray[np.int8]


@cache
def word_hash(stem: str) -> int:
    """Of a stem; never 0, which stands for no word. Two of 60,000 stems are seldom one."""
    return zlib.crc32(stem.encode("utf-8", "surrogatepass")) or 1


def first_sentence(description: str) -> str:
    return _SENTENCE.split(description.strip()[:1_000], maxsplit=1)[0]


def head(verb: int, name: list[str], server: list[str], line: list[str], aliases: list[str]) -> bytes:
    """The sketch's words; `verb`: the kind of the tool's verb, 0 where it has none."""
    slots = [verb]
    parts = (name, NAME_WORDS), (server, SERVER_WORDS), (line, LINE_WORDS), (aliases, ALIAS_WORDS)
    for stems, width in parts:
        hashes = [word_hash(stem) for stem in stems[:width]]
        slots += [*hashes, *[0] * (width - len(hashes))]
    return array("I", slots).tobytes()


def heads_of(sketches: npt.NDArray[np.uint8]) -> Heads:
    """Column 0: the verb's kind; then the words."""
    return np.ascontiguousarray(sketches[:, :HEAD_BYTES]).view(np.uint32)


def vectors_of(sketches: npt.NDArray[np.uint8]) -> Vectors:
    return sketches[:, HEAD_BYTES:].view(np.int8)
