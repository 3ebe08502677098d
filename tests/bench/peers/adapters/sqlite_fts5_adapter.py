"""SQLite FTS5 in memory: Porter stems, any of the words, its own bm25."""

import sqlite3

from peer_protocol import id_of, serve, text_of, words_of


def build(tools):
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table tools using fts5(text, tokenize='porter unicode61')")
    rows = ((place, text_of(tool)) for place, tool in enumerate(tools))
    database.executemany("insert into tools(rowid, text) values (?, ?)", rows)
    ids = [id_of(tool) for tool in tools]

    def search(query, limit):
        wanted = " OR ".join(f'"{word}"' for word in words_of(query))
        if not wanted:
            return []
        asked = "select rowid from tools where tools match ? order by rank limit ?"
        return [ids[place] for (place,) in database.execute(asked, (wanted, limit))]

    return search


serve(build)
