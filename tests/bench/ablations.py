"""What each part of the default ranker is worth: the development figures with that part taken out.

    python tests/bench/ablations.py DIR      DIR/catalogs/*.jsonl and DIR/queries/*.jsonl

Prints one row per variant: means over (data set, kind of query) cells, and over the data sets' negatives.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.evaluate_adapter import snapshot_of
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.index.concepts import Tuning
from toolsearchd.index.evaluate import EvalQuery, Judged, evaluate, figures
from toolsearchd.index.lexicon import Lexicon, default_lexicon
from toolsearchd.index.ranker import DefaultSearcher
from toolsearchd.index.scope import Scope

REAL = ("livemcp", "mcpmix", "cloudflare")
BASE = Tuning()
LEXICON = default_lexicon()
NO_PRODUCTS = msgspec.structs.replace(LEXICON, products=frozenset())
NO_THESAURUS = msgspec.structs.replace(LEXICON, thesaurus=())


def changed(**fields: Any) -> Tuning:
    return msgspec.structs.replace(BASE, **fields)


VARIANTS: dict[str, tuple[Tuning, Lexicon]] = {
    "as shipped": (BASE, LEXICON),
    "no product rule": (BASE, NO_PRODUCTS),
    "no thesaurus": (BASE, NO_THESAURUS),
    "partners .4": (changed(partner=0.4), LEXICON),
    "partners .8": (changed(partner=0.8), LEXICON),
    "no name coverage": (changed(name_coverage=0.0), LEXICON),
    "no parameter descriptions": (changed(weights=(3.0, 3.0, 1.0, 1.0, 1e-9, 3.0)), LEXICON),
    "all fields alike": (changed(weights=(1.0,) * 6, b=(0.75,) * 6), LEXICON),
    "no joined or split words": (changed(joins=False), LEXICON),
    "no typos": (changed(typo_chars=0), LEXICON),
    "a match needs no share of the best": (changed(relative=0.0), LEXICON),
    "coverage .45": (changed(coverage=0.45), LEXICON),
    "coverage .60": (changed(coverage=0.6), LEXICON),
    "k1 .8": (changed(k1=0.8), LEXICON),
    "k1 2.0": (changed(k1=2.0), LEXICON),
}

Catalogs = dict[str, tuple[Snapshot, list[EvalQuery]]]


def load(folder: Path) -> Catalogs:
    found = {}
    for path in sorted((folder / "catalogs").glob("*.jsonl")):
        tools = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        lines = (folder / "queries" / path.name).read_text("utf-8").splitlines()
        queries = [msgspec.json.decode(line, type=EvalQuery) for line in lines]
        found[path.stem] = (snapshot_of(tools), queries)
    return found


def measure(catalogs: Catalogs, tuning: Tuning, lexicon: Lexicon) -> dict[str, float]:
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for name, (snapshot, queries) in catalogs.items():
        scope = Scope(snapshot.indexes["default"], snapshot.live, snapshot.name_order)
        searcher = DefaultSearcher(scope, tuning=tuning, lexicon=lexicon)

        def named(doc: int, snapshot: Snapshot = snapshot) -> str:
            tool = snapshot.tools[doc]
            assert tool is not None
            return f"{tool.server}/{tool.name}"

        def search(
            query: str, limit: int, searcher: DefaultSearcher = searcher, named: Any = named
        ) -> tuple[list[str], list[str]]:
            group = searcher.search(query, limit)
            return [named(hit.doc) for hit in group.matches], [named(hit.doc) for hit in group.near]

        kinds: dict[str, list[Judged]] = {}
        for judged in evaluate(queries, search, lambda: 0.0):
            kinds.setdefault(judged.query.kind, []).append(judged)
        cells.update({(name, kind): figures(of_kind) for kind, of_kind in kinds.items()})

    def mean(figure: str, keep: Any = lambda name, kind: True) -> float:
        return fmean(c[figure] for (n, k), c in cells.items() if c[figure] is not None and keep(n, k))

    return {
        "hit@1": mean("hit@1"),
        "hit@5": mean("hit@5"),
        "Real": mean("hit@5", lambda name, kind: name in REAL),
        "keyword": mean("hit@5", lambda name, kind: kind == "keyword"),
        "kw matches": mean("hit@5_matches", lambda name, kind: kind == "keyword"),
        "paraphrase": mean("hit@5", lambda name, kind: kind == "paraphrase"),
        "agent": mean("hit@5", lambda name, kind: kind == "agent"),
        "mrr@10": mean("mrr@10"),
        "false any": mean("false_any"),
        "false match": mean("false_match"),
    }


def main() -> None:
    catalogs = load(Path(sys.argv[1]))
    header: list[str] = []
    for variant, (tuning, lexicon) in VARIANTS.items():
        row = measure(catalogs, tuning, lexicon)
        if not header:
            header = ["variant", *row]
            print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
        print(f"| {variant} | " + " | ".join(f"{value:.3f}" for value in row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
