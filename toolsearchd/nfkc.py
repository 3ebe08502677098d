"""Unicode's compatibility form NFKC, in time that grows with the text.

Marks in a row are put into the order of their classes. `unicodedata` does it by swapping neighbours, in the
square of their number: 80,000 of them take half a minute. Here long rows are sorted beforehand, which changes
nothing of what comes out. Pure.
"""

from __future__ import annotations

import re
import unicodedata

# Every mark that has a class is beyond Latin and no letter or digit; two letters of Katakana become one.
_LONG_ROW = re.compile("(?:[^\\w\x00-\u02ff]|[\uff9e\uff9f]){32,}+")


def nfkc(text: str) -> str:
    """As `unicodedata.normalize("NFKC", text)`."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _LONG_ROW.sub(_sorted, text))


def _sorted(match: re.Match[str]) -> str:
    made: list[str] = []
    marks: list[str] = []  # since the last character without a class, which keeps its place
    for character in unicodedata.normalize("NFKD", "\0".join(match[0])).replace("\0", ""):
        if unicodedata.combining(character):
            marks.append(character)
        else:
            made += sorted(marks, key=unicodedata.combining)
            made.append(character)
            marks.clear()
    return "".join([*made, *sorted(marks, key=unicodedata.combining)])
