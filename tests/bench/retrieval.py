"""The second stage beside the ranking by words alone: quality, calibration, cost, each feature's worth.

    python -m tests.bench.retrieval --data DIR [--quick]

Where the extra `semantic` is installed, what it finds stands beside, and the sentence model alone. So do
peers, each in an environment of its own, with a dash where they have no gate. `--quick` leaves them out.

DIR as for `tests.bench.train`. The shipped model is what is judged; leave-one-family-out trains others.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

import msgspec
import numpy as np

from tests.bench import train
from tests.bench.development import MORE, REAL, Catalog, Example, a_query, examples, load, mean, under_grants
from tests.bench.retrieval_memory import memory
from tests.bench.retrieval_peers import FIGURES, SENTENCES_ALONE, peers
from tests.bench.sentences import Sentences
from toolsearchd.dialects.registry import make_analyzer
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.evaluate import evaluate
from toolsearchd.index.semantics import ADMISSION, shipped_model
from toolsearchd.index.sentence_model import lacking

BINS = 10


def by_words(catalogs: Sequence[Catalog]) -> dict[str, float]:
    """The figures of `tables: off`, as `train.figures` names them."""
    rows: dict[str, list[tuple[tuple[str, str], float | None]]] = {}
    for catalog in catalogs:
        searcher = catalog.searcher()
        assert searcher.second is None

        def search(query: str, limit: int, catalog: Catalog = catalog) -> tuple[list[str], list[str]]:
            group = searcher.search(query, limit)  # noqa: B023 - asked before the next catalog's
            return tuple([catalog.named(hit.doc) for hit in hits] for hits in (group.matches, group.near))  # type: ignore[return-value]

        for judged in evaluate(catalog.queries, search, lambda: 0.0):
            cell = (catalog.name, judged.query.kind)
            for figure, name in (
                ("hit@1", "hit@1"),
                ("hit@5", "hit@5"),
                ("in matches", "hit@5_matches"),
                ("empty", "empty"),
                ("false match", "false_match"),
                ("false any", "false_any"),
            ):
                rows.setdefault(figure, []).append((cell, judged.figures.get(name)))
    told = {name: mean(found) for name, found in rows.items()}
    told["hit@5 all"] = told["hit@5"]
    told["Real"] = mean(rows["hit@5"], lambda name, kind: name in REAL and kind not in MORE)
    for kind in ("agent", "paraphrase"):
        told[kind] = mean(rows["hit@5"], lambda name, of, kind=kind: of == kind)
    for key in ("languages: hit@5", "value: hit@5", "value: empty"):
        kind, _, figure = key.partition(": ")
        told[key] = a_query(rows[figure], kind)
    for figure in ("false match", "false any"):
        told[f"long negative: {figure}"] = a_query(rows[figure], "long negative")
    return told


def with_sentences(folder: Path, *, quick: bool) -> dict[str, dict[str, float]]:
    """The same two columns with the sentence model's part."""
    if missing := lacking():
        print(f"without the sentence model: {', '.join(missing)} not installed\n")
        return {}
    catalogs = load(folder, sentences=Sentences())
    found = [one for catalog in catalogs for one in examples(catalog)]
    shipped = dict.fromkeys({one.family for one in found}, shipped_model(sentences=True))
    columns = {"with the extra": train.figures(found, shipped)}
    if not quick:
        alone = train.figures(found, dict.fromkeys(shipped, SENTENCES_ALONE))
        columns["MiniLM alone"] = {name: alone[name] for name in FIGURES}
    if not quick:
        more = [one for catalog in catalogs for one in under_grants(catalog)]
        models = train.left_out([*found, *more], train.BY_SENTENCES)
        columns["with it, one family left out"] = train.figures(found, models)
    return columns


def calibration(found: Iterable[Example]) -> None:
    """How often a candidate of each `p` is a right one, of the first five of every query."""
    model = shipped_model()
    pairs: list[tuple[float, bool]] = []
    for one in found:
        _, order, p = train.admission(one, model)
        pairs += zip(p[:5].tolist(), one.right[order][:5].tolist(), strict=True)
    print("\n| p | candidates | mean p | right |\n|---|---|---|---|")
    for low in range(BINS):
        of_bin = [pair for pair in pairs if min(BINS - 1, int(pair[0] * BINS)) == low]
        if of_bin:
            p, right = fmean(p for p, _ in of_bin), fmean(right for _, right in of_bin)
            print(f"| {low / BINS:.1f} to {(low + 1) / BINS:.1f} | {len(of_bin)} | {p:.2f} | {right:.2f} |")
    print(f"\nBrier score {fmean((p - right) ** 2 for p, right in pairs):.4f} over {len(pairs)} candidates")


def cost(catalogs: Sequence[Catalog]) -> None:
    """Microseconds of a search's two stages, warm, and of a tool's analysis."""
    print("\n| catalog | tools | first stage p50 | second stage p50 | p99 |\n|---|---|---|---|---|")
    for catalog in catalogs:
        searcher = catalog.searcher()
        assert searcher.second is not None
        first, second = [], []
        for turn in (0, 1):
            for query in catalog.queries:
                began = time.perf_counter()
                plan = searcher.reader.read(query.query)
                scores = searcher.scores(plan)
                between = time.perf_counter()
                searcher.second.judge(plan, scores)
                if turn:
                    first.append((between - began) * 1e6)
                    second.append((time.perf_counter() - between) * 1e6)
        row = f"{median(first):.0f} | {median(second):.0f} | {np.percentile(second, 99):.0f}"
        print(f"| {catalog.name} | {len(catalog.snapshot)} | {row} |")
    documents = [
        IndexDocument(key=tool.public_name, name=tool.name, server=tool.server, exposed="", description=text)
        for tool in catalogs[0].snapshot.iter_tools()
        if (text := tool.definition.description or "")
    ][:2_000]
    for tables in (False, True):
        analyzer = make_analyzer("default", {"tables": tables})
        for document in documents:
            analyzer.analyse(document)
        began = time.process_time()
        for document in documents:
            analyzer.analyse(document)
        each = (time.process_time() - began) / len(documents) * 1e6
        print(f"\nanalysing a tool, tables {'on' if tables else 'off'}: {each:.0f} µs")


def ablations(found: Sequence[Example]) -> None:
    """The ranking with one feature less, trained anew, one family left out at a time."""
    print("\n| left out | hit@5, one family left out |\n|---|---|")
    whole = train.BY_WORDS.ranked_by
    for name in ("nothing", *whole):
        ranked_by = tuple(feature for feature in whole if feature != name)
        models = {}
        for family in sorted({one.family for one in found}):
            rest = [one for one in found if one.family != family and one.query.kind != "languages"]
            weights = dict(zip(ranked_by, train.fit_rank(rest, ranked_by).tolist(), strict=True))
            models[family] = msgspec.structs.replace(shipped_model(), rank=weights)
        print(f"| {name} | {train.figures(found, models)['hit@5 all']:.4f} |", flush=True)


def _share(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--quick", action="store_true", help="without what trains anew, the peers and the memory"
    )
    args = parser.parse_args()
    catalogs = load(args.data)
    found = [one for catalog in catalogs for one in examples(catalog)]
    columns = {
        "by words alone": by_words(load(args.data, tables=False)),
        "as shipped": train.figures(found, dict.fromkeys({one.family for one in found}, shipped_model())),
    }
    if not args.quick:
        more = [one for catalog in catalogs for one in under_grants(catalog)]
        columns["one family left out"] = train.figures(found, train.left_out([*found, *more]))
    columns |= with_sentences(args.data, quick=args.quick)
    for name, told in ({} if args.quick else peers(args.data)).items():
        if isinstance(told, str):
            print(f"without {name}: {told}\n")
        else:
            columns[name] = told
    print("| figure | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name in columns["as shipped"]:
        print(f"| {name} | " + " | ".join(_share(column.get(name)) for column in columns.values()) + " |")
    calibration(one for one in found if one.query.kind not in MORE)
    cost(catalogs)
    if not args.quick:
        memory()
        ablations(found)
    model = shipped_model()
    print("\n| feature | ranks by | admits by |\n|---|---|---|")
    for name in ADMISSION:
        weights = (f"{table[name]:.2f}" if name in table else "" for table in (model.rank, model.admit))
        print(f"| {name} | {' | '.join(weights)} |")


if __name__ == "__main__":
    main()
