"""TOML as a config document, with the place of what is wrong in it."""

from __future__ import annotations

import re

from toolsearchd.config.document import ConfigDocument, Lines, Place, problem_at
from toolsearchd.config.masking import unquoted

_MAX_PARTS = 64  # of a dotted key: tomllib copies each beginning of it, and nobody nests so deeply
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\.)*+"?+|'[^'\n]*+'?+)"""
_KEY = re.compile(
    r'''#[^\n]*+|"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)|'''
    rf"""'''(?:[^']++|'(?!''))*+(?:'{{3,5}}|\Z)|(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)""",
    re.DOTALL,
)
_ONE_PART = re.compile(_PART, re.DOTALL)


def parse_toml(text: str, file: str) -> ConfigDocument:
    """Never raises; bounded time, whatever is in it."""
    import tomllib  # only where there is such a file

    deep = _deep_key(text)
    if deep >= 0:
        message = f"a key of more than {_MAX_PARTS} parts"
        return ConfigDocument(None, [problem_at("error", message, file, (), Lines(text).place(deep))])
    try:
        return ConfigDocument(tomllib.loads(text), [])
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = Place(int(at[1]), int(at[2])) if at else Place(text.count("\n") + 1, 0)  # at the end
        message = str(error)[: at.start()].strip() if at else str(error)
        return ConfigDocument(None, [problem_at("error", f"not TOML: {unquoted(message)}", file, (), place)])


def _deep_key(text: str) -> int:
    """Where a key of very many parts stands; -1: nowhere. Strings and comments are passed over."""
    for match in _KEY.finditer(text):
        start, end = match.span("key")
        if end - start > 2 * _MAX_PARTS and len(_ONE_PART.findall(text, start, end)) > _MAX_PARTS:
            return start
    return -1
