"""Token counts by tiktoken, from vocabulary files in the package. Nothing is ever downloaded.

Loading a vocabulary takes about a second and 80 MB, so only the worker process calls `count_tokens`; the
daemon keeps the counts. Texts are counted in pieces that tiktoken survives: beyond `MAX_CHARS` a count says
"at least".
"""

from __future__ import annotations

import base64
import hashlib
import lzma
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

DEFAULT_ENCODING = "o200k_base"
MAX_CHARS = 256 * 1024
_PIECE_CHARS = 8 * 1024  # one unbroken run of this length is merged in milliseconds, 200,000 take minutes

# SHA-256 of the decompressed rank files, as tiktoken itself checks them.
VOCABULARIES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}

_MODELS = (  # first match; a model not listed counts by the default encoding
    ("gpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-5", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
    ("o4", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("text-embedding", "cl100k_base"),
)


def encoding_for(model: str | None) -> str:
    """The encoding of a model name; a provider's prefix (`openai/…`) does not matter."""
    name = (model or "").rpartition("/")[2].lower()
    return next((encoding for prefix, encoding in _MODELS if name.startswith(prefix)), DEFAULT_ENCODING)


def estimate_tokens(text: str) -> int:
    """Where no vocabulary serves: UTF-8 bytes / 3.6, rounded up. Over by about a tenth on English prose,
    within a fifth on JSON and CJK text; characters / 4 is under by up to a half there."""
    return -(-len(text.encode("utf-8", "surrogatepass")) * 10 // 36)


def chars4(text: str) -> int:
    """The reference's estimate: ceil(characters / 4)."""
    return -(-len(text) // 4)


def count_tokens(encoding: str, texts: list[str]) -> list[int]:
    """Tokens of each text; estimates under an encoding that has no vocabulary here."""
    if encoding not in VOCABULARIES:
        return [estimate_tokens(text) for text in texts]
    vocabulary = _vocabulary(encoding)
    return [_count(vocabulary, text[:MAX_CHARS]) for text in texts]


def _count(vocabulary: tiktoken.Encoding, text: str) -> int:
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
    return sum(
        len(vocabulary.encode_ordinary(text[at : at + _PIECE_CHARS]))
        for at in range(0, len(text), _PIECE_CHARS)
    )


@cache
def _vocabulary(encoding: str) -> tiktoken.Encoding:
    import tiktoken

    # The patterns and special tokens are tiktoken's own; only the ranks come from our file.
    from tiktoken_ext import openai_public  # type: ignore[import-untyped]

    packed = resources.files("toolsearchd.disclosure").joinpath(f"vocab/{encoding}.tiktoken.xz").read_bytes()
    data = lzma.decompress(packed)
    if hashlib.sha256(data).hexdigest() != VOCABULARIES[encoding]:
        raise ValueError(f"the vocabulary file of {encoding} is corrupt; install the package again")
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    original = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *_args, **_more: ranks
    try:
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[encoding]())
    finally:
        openai_public.load_tiktoken_bpe = original
