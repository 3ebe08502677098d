"""Search latency in process, beside peers that are installed: bm25s, tantivy, rank-bm25.

    python tests/bench/search_speed.py DIR [SIZE…]      DIR/catalogs/*.jsonl and DIR/queries/*.jsonl

Catalogs of the given sizes (300 3300 10000 by default) are the real tools, shuffled; beyond their number they
are repeated with a further word in name and description. 1,000 distinct queries, no answer cached.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.evaluate_adapter import factory, hermes

Engine = Callable[[list[dict[str, Any]]], Callable[[str, int], Any]]


def text_of(tool: dict[str, Any]) -> str:
    return f"{tool['name'].replace('_', ' ')} {tool['server']} {tool.get('description') or ''}"


def bm25s(tools: list[dict[str, Any]]) -> Callable[[str, int], Any]:
    import bm25s as library

    index = library.BM25()
    index.index(library.tokenize([text_of(t) for t in tools], show_progress=False), show_progress=False)

    def search(query: str, limit: int) -> Any:
        tokens = library.tokenize(query, show_progress=False)
        return index.retrieve(tokens, k=limit, show_progress=False)

    return search


def tantivy(tools: list[dict[str, Any]]) -> Callable[[str, int], Any]:
    import tantivy as library

    builder = library.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
    index = library.Index(builder.build())
    writer = index.writer(50_000_000, 1)
    for tool in tools:
        writer.add_document(library.Document(text=text_of(tool)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: str, limit: int) -> Any:
        words = "".join(c if c.isalnum() else " " for c in query)
        return searcher.search(index.parse_query(words, ["text"]), limit).hits

    return search


def rank_bm25(tools: list[dict[str, Any]]) -> Callable[[str, int], Any]:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([text_of(tool).lower().split() for tool in tools])
    return lambda query, limit: index.get_scores(query.lower().split()).argsort()[-limit:]


ENGINES: dict[str, Engine] = {
    "default": factory,
    "hermes": hermes,
    "bm25s": bm25s,
    "tantivy": tantivy,
    "rank-bm25": rank_bm25,
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def catalog(pool: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    words = [
        word for tool in pool[:500] for word in (tool.get("description") or "").split() if word.isalpha()
    ]
    chance = random.Random(size)
    made = list(pool[:size])
    while len(made) < size:
        tool, word = chance.choice(pool), chance.choice(words)
        made.append(
            {
                **tool,
                "name": f"{tool['name']}_{word}_{len(made)}",
                "description": f"{tool['description']} {word}",
            }
        )
    return made


def main() -> None:
    folder = Path(sys.argv[1])
    sizes = [int(size) for size in sys.argv[2:]] or [300, 3300, 10_000]
    pool = [tool for path in sorted((folder / "catalogs").glob("*.jsonl")) for tool in lines(path)]
    queries = [line["query"] for path in sorted((folder / "queries").glob("*.jsonl")) for line in lines(path)]
    random.Random(1).shuffle(pool)
    random.Random(2).shuffle(queries)
    queries = list(dict.fromkeys(queries))[:1000]
    print(f"{'tools':>8} {'engine':10} {'build s':>8} {'p50 us':>8} {'p99 us':>8}")
    for size in sizes:
        tools = catalog(pool, size)
        for name, engine in ENGINES.items():
            began = time.process_time()
            try:
                search = engine(tools)
            except ImportError:
                continue
            built = time.process_time() - began
            times = []
            for query in queries:
                began = time.perf_counter()
                search(query, 5)
                times.append((time.perf_counter() - began) * 1e6)
            times.sort()
            print(f"{size:8} {name:10} {built:8.2f} {times[500]:8.0f} {times[990]:8.0f}", flush=True)


if __name__ == "__main__":
    main()
