"""bm25s: sparse score matrices, its own English stop words, stems by PyStemmer."""

import bm25s
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from peer_protocol import id_of, serve, text_of, words_of


def build(tools):
    stem = Stemmer.Stemmer("english").stemWords
    stop_words = frozenset(STOPWORDS_EN)

    def tokens_of(text):
        return stem([word for word in words_of(text) if word not in stop_words])

    index = bm25s.BM25()
    index.index([tokens_of(text_of(tool)) for tool in tools], show_progress=False)
    ids = [id_of(tool) for tool in tools]

    def search(query, limit):
        tokens = tokens_of(query)
        if not tokens:
            return []
        docs, scores = index.retrieve([tokens], k=min(limit, len(ids)), show_progress=False)
        return [ids[doc] for doc, score in zip(docs[0], scores[0], strict=True) if score > 0]

    return search


serve(build)
