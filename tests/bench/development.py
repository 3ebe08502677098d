"""The development sets as the second stage sees them: each query's candidates, features, and which are right.

DIR holds `catalogs/NAME.jsonl`, `queries/NAME.jsonl` and, where there are more, `queries_more/*.jsonl`.
Figures are means over (data set, kind of query) cells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from tests.bench.evaluate_adapter import snapshot_of
from tests.bench.sentences import Sentences
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import RANKINGS
from toolsearchd.index.evaluate import EvalQuery
from toolsearchd.index.features import FEATURES
from toolsearchd.index.ranker import DefaultSearcher, default_analyzer

REAL = ("livemcp", "mcpmix", "cloudflare")
# Sets that share tools stand and fall together when one family is left out.
FAMILIES = {"livemcp": "mcp", "mcpmix": "mcp"}
MORE = ("languages", "value", "long negative")  # kinds of queries_more: told apart, in no mean

GRANTED = (2, 6, 20)  # servers
GRANTS = 12  # of each size
NO_WORDS = ("frobnicate", "quux")
MADE_UP = 10  # tools whose names are asked for under each grant
UNGRANTED = 40  # of so many queries without a right tool one is asked

Floats = npt.NDArray[np.float64]


class Catalog(msgspec.Struct, frozen=True):
    name: str
    snapshot: Snapshot
    queries: list[EvalQuery]
    sentences: Sentences | None = None

    @property
    def family(self) -> str:
        return FAMILIES.get(self.name, self.name)

    def searcher(self, mask: BitMap | None = None) -> DefaultSearcher:
        granted = self.snapshot.live if mask is None else mask
        store = self.sentences and self.sentences.store
        found = self.snapshot.searcher(RANKINGS["default"], granted, sentences=store)
        assert isinstance(found, DefaultSearcher)
        return found

    def named(self, doc: int) -> str:
        tool = self.snapshot.tools[doc]
        assert tool is not None
        return f"{tool.server}/{tool.name}"


class Example(msgspec.Struct):
    """One query's candidates."""

    set: str
    family: str
    query: EvalQuery
    features: Floats
    right: npt.NDArray[np.bool_]
    granted: int = 0  # servers of the grant it was asked under; 0: all
    by_sentences: bool = False  # with the sentence model's part
    gives_values: bool = False  # and so it is never left without an answer

    @property
    def cell(self) -> tuple[str, str]:
        return f"{self.set}/{self.granted}" if self.granted else self.set, self.query.kind


def load(
    folder: Path, *, tables: bool = True, only: Sequence[str] = (), sentences: Sentences | None = None
) -> list[Catalog]:
    """`sentences`: as the extra `semantic` finds."""
    more: dict[str, list[EvalQuery]] = {}
    for path in sorted((folder / "queries_more").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            query = msgspec.json.decode(line, type=EvalQuery)
            if query.kind == "negative":
                query = msgspec.structs.replace(query, kind="long negative")
            more.setdefault(json.loads(line)["catalog"], []).append(query)
    found = []
    for path in sorted((folder / "catalogs").glob("*.jsonl")):
        if only and path.stem not in only:
            continue
        tools = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        lines = (folder / "queries" / path.name).read_text("utf-8").splitlines()
        queries = [msgspec.json.decode(line, type=EvalQuery) for line in lines] + more.get(path.stem, [])
        catalog = Catalog(path.stem, snapshot_of(tools, tables=tables), queries, sentences)
        if sentences is not None:
            sentences.learn(catalog.snapshot)
        found.append(catalog)
    return found


def examples(catalog: Catalog) -> list[Example]:
    searcher = catalog.searcher()
    return [_example(catalog, searcher, query) for query in catalog.queries]


def under_grants(catalog: Catalog) -> list[Example]:
    """The same queries where only some servers are granted: a right tool may be among few, or missing.

    Where it is missing the kind is `ungranted`: an absent capability asked for in queries of all lengths.
    """
    servers = [source.name for source in catalog.snapshot.sources]
    found = []
    for size in GRANTED:
        if size * 3 > len(servers):
            continue
        for turn in range(GRANTS):
            random = np.random.default_rng([size, turn])
            kept = {servers[at] for at in random.choice(len(servers), size, replace=False)}
            mask = BitMap()
            for name in kept:
                mask |= catalog.snapshot.docs_of[name]
            searcher = catalog.searcher(mask)
            for at, query in enumerate(catalog.queries):
                if query.kind in MORE or not query.relevant:
                    continue
                right = tuple(name for name in query.relevant if name.partition("/")[0] in kept)
                if not right and at % UNGRANTED != turn:
                    continue
                kind = query.kind if right else "ungranted"
                asked = msgspec.structs.replace(query, relevant=right, kind=kind)
                found.append(_example(catalog, searcher, asked, size))
            for query in made_up(catalog, kept, random):
                found.append(_example(catalog, searcher, query, size))
            known = [one for one in found[-MADE_UP * 3 :] if one.query.relevant]
            found += [without_vectors(one) for one in known]
    return found


def made_up(catalog: Catalog, servers: set[str], random: np.random.Generator) -> list[EvalQuery]:
    """A tool's own name as the query, and one word of it: short, and there. All that bear it are right.

    The word beside two that are nowhere: none is.
    """
    analyzer = default_analyzer()
    words = {
        f"{source.name}/{definition.name}": analyzer.words(definition.name)
        for source in catalog.snapshot.sources
        if source.name in servers
        for definition in source.definitions
    }
    names = sorted(name for name, stems in words.items() if stems)
    found = []
    for at in random.choice(len(names), min(MADE_UP, len(names)), replace=False) if names else ():
        asked = words[names[at]]
        one = asked[int(random.integers(len(asked)))]
        alike = tuple(name for name in names if words[name] == asked)
        bearing = tuple(name for name in names if one in words[name])
        found.append(EvalQuery("", " ".join(asked), alike, "name"))
        found.append(EvalQuery("", one, bearing, "word"))
        found.append(EvalQuery("", f"{one} {' '.join(NO_WORDS)}", (), "no words"))
    return found


def without_vectors(one: Example) -> Example:
    """As if no word of the query had a vector: words of no English text."""
    features = one.features.copy()
    for name, value in (("cosine", 0.0), ("server", 0.0), ("wordless", 1.0)):
        features[:, FEATURES.index(name)] = value
    return Example(
        one.set, one.family, one.query, features, one.right, one.granted, one.by_sentences, one.gives_values
    )


def _example(catalog: Catalog, searcher: DefaultSearcher, query: EvalQuery, granted: int = 0) -> Example:
    assert searcher.second is not None
    plan = searcher.reader.read(query.query)
    if catalog.sentences is not None:
        catalog.sentences.ask(query.query)
    meant = searcher.second.meant(plan, query.query)
    found = searcher.second.candidates(plan, searcher.scores(plan), meant)
    names = [catalog.named(int(searcher.scope.docs[at])) for at in found.positions]
    right = np.array([tool in query.relevant for tool in names], bool)
    return Example(
        catalog.name,
        catalog.family,
        query,
        found.features.T,
        right,
        granted,
        meant is not None,
        bool(plan.values),
    )


def mean(
    rows: Iterable[tuple[tuple[str, str], float | None]],
    keep: Callable[[str, str], bool] = lambda s, k: k not in MORE,
) -> float:
    """Over the cells that are kept; `rows`: (set, kind) and a figure."""
    cells: dict[tuple[str, str], list[float]] = {}
    for cell, figure in rows:
        if figure is not None and keep(*cell):
            cells.setdefault(cell, []).append(figure)
    return fmean(map(fmean, cells.values())) if cells else float("nan")


def a_query(rows: Iterable[tuple[tuple[str, str], float | None]], kind: str) -> float:
    """The mean over all queries of a kind: those of `MORE` are few in some catalogs."""
    return fmean(figure for (_, of), figure in rows if of == kind and figure is not None)
