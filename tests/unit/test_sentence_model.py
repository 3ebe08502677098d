"""The installed sentence model itself; skipped where the extra is not installed."""

import hashlib
import lzma
from importlib.resources import files

import numpy as np
import pytest

from toolsearchd.index.sentence_model import SentenceModel, lacking
from toolsearchd.index.sentences import MOST_CHARS, SentenceStore, sentence_of

needs_model = pytest.mark.skipif(bool(lacking()), reason=f"not installed: {', '.join(lacking())}")


def test_the_vocabulary_is_that_of_bert() -> None:
    packed = files("toolsearchd.index.tables").joinpath("bert_vocabulary.txt.xz").read_bytes()
    words = lzma.decompress(packed)
    assert len(words.splitlines()) == 30_522
    pinned = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    assert hashlib.sha256(words).hexdigest() == pinned


def test_what_is_read_of_a_tool() -> None:
    said = sentence_of("createIssue", "A title", "Creates an issue. In a repository.")
    assert said == "create issue. Creates an issue"
    assert sentence_of("x", "A title", "") == "x. A title"
    assert len(sentence_of("a" * 10_000, "", "b " * 10_000)) <= MOST_CHARS


def test_a_store_reads_back_what_it_packs() -> None:
    store, other = SentenceStore(), SentenceStore()
    digests = [f"{n:032x}" for n in range(700)]
    vectors = np.random.default_rng(1).integers(-127, 128, (700, 384)).astype(np.int8)
    store.learn(digests, vectors.tobytes())
    other.load(store.packed())
    assert (other.matrix(digests) == vectors).all()
    other.keep_only(digests[::7])
    assert (other.matrix(digests[::7]) == vectors[::7]).all()
    assert other.matrix(digests[:2]) is None
    assert len(other) == 100
    for damaged in (b"", store.packed()[:-1], b"x" + store.packed()[1:]):
        with pytest.raises(ValueError, match="damaged"):
            SentenceStore().load(damaged)
    with pytest.raises(ValueError, match="reshape"):
        store.learn(["00"], b"123")


@needs_model
def test_like_sentences_lie_near_one_another_and_company_changes_nothing() -> None:
    model = SentenceModel()
    texts = ["delete a file", "remove a document", "play some music", "", "x" * 100_000]
    together = model.vectors(texts)
    alone = np.concatenate([model.vectors([text]) for text in texts])
    assert (together == alone).all()
    exact = together.astype(float)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    assert exact[0] @ exact[1] > 0.6 > 0.4 > exact[0] @ exact[2]
