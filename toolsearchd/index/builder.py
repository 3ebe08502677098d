"""Makes an index from analyses, in steps small enough for a loop that has other work.

A change compiles into a new index that shares all untouched postings with the previous one: documents are
added under new, larger doc ids, removed ones only leave the live set.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.index.analyzer import Analyzer, make_analyzer
from toolsearchd.index.document import Analysis, Document
from toolsearchd.index.postings import Index, Posting, narrow

_TERMS_A_STEP = 16


class Compile:
    """One change: `remove` these doc ids, `add` these analyses under these new ids (ascending, never reused).

    `step()` does a little and says whether more remains; then `index` is the result.
    """

    def __init__(
        self, previous: Index, *, remove: Iterable[int] = (), add: Sequence[tuple[int, Analysis]] = ()
    ) -> None:
        self.index = previous
        self._remove = BitMap(remove)
        self._add = add
        self._steps = self._run(previous)

    def step(self) -> bool:
        """True while more remains to be done."""
        return next(self._steps, None) is not None

    def _run(self, previous: Index) -> Iterator[bool]:
        width = len(previous.fields)
        collected: dict[str, tuple[array[int], bytearray]] = {}
        for doc, analysis in self._add:
            rows, size = analysis.frequencies, 4 * width
            for at, term in enumerate(analysis.terms):
                entry = collected.get(term)
                if entry is None:
                    entry = collected[term] = (array("I"), bytearray())
                entry[0].append(doc)
                entry[1].extend(rows[at * size : (at + 1) * size])
            yield True
        postings = dict(previous.postings)
        yield True
        for at, (term, (docs, rows_of_term)) in enumerate(collected.items()):
            counts = narrow(np.frombuffer(rows_of_term, "<u4").reshape(-1, width))
            postings[term] = _joined(postings.get(term), BitMap(docs), counts)
            if at % _TERMS_A_STEP == 0:
                yield True
        collected.clear()
        lengths = _extended(previous.lengths, self._add, width)
        yield True
        live = previous.live - self._remove
        live.update(doc for doc, _ in self._add)
        exact = _renamed(previous.exact, live, ((a.key.lower(), doc) for doc, a in self._add))
        yield True
        bare = _renamed(previous.bare, live, ((a.bare.lower(), doc) for doc, a in self._add))
        yield True
        self.index = Index(
            fields=previous.fields,
            fingerprint=previous.fingerprint,
            postings=postings,
            lengths=lengths,
            live=live,
            exact=exact,
            bare=bare,
        )


def compile_index(analyzer: Analyzer, documents: Iterable[Document]) -> Index:
    """All at once, doc ids from 0 in the order given. For tests, evaluation and small sets."""
    work = Compile(
        Index.empty(analyzer.fields, analyzer.fingerprint),
        add=[(doc, analyzer.analyse(document)) for doc, document in enumerate(documents)],
    )
    while work.step():
        pass
    return work.index


def analyse_encoded(
    analyzer: str, options: Mapping[str, Any], documents: Sequence[bytes | msgspec.Raw]
) -> list[Analysis]:
    """Analyses of encoded documents, in their order: what the worker process does for a large change."""
    maker = make_analyzer(analyzer, options)
    decoder = msgspec.msgpack.Decoder(Document)
    return [maker.analyse(decoder.decode(document)) for document in documents]


def _joined(old: Posting | None, docs: BitMap, counts: npt.NDArray[Any]) -> Posting:
    if old is None:
        return Posting(docs, counts)
    return Posting(old.docs | docs, np.concatenate((old.frequencies, counts)))


def _extended(
    lengths: npt.NDArray[np.uint32], add: Sequence[tuple[int, Analysis]], width: int
) -> npt.NDArray[np.uint32]:
    if not add:
        return lengths
    longer = np.zeros((max(len(lengths), add[-1][0] + 1), width), np.uint32)
    longer[: len(lengths)] = lengths
    longer[[doc for doc, _ in add]] = [analysis.lengths for _, analysis in add]
    return longer


def _renamed(
    names: Mapping[str, tuple[int, ...]], live: BitMap, added: Iterable[tuple[str, int]]
) -> dict[str, tuple[int, ...]]:
    """Names → doc ids, after the change. Dead ids stay until a name is next written; no mask holds them."""
    renamed = dict(names)
    for name, doc in added:
        renamed[name] = (*(old for old in renamed.get(name, ()) if old in live), doc)
    return renamed
