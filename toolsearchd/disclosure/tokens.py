"""Token counts by tiktoken, from vocabulary files in the package. Nothing is ever downloaded.

Loading a vocabulary takes a second and 80 MB: only the worker process calls `count_tokens`; the daemon keeps
the counts. tiktoken itself is imported by the loader alone. Any text is survived: long ones are counted in
pieces, since one unbroken run of a million characters makes tiktoken panic.
"""

from __future__ import annotations

import base64
import hashlib
import lzma
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import tiktoken

DEFAULT_ENCODING = "o200k_base"
COUNTING = 1  # the way of counting: another number makes kept counts worthless
PIECE_CHARS = 8 * 1024  # a run of this length costs 2 ms; tiktoken panics somewhere short of a million

# What byte-pair vocabularies merge on average: six letters of English, three digits, three signs of ASCII; a
# character of Chinese, Japanese or Korean, two letters of any other script.
_PARTS = r"[A-Za-z]{1,6}|[0-9]{1,3}|[\u2e80-\U0010ffff]|[^\W\d_]{1,2}|[!-/:-@\[-^`{-~]{1,3}|_+|\s{2,16}|\S"


class Vocabulary(NamedTuple):
    packed_sha256: str  # of the xz file here
    sha256: str  # of the ranks in it, as tiktoken checks its own downloads


VOCABULARIES = {
    "o200k_base": Vocabulary(
        "525e9ef7ef1926dfc41c2fd03529afc9822289ed48c4ae4927cf061c92dab0e9",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": Vocabulary(
        "0718e995710ecf212f8f321360354e7230540439f346e0e1620cd6a7ad3ed3f0",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}

_MODELS = (  # first match; a model not listed counts by the default encoding
    ("gpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4.5", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("text-embedding", "cl100k_base"),
)


class UncountedError(Exception):
    """The count of this text is not known yet; whoever asked has it counted and asks again."""

    def __init__(self, text: str) -> None:
        super().__init__(f"a text of {len(text)} characters is not counted yet")
        self.text = text


def fingerprint(encoding: str) -> str:
    """Changes when the same text may count otherwise."""
    vocabulary = VOCABULARIES.get(encoding)
    return f"{encoding} {vocabulary.sha256 if vocabulary else 'estimated'} {COUNTING}"


def encoding_for(model: str | None) -> str:
    """The encoding of a model name; a provider's prefix (`openai/…`) does not matter."""
    name = (model or "").rpartition("/")[2].lower()
    return next((encoding for prefix, encoding in _MODELS if name.startswith(prefix)), DEFAULT_ENCODING)


def chars4_of(characters: int) -> int:
    """The same of a length."""
    return -(-characters // 4)


def estimate_tokens(text: str) -> int:
    """Where no vocabulary serves: parts of words, numbers and punctuation, counted.

    Measured against o200k_base and cl100k_base on the tools of 70 public servers: 9 to 24% over on
    descriptions, listing lines and JSON schemas, 2% under on names alone. Over by up to a half on Chinese and
    Japanese, by up to twice on Cyrillic and Arabic under o200k_base; emoji are under by up to a half.
    """
    return sum(1 for _ in _parts().finditer(text))


@cache
def _parts() -> re.Pattern[str]:
    return re.compile(_PARTS)  # takes milliseconds, and mostly nothing is estimated


@cache
def is_estimated(encoding: str) -> bool:
    """Are counts under this encoding estimates, because its vocabulary is not here or is damaged?

    Reads a file of a megabyte, once; loads no vocabulary.
    """
    if encoding not in VOCABULARIES:
        return True
    try:
        packed = _packed(encoding)
    except OSError:
        return True
    return hashlib.sha256(packed).hexdigest() != VOCABULARIES[encoding].packed_sha256


def count_tokens(encoding: str, texts: list[str]) -> list[int]:
    """Tokens of each text, special tokens read as ordinary text; see `is_estimated` for what they are worth.

    A text longer than `PIECE_CHARS` is counted in pieces: up to one token more or less for each.
    """
    if is_estimated(encoding):
        return [estimate_tokens(text) for text in texts]
    vocabulary = _load(encoding)
    return [sum(len(vocabulary.encode_ordinary(piece)) for piece in pieces(text)) for text in texts]


def whole_characters(text: str) -> str:
    """With a `?` for each half of a surrogate pair: no encoder takes those."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def pieces(text: str) -> Iterator[str]:
    """The text in parts of at most `PIECE_CHARS`, cut at a line or before a word where there is one."""
    text = whole_characters(text)
    at = 0
    while len(text) - at > PIECE_CHARS:
        end = text.rfind("\n", at, at + PIECE_CHARS) + 1
        if end <= at:
            end = text.rfind(" ", at + 1, at + PIECE_CHARS)  # a token begins with its space
        if end <= at:
            end = at + PIECE_CHARS
        yield text[at:end]
        at = end
    yield text[at:]


def _packed(encoding: str) -> bytes:
    return resources.files("toolsearchd.disclosure").joinpath(f"vocab/{encoding}.tiktoken.xz").read_bytes()


@cache
def _load(encoding: str) -> tiktoken.Encoding:
    import tiktoken

    # The patterns and special tokens are tiktoken's own; only the ranks come from our file.
    from tiktoken_ext import openai_public  # type: ignore[import-untyped]

    def ranks(_url: str, expected_hash: str) -> dict[bytes, int]:
        data = lzma.decompress(_packed(encoding))
        if hashlib.sha256(data).hexdigest() != expected_hash:
            raise ValueError(f"the vocabulary of {encoding} is not the one that this tiktoken expects")
        return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}

    original = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = ranks
    try:
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[encoding]())
    finally:
        openai_public.load_tiktoken_bpe = original
