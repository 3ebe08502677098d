"""A snapshot as sections of bytes, and back: the last catalog, from which a start answers at once.

Tools agents brought along are theirs alone and never written. Whether a section came back whole is for its
keeper to check; what does not fit together is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from pyroaring import BitMap

from toolsearchd.catalog.meaning import Folds, folds_of
from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.snapshot import Ids, Snapshot
from toolsearchd.index.stored import SECTIONS, dump_index, load_index

VERSION = 3  # raise when anything below is laid out otherwise


class _Head(msgspec.Struct, frozen=True, array_like=True):
    version: int
    generation: int
    sources: int
    indexes: tuple[str, ...]
    analysed_bytes: int  # of descriptions stand in the indexes


class _Docs(msgspec.Struct, frozen=True):
    """By doc id; arrays of int32 as bytes."""

    source: bytes  # -1: a tool that is gone
    place: bytes  # among the source's definitions
    digests: str  # a line each
    public_names: str
    catalog_order: bytes
    name_order: bytes


def dump_snapshot(snapshot: Snapshot, analysed_bytes: int) -> Iterator[bytes | None]:
    """Its sections: the head, one per source, the documents, the indexes. None between: others may run."""
    head = _Head(VERSION, snapshot.generation, len(snapshot.sources), tuple(snapshot.indexes), analysed_bytes)
    yield msgspec.msgpack.encode(head)
    for source in snapshot.sources:
        yield msgspec.msgpack.encode(source)
    source_of = np.full(len(snapshot.tools), -1, np.int32)
    place_of = np.zeros(len(snapshot.tools), np.int32)
    names = [""] * len(snapshot.tools)
    for number, source in enumerate(snapshot.sources):
        places = {definition.name: at for at, definition in reversed([*enumerate(source.definitions)])}
        for doc in snapshot.docs_of.get(source.name, ()):
            tool = snapshot.tools[doc]
            assert tool is not None
            source_of[doc], place_of[doc] = number, places[tool.name]
            names[doc] = tool.public_name
        yield None
    yield msgspec.msgpack.encode(
        _Docs(
            source_of.tobytes(),
            place_of.tobytes(),
            "\n".join(snapshot.digests),
            "\n".join(names),
            snapshot.catalog_order.astype(np.int32).tobytes(),
            snapshot.name_order.astype(np.int32).tobytes(),
        )
    )
    for index in snapshot.indexes.values():
        yield from dump_index(index)


def load_snapshot(sections: Iterator[bytes], analysed_bytes: int) -> Snapshot:
    """The snapshot that was dumped, its analyzers not named yet; without its indexes where more or less of
    descriptions stands in them than `analysed_bytes`. Raises ValueError where it is none."""
    try:
        return _load(sections, analysed_bytes)
    except (msgspec.MsgspecError, RecursionError, StopIteration, LookupError, UnicodeError) as error:
        raise ValueError(f"it does not fit together: {error!r}") from error


def _load(sections: Iterator[bytes], analysed_bytes: int) -> Snapshot:
    # The version first: another layout of the rest must not be guessed at.
    packed = next(sections)
    version = msgspec.msgpack.decode(packed)[0] if packed[:1] == b"\x95" else None
    if version != VERSION:
        raise ValueError(f"it is of version {version!r}, this daemon reads {VERSION}")
    head = msgspec.msgpack.decode(packed, type=_Head)
    source_decoder = msgspec.msgpack.Decoder(Source)
    sources = tuple([source_decoder.decode(next(sections)) for _ in range(head.sources)])
    docs = msgspec.msgpack.decode(next(sections), type=_Docs)
    source_of = np.frombuffer(docs.source, np.int32)
    names = docs.public_names.split("\n") if len(source_of) else []
    digests = docs.digests.split("\n") if len(source_of) else []
    tools = _tools(sources, source_of, np.frombuffer(docs.place, np.int32), names)
    indexes = {}
    for name in head.indexes if head.analysed_bytes == analysed_bytes else ():
        indexes[name] = load_index([next(sections) for _ in range(SECTIONS)])
    if not len(tools) == len(names) == len(digests):
        raise ValueError("its tables of tools differ in length")
    return Snapshot(
        generation=head.generation,
        sources=sources,
        tools=tools,
        digests=digests,
        by_public={name: doc for doc, name in enumerate(names) if name},
        docs_of={
            source.name: BitMap(np.flatnonzero(source_of == number).tolist())
            for number, source in enumerate(sources)
        },
        catalog_order=np.frombuffer(docs.catalog_order, np.int32),
        name_order=np.frombuffer(docs.name_order, np.int32),
        folds=_folds(tools),
        indexes=indexes,
        analyzers={},
    )


def _folds(tools: Sequence[Tool | None]) -> Folds:
    """Made anew: hashes of text are another process's."""
    pairs = [(0, 0) if tool is None else folds_of(tool) for tool in tools]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _tools(
    sources: Sequence[Source], source_of: Ids, place_of: Ids, names: Sequence[str]
) -> list[Tool | None]:
    tools: list[Tool | None] = []
    for number, place, name in zip(source_of.tolist(), place_of.tolist(), names, strict=True):
        if number < 0:
            tools.append(None)
            continue
        source = sources[number]
        tools.append(
            Tool(
                definition=source.definitions[place],
                server=source.name,
                public_name=name,
                kind=source.kind,
            )
        )
    return tools
