"""A word list of the person's own: text in, its usable lines and the odd ones out.

The form is that of the lists in `index/lexicon`, which says what a line means; `#` begins a comment line.
"""

from __future__ import annotations

from toolsearchd.config.document import Place, problem_at
from toolsearchd.config.model import Problem

MAX_LINE_CHARS = 1_000  # a group of words that stand for one another; a longer line is no such group
MAX_LINES = 50_000  # ten times the daemon's own longest list
_TOLD_LINES = 20  # odd lines that are told one by one; a file of many is another kind of file


def parse_word_list(name: str, text: str, file: str) -> tuple[str, list[Problem]]:
    """The text without its odd lines, and a problem with its line number for each of them.

    `name`: thesaurus (a group of two words or more a line), products (one or two words a line),
    ordinary_words or stop_words (any number of words a line).
    """
    kept: list[str] = []
    odd_lines: list[tuple[int, str]] = []
    lines = text.splitlines()
    for number, line in enumerate(lines[:MAX_LINES], 1):
        if not line.strip() or line.startswith("#"):
            continue
        odd = _odd(name, line)
        if odd:
            odd_lines.append((number, f"{odd}; the line is ignored"))
        else:
            kept.append(line)
    more = len(odd_lines) - _TOLD_LINES
    if more > 0:
        odd_lines[_TOLD_LINES:] = [(odd_lines[_TOLD_LINES][0], f"this and {more - 1} further lines are odd")]
    if len(lines) > MAX_LINES:
        odd_lines.append((MAX_LINES + 1, f"more than {MAX_LINES} lines; the rest is ignored"))
    return "\n".join(kept), [
        problem_at("warning", message, file, (), Place(number, 0)) for number, message in odd_lines
    ]


def _odd(name: str, line: str) -> str:
    """What is wrong with a line; empty where nothing is."""
    words = line.split()
    if len(line) > MAX_LINE_CHARS:
        return f"longer than {MAX_LINE_CHARS} characters"
    if not all(any(map(str.isalnum, word)) for word in words):
        return "expected words, and this holds something without a letter or digit"
    if name == "thesaurus" and len(words) < 2:
        return "expected two words or more that stand for one another (`_` joins a phrase)"
    if name == "products" and len(words) > 2:
        return "expected a product's name of one or two words"
    return ""
