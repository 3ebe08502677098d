"""tantivy: its own English stemmer, one text field, any of the words."""

import tantivy
from peer_protocol import id_of, serve, text_of, words_of


def build(tools):
    schema = tantivy.SchemaBuilder()
    schema.add_unsigned_field("place", stored=True)
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
    index = tantivy.Index(schema.build())
    writer = index.writer(50_000_000, 1)
    for place, tool in enumerate(tools):
        writer.add_document(tantivy.Document(place=place, text=text_of(tool)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    # A stored field costs more than the search: where each document lies is asked once.
    everything = searcher.search(index.parse_query("*", ["text"]), len(tools)).hits
    places = {(at.segment_ord, at.doc): searcher.doc(at)["place"][0] for _, at in everything}
    assert len(places) == len(tools)
    ids = [id_of(tool) for tool in tools]

    def search(query, limit):
        wanted = index.parse_query(" ".join(words_of(query)), ["text"])
        return [ids[places[at.segment_ord, at.doc]] for _, at in searcher.search(wanted, limit).hits]

    return search


serve(build)
