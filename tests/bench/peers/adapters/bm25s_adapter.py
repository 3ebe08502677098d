"""bm25s: sparse score matrices, stems by PyStemmer."""

import bm25s
import Stemmer
from peer_protocol import id_of, serve, text_of, words_of


def build(tools):
    stem = Stemmer.Stemmer("english").stemWords
    index = bm25s.BM25()
    index.index([stem(words_of(text_of(tool))) for tool in tools], show_progress=False)
    ids = [id_of(tool) for tool in tools]

    def search(query, limit):
        tokens = stem(words_of(query))
        if not tokens:
            return []
        docs, scores = index.retrieve([tokens], k=min(limit, len(ids)), show_progress=False)
        return [ids[doc] for doc, score in zip(docs[0], scores[0], strict=True) if score > 0]

    return search


serve(build)
