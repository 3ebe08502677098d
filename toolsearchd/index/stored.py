"""An index as bytes, and back: what a start loads instead of reading every tool again.

A loaded index makes a term's posting when it is first asked for; the arrays stay as they were written.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from pyroaring import BitMap

from toolsearchd.index.postings import Docs, Index, Posting
from toolsearchd.index.spellings import Spellings

_POSTINGS_A_STEP = 500
SECTIONS = 8  # of one index, in `dump_index`'s order


class _Head(msgspec.Struct, frozen=True):
    fields: tuple[str, ...]
    fingerprint: str
    frequencies_type: str
    sketch_bytes: int
    exact: dict[str, Docs]
    bare: dict[str, Docs]
    live: bytes  # uint32 doc ids


class StoredPostings(Mapping[str, Posting]):
    """Term → posting over the arrays of a file. Immutable."""

    def __init__(self, terms: Sequence[str], types: bytes, ends: bytes, ids: bytes, rows: bytes) -> None:
        """`ends`: two uint64 columns, where each term's `ids` (in doc ids) and `rows` (in bytes) end."""
        self._places = dict(zip(terms, range(len(terms)), strict=True))
        self._types = types.decode("ascii")
        table = np.frombuffer(ends, np.uint64).reshape(-1, 2)
        if not len(terms) == len(types) == len(table) or len(self._places) != len(terms):
            raise ValueError("its tables of terms differ in length")
        if len(terms) and (int(table[-1, 0]) * 4 != len(ids) or int(table[-1, 1]) != len(rows)):
            raise ValueError("its postings end elsewhere than its table says")
        self._id_ends, self._row_ends = [0, *table[:, 0].tolist()], [0, *table[:, 1].tolist()]
        self._ids, self._rows = ids, rows
        self._made: dict[str, Posting] = {}

    def __getitem__(self, term: str) -> Posting:
        found = self._made.get(term)
        if found is None:
            at = self._places[term]
            docs = array("I")
            docs.frombytes(self._ids[4 * self._id_ends[at] : 4 * self._id_ends[at + 1]])
            rows = self._rows[self._row_ends[at] : self._row_ends[at + 1]]
            found = self._made[term] = Posting(BitMap(docs), rows, self._types[at])
        return found

    def __contains__(self, term: object) -> bool:
        return term in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def dump_index(index: Index) -> Iterator[bytes | None]:
    """`SECTIONS` pieces, each made when it is asked for; None between them: others may run."""
    yield msgspec.msgpack.encode(
        _Head(
            index.fields,
            index.fingerprint,
            index.frequencies_type,
            index.sketches.shape[1],
            dict(index.exact),
            dict(index.bare),
            index.live.to_array().tobytes(),
        )
    )
    yield index.lengths.tobytes()
    yield index.sketches.tobytes()
    yield "\n".join(index.postings).encode("utf-8", "surrogatepass")
    types, ends, ids, rows = bytearray(), array("Q"), array("I"), bytearray()
    for posting in index.postings.values():
        types += posting.type.encode("ascii")
        ids.extend(posting.docs.to_array())
        rows += posting.rows
        ends.append(len(ids))
        ends.append(len(rows))
        if len(types) % _POSTINGS_A_STEP == 0:
            yield None
    yield bytes(types)
    yield ends.tobytes()
    yield ids.tobytes()
    yield bytes(rows)


def load_index(sections: Sequence[bytes]) -> Index:
    """Raises ValueError for what `dump_index` can't have written."""
    packed, lengths, sketches, terms, types, ends, ids, rows = sections
    head: Any = msgspec.msgpack.decode(packed, type=_Head)
    words = terms.decode("utf-8", "surrogatepass").split("\n") if terms else []
    live = array("I")
    live.frombytes(head.live)
    return Index(
        fields=head.fields,
        fingerprint=head.fingerprint,
        frequencies_type=head.frequencies_type,
        postings=StoredPostings(words, types, ends, ids, rows),
        lengths=np.frombuffer(lengths, np.uint32).reshape(-1, len(head.fields)),
        live=BitMap(live),
        exact=head.exact,
        bare=head.bare,
        spellings=Spellings(words),
        sketches=np.frombuffer(sketches, np.uint8).reshape(-1, head.sketch_bytes)
        if head.sketch_bytes
        else np.zeros((len(lengths) // (4 * len(head.fields)), 0), np.uint8),
    )
