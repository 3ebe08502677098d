"""Token counts: the real vocabulary, hostile texts, and what stands in where there is no vocabulary."""

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken_ext.openai_public as openai_public

from toolsearchd.disclosure import tokens
from toolsearchd.disclosure.tokens import (
    PIECE_CHARS,
    VOCABULARIES,
    chars4_of,
    count_tokens,
    encoding_for,
    estimate_tokens,
    is_estimated,
    pieces,
)

CATALOG = Path(__file__).parents[1] / "data" / "livemcp" / "catalog.jsonl.xz"


@pytest.fixture(scope="module")
def catalog():
    with lzma.open(CATALOG, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture
def other_vocabularies(monkeypatch, tmp_path):
    """The package's vocabularies in a folder where a test may damage them."""
    root = tmp_path / "vocab"
    root.mkdir()
    for encoding in VOCABULARIES:
        (root / f"{encoding}.tiktoken.xz").write_bytes(tokens._packed(encoding))
    monkeypatch.setattr(tokens.resources, "files", lambda _package: tmp_path)
    tokens._load.cache_clear()
    is_estimated.cache_clear()
    yield root
    tokens._load.cache_clear()
    is_estimated.cache_clear()


def test_known_counts():
    assert count_tokens("o200k_base", ["hello world", ""]) == [2, 0]
    assert count_tokens("cl100k_base", ["tiktoken is great!", "antidisestablishmentarianism"]) == [6, 6]


def test_the_hashes_are_those_that_tiktoken_expects(monkeypatch):
    expected = {}

    def ranks(url, expected_hash):
        expected[url.rpartition("/")[2].partition(".")[0]] = expected_hash
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", ranks)
    for encoding in VOCABULARIES:
        openai_public.ENCODING_CONSTRUCTORS[encoding]()
    assert expected == {encoding: vocabulary.sha256 for encoding, vocabulary in VOCABULARIES.items()}


def test_special_tokens_are_ordinary_text():
    (count,) = count_tokens("o200k_base", ["before <|endoftext|> after"])
    assert count > 6


HOSTILE = {
    "a million spaces": " " * 1_000_000,
    "one long word": "a" * 200_000,
    "signs": "!" * 200_000,
    "blank lines": "\n" * 200_000,
    "ideographs": "图" * 200_000,
    "half characters": "\ud800" * 100,
    "specials": "<|endoftext|>" * 10_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_counted(text):
    (count,) = count_tokens("o200k_base", [text])
    assert 0 < count <= len(text) * 3


def test_pieces_leave_the_count_as_it_is(catalog):
    text = "\n".join(tool["description"] for tool in catalog)
    assert len(text) > 10 * PIECE_CHARS
    whole = len(tokens._load("o200k_base").encode_ordinary(text))
    assert abs(count_tokens("o200k_base", [text])[0] - whole) <= len(text) // PIECE_CHARS + 1
    assert "".join(pieces(text)) == text


@pytest.mark.parametrize("encoding", VOCABULARIES)
def test_the_estimate_is_as_far_off_as_it_says(catalog, encoding):
    kinds = {
        "descriptions": [tool["description"] for tool in catalog],
        "lines": [f"- mcp__{t['server']}__{t['name']}: {t['description'][:60]}" for t in catalog],
        "schemas": [json.dumps(tool["input_schema"], separators=(",", ":")) for tool in catalog],
        "names": [f"mcp__{tool['server']}__{tool['name']}" for tool in catalog],
    }
    for kind, texts in kinds.items():
        share = sum(map(estimate_tokens, texts)) / sum(count_tokens(encoding, texts))
        assert 0.95 <= share <= 1.25, (kind, share)


def test_characters_over_four_round_up():
    assert [chars4_of(len(text)) for text in ("", "a", "abcd", "abcde", "图像🙂ö")] == [0, 1, 1, 2, 1]


def test_an_unknown_encoding_is_estimated():
    assert is_estimated("someone_base")
    assert count_tokens("someone_base", ["create an issue"]) == [estimate_tokens("create an issue")]


def test_a_damaged_vocabulary_is_not_used(other_vocabularies):
    path = other_vocabularies / "o200k_base.tiktoken.xz"
    path.write_bytes(path.read_bytes()[:-5] + b"wrong")
    assert is_estimated("o200k_base")
    assert not is_estimated("cl100k_base")
    assert count_tokens("o200k_base", ["hello world"]) == [estimate_tokens("hello world")]


def test_a_missing_vocabulary_is_not_downloaded(other_vocabularies):
    (other_vocabularies / "cl100k_base.tiktoken.xz").unlink()
    assert is_estimated("cl100k_base")
    assert count_tokens("cl100k_base", ["hello world"]) == [estimate_tokens("hello world")]


def test_another_vocabulary_than_tiktoken_expects_is_refused(other_vocabularies, monkeypatch):
    packed = lzma.compress(b"aGVsbG8= 0\n")
    (other_vocabularies / "o200k_base.tiktoken.xz").write_bytes(packed)
    with pytest.raises(ValueError, match="not the one"):
        tokens._load("o200k_base")


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        (None, "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("GPT-4-turbo", "cl100k_base"),
        ("azure/gpt-3.5-turbo", "cl100k_base"),
        ("some-model-of-tomorrow", "o200k_base"),
    ],
)
def test_models_have_their_encoding(model, encoding):
    assert encoding_for(model) == encoding


def test_neither_import_nor_the_check_loads_tiktoken():
    code = (
        "import sys; from toolsearchd.disclosure import tokens, view\n"
        "assert not tokens.is_estimated('o200k_base')\n"
        "assert 'tiktoken' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
