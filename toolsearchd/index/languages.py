"""Words of other languages with the English stems that stand for them, from a table of this package.

For reading queries and tools that are not English. Product names and English words are not in it. Of words
like `der` and `una` it says that they are function words: they tell the language and mean nothing.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from toolsearchd.index import text
from toolsearchd.index.mapped import Buffer, mapped_table
from toolsearchd.index.sketch import word_hash

MAGIC = b"toolsearchd languages 1\n"
# Of the shipped file: part of the index's fingerprint.
DIGEST = "b1efac5bef5305020dfb0071cc2eab60e94c897b952edcc7d82831a93d755077"

_KEPT = 1 << 14  # words
_MOST_CHARS = 24
_UNSPACED_CHARS = 6
_LEAST_STEM = 4  # letters of a word that another may be a form of
_ENDING = 5  # letters that a form may have more

Stems = tuple[str, ...]


class LanguageTable:
    """Word → one or two English stems, none of a function word. Words by their hashes, in order; the sets of
    stems by number."""

    def __init__(self, buffer: Buffer) -> None:
        """`buffer`: a file's bytes. Raises ValueError for what is no table."""
        if bytes(buffer[: len(MAGIC)]) != MAGIC:
            raise ValueError("no table of languages")
        at = len(MAGIC)
        count, stems_bytes = np.frombuffer(buffer, np.uint32, 2, at).tolist()
        self._hashes = np.frombuffer(buffer, np.uint32, count, at + 8)
        self._numbers = np.frombuffer(buffer, np.uint16, count, at + 8 + 4 * count)
        self._text = np.frombuffer(buffer, np.uint8, stems_bytes, len(buffer) - stems_bytes)
        ends = np.flatnonzero(self._text == ord("\n")).astype(np.uint32)
        self._lines = np.concatenate([[0], ends + 1, [stems_bytes + 1]]).astype(
            np.uint32
        )  # where each begins
        self._read: dict[str, Stems | None] = {}

    def of(self, word: str) -> Stems:
        """A case-folded word's, or those of the longest word that it is a form of; empty: it is not there."""
        word = word[:_MOST_CHARS]
        if self.is_function_word(word):
            return ()
        for end in range(len(word), max(_LEAST_STEM, len(word) - _ENDING) - 1, -1):
            if found := self.whole(word[:end]):
                return found
        return self.whole(word)

    def whole(self, word: str) -> Stems:
        return self._entry(word) or ()

    def knows(self, word: str) -> bool:
        return self._entry(word) is not None

    def is_function_word(self, word: str) -> bool:
        return self._entry(word) == ()

    def _entry(self, word: str) -> Stems | None:
        """None: it is not there."""
        if word not in self._read:
            if len(self._read) >= _KEPT:
                self._read.clear()
            self._read[word] = self._find(word)
        return self._read[word]

    def _find(self, word: str) -> Stems | None:
        wanted = word_hash(word)
        at = int(self._hashes.searchsorted(np.uint32(wanted)))
        if at >= len(self._hashes) or int(self._hashes[at]) != wanted:
            return None
        number = int(self._numbers[at])
        return tuple(self._text[self._lines[number] : self._lines[number + 1] - 1].tobytes().decode().split())

    def segments(self, run: str) -> list[tuple[str, Stems]]:
        """The words of a run without spaces that are there, by longest match."""
        found, at = [], 0
        while at < len(run):
            for end in range(min(len(run), at + _UNSPACED_CHARS), at + 1, -1):
                if stems := self.whole(run[at:end]):
                    found.append((run[at:end], stems))
                    at = end
                    break
            else:
                at += 1
        return found


def is_foreign(word: str) -> bool:
    """Is it of a script that no English word is of?"""
    return ord(word[0]) > 0x24F or text.is_unspaced(word)


def pack(table: dict[str, Stems]) -> bytes:
    """The file's bytes."""
    stems = sorted({" ".join(several) for several in table.values()})
    number = {several: at for at, several in enumerate(stems)}
    hashes = np.array([word_hash(word) for word in table], np.uint32)
    numbers = np.array([number[" ".join(several)] for several in table.values()], np.uint16)
    _, first = np.unique(hashes, return_index=True)
    text_of_stems = "\n".join(stems).encode()
    head = np.array([len(first), len(text_of_stems)], np.uint32)
    return MAGIC + head.tobytes() + hashes[first].tobytes() + numbers[first].tobytes() + text_of_stems


@cache
def language_table() -> LanguageTable:
    """The shipped one. Raises ValueError where the file is another one than this package was made with."""
    return LanguageTable(mapped_table("languages.bin", DIGEST))
