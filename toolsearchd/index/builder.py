"""Makes an index from analyses, in steps small enough for a loop that has other work.

A change compiles into a new index that shares all untouched postings with the previous one: documents are
added under new, larger doc ids, removed ones only leave the live set.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.postings import Docs, Index, Posting, as_tuple, bitmap, narrowed
from toolsearchd.index.spellings import Spellings

_POSTINGS_A_STEP = 2_000  # about 0.5 ms
_POSTINGS_READ_A_STEP = 200
_NAMES_A_STEP = 500

T = TypeVar("T", bound=np.generic)


class Compile:
    """One change: `remove` these doc ids, `add` these analyses under these new ids (ascending, never reused).

    `step()` does a little and says whether more remains; then `index` is the result. `add` is read once, an
    analysis at a time, so that it need not all be in memory.
    """

    def __init__(
        self, previous: Index, *, remove: Iterable[int] = (), add: Iterable[tuple[int, Analysis]] = ()
    ) -> None:
        self.index = previous
        self._remove = BitMap(remove)
        self._add = add
        self._steps = self._run(previous)

    def step(self) -> bool:
        """True while more remains to be done."""
        return next(self._steps, None) is not None

    def _run(self, previous: Index) -> Iterator[bool]:
        typecode = previous.frequencies_type
        collected: dict[str, tuple[array[int], bytearray]] = {}
        docs: array[int] = array("I")
        lengths: array[int] = array("I")
        sketches = bytearray()
        names: list[tuple[str, str]] = []
        for doc, analysis in self._add:
            for term, row in analysis.rows(typecode):
                entry = collected.get(term)
                if entry is None:
                    entry = collected[term] = (array("I"), bytearray())
                entry[0].append(doc)
                entry[1].extend(row)
            docs.append(doc)
            lengths.extend(analysis.lengths)
            sketches += analysis.sketch
            # Most names are in lower case already: one string object serves every table.
            names.append((sys.intern(analysis.key.lower()), sys.intern(analysis.bare.lower())))
            yield True
        if not docs and not self._remove:
            return
        postings: dict[str, Posting] = {}
        work = 0
        if isinstance(previous.postings, dict):
            postings = previous.postings.copy() if docs else previous.postings
        else:  # read from a file: each is made now
            for term, posting in previous.postings.items():
                postings[term] = posting
                work += 1
                if work % _POSTINGS_READ_A_STEP == 0:
                    yield True
        yield True
        work = 0
        while collected:
            term, (ids, rows) = collected.popitem()  # freed as it is used, not all at once
            before = postings.get(term)
            if before is None:
                previous.spellings.add(term)
            postings[term] = _joined(before, Posting(BitMap(ids), *narrowed(rows, typecode)))
            work += 64 + len(ids)
            if work > _POSTINGS_A_STEP:
                work = 0
                yield True
        live = previous.live - self._remove
        live.update(docs)
        yield True
        exact = dict(previous.exact)
        yield True
        yield from _name(exact, live, zip((key for key, _ in names), docs, strict=True))
        bare = dict(previous.bare)
        yield True
        yield from _name(bare, live, zip((tool for _, tool in names), docs, strict=True))
        self.index = Index(
            fields=previous.fields,
            fingerprint=previous.fingerprint,
            frequencies_type=typecode,
            postings=postings,
            lengths=_extended(previous.lengths, docs, lengths),
            live=live,
            exact=exact,
            bare=bare,
            spellings=previous.spellings,
            sketches=_extended(previous.sketches, docs, sketches),
        )


def compacted(index: Index, renumbered: npt.NDArray[np.int32]) -> Generator[bool, None, Index]:
    """The same index without its dead documents, in small steps.

    `renumbered`: old doc id → new one, ascending as the old ones are; -1 for a dead document.
    """
    width = len(index.fields)
    postings: dict[str, Posting] = {}
    spellings = Spellings()
    work = 0
    for term, posting in index.postings.items():
        docs = renumbered[posting.ids()]
        kept = docs >= 0
        if kept.any():
            rows = posting.frequencies(width)[kept].tobytes()
            postings[term] = Posting(bitmap(docs[kept]), rows, posting.type)
            spellings.add(term)
        work += 64 + len(docs)
        if work > _POSTINGS_A_STEP:
            work = 0
            yield True
    tables: list[dict[str, Docs]] = []
    for names in (index.exact, index.bare):
        table: dict[str, Docs] = {}
        for at, (name, several) in enumerate(names.items()):
            docs_of_name = tuple(new for doc in as_tuple(several) if (new := int(renumbered[doc])) >= 0)
            if docs_of_name:
                table[name] = docs_of_name[0] if len(docs_of_name) == 1 else docs_of_name
            if at % _NAMES_A_STEP == 0:
                yield True
        tables.append(table)
    return Index(
        fields=index.fields,
        fingerprint=index.fingerprint,
        frequencies_type=index.frequencies_type,
        postings=postings,
        lengths=index.lengths[np.flatnonzero(renumbered[: len(index.lengths)] >= 0)],
        live=bitmap(renumbered[np.frombuffer(index.live.to_array(), np.uint32)]),
        exact=tables[0],
        bare=tables[1],
        spellings=spellings,
        sketches=index.sketches[np.flatnonzero(renumbered[: len(index.sketches)] >= 0)],
    )


def empty_index(analyzer: Analyzer) -> Index:
    """An index of this analyzer with nothing in it."""
    return Index.empty(analyzer.fields, analyzer.fingerprint, analyzer.frequencies_type)


def compile_index(analyzer: Analyzer, documents: Iterable[IndexDocument]) -> Index:
    """All at once, doc ids from 0 in the order given. For tests, evaluation and small sets."""
    work = Compile(
        empty_index(analyzer),
        add=((doc, analyzer.analyse(document)) for doc, document in enumerate(documents)),
    )
    while work.step():
        pass
    return work.index


def analyse_encoded(analyzer: Analyzer, documents: Sequence[bytes | msgspec.Raw]) -> list[Analysis]:
    """Analyses of encoded documents, in their order: what the worker process does for a large change."""
    decoder = msgspec.msgpack.Decoder(IndexDocument)
    return [analyzer.analyse(decoder.decode(document)) for document in documents]


def _joined(old: Posting | None, new: Posting) -> Posting:
    """Both postings in one; the new doc ids are the larger ones."""
    if old is None:
        return new
    if old.type == new.type:
        return Posting(old.docs | new.docs, old.rows + new.rows, old.type)
    wide = max(old.type, new.type, key="BHI".index)
    rows = (np.frombuffer(part.rows, np.dtype(part.type)).astype(np.dtype(wide)) for part in (old, new))
    return Posting(old.docs | new.docs, b"".join(part.tobytes() for part in rows), wide)


def _extended(rows: npt.NDArray[T], docs: array[int], added: array[int] | bytearray) -> npt.NDArray[T]:
    """`rows` by doc id, with those of the new doc ids; all of one length."""
    if not docs:
        return rows
    new = np.frombuffer(added, rows.dtype).reshape(len(docs), -1)
    longer = np.zeros((max(len(rows), docs[-1] + 1), new.shape[1]), rows.dtype)
    if len(rows):
        longer[: len(rows)] = rows
    longer[np.frombuffer(docs, np.uint32)] = new
    return longer


def _name(names: dict[str, Docs], live: BitMap, added: Iterable[tuple[str, int]]) -> Iterator[bool]:
    """Adds doc ids to names. Dead ids stay until a name is next written; no mask holds them."""
    for at, (name, doc) in enumerate(added):
        before = names.get(name)
        kept = () if before is None else tuple(old for old in as_tuple(before) if old in live)
        names[name] = (*kept, doc) if kept else doc
        if at % _NAMES_A_STEP == 0:
            yield True
