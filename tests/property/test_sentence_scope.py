"""Vectors of a sentence model in the second stage: of the scope alone, all of it or none."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from tests.property.test_index_equals_naive import LEXICON, ROUNDS, by_key, catalogs, query, readable
from toolsearchd.index.builder import compile_index
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.ranker import default_analyzer
from toolsearchd.index.ranking import DEFAULT
from toolsearchd.index.searcher import Group
from toolsearchd.index.sentences import DIMENSIONS, SentenceStore


def sentence_store(documents: Sequence[IndexDocument], queries: Sequence[str]) -> SentenceStore:
    """Vectors as a model might make them: alike for texts that share letters."""
    store = SentenceStore()
    store.state = "on"
    for document in documents:
        store.learn([digest_of(document)], letters(document.name + document.description))
    for text in queries:
        store.learn_query(text, letters(text))
    return store


def digest_of(document: IndexDocument) -> str:
    return blake2b(document.key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def letters(text: str) -> bytes:
    found = np.zeros(DIMENSIONS, np.int8)
    for letter in text:
        at = ord(letter) % DIMENSIONS
        found[at] = min(127, int(found[at]) + 1)
    return found.tobytes()


@settings(max_examples=ROUNDS, deadline=None)
@given(catalogs(), st.data(), query, st.integers(1, 6))
def test_a_scope_with_sentences_is_a_catalog_of_its_tools_alone(
    documents: list[IndexDocument], data: st.DataObject, text: str, limit: int
) -> None:
    granted = data.draw(st.sets(st.integers(0, len(documents) - 1)))
    store, analyzer = sentence_store(documents, [text]), default_analyzer()

    def answer(visible: list[IndexDocument], mask: BitMap) -> Any:
        searcher = DEFAULT.over(
            compile_index(analyzer, visible),
            mask,
            order=by_key(visible),
            analyzer=analyzer,
            lexicon=LEXICON,
            sentences=store,
            digests=[digest_of(document) for document in visible],
        )
        group = searcher.search(text, limit)
        p = [hit.p for hit in (*group.matches, *group.near)]
        return readable(group, visible), p, group.by_sentences

    assert answer(documents, BitMap(granted)) == answer(
        [documents[doc] for doc in sorted(granted)], BitMap(range(len(granted)))
    )


def test_a_tool_without_a_vector_leaves_the_answer_to_the_word_table() -> None:
    documents = [
        IndexDocument(
            key=f"mcp__a__{name}", name=name, server="a", exposed=name, description=f"{name} a file"
        )
        for name in ("read", "write")
    ]
    analyzer, store = default_analyzer(), sentence_store(documents[:1], ["read file"])

    def search(sentences: SentenceStore | None) -> Group:
        digests = [digest_of(document) for document in documents]
        index = compile_index(analyzer, documents)
        return DEFAULT.over(
            index, BitMap([0, 1]), order=[0, 1], analyzer=analyzer, sentences=sentences, digests=digests
        ).search("read file", 5)

    assert search(store) == search(None)
    store.learn([digest_of(documents[1])], letters("write"))
    assert search(store).by_sentences
    store.state = "off"
    assert search(store) == search(None)
