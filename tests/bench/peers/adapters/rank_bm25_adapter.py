"""rank-bm25: Okapi over numpy, stems by PyStemmer."""

import Stemmer
from peer_protocol import id_of, serve, text_of, words_of
from rank_bm25 import BM25Okapi


def build(tools):
    stem = Stemmer.Stemmer("english").stemWords
    index = BM25Okapi([stem(words_of(text_of(tool))) for tool in tools])
    ids = [id_of(tool) for tool in tools]

    def search(query, limit):
        scores = index.get_scores(stem(words_of(query)))
        return [ids[doc] for doc in (-scores).argsort(kind="stable")[:limit] if scores[doc] > 0]

    return search


serve(build)
