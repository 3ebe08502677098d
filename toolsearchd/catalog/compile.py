"""The next snapshot from the previous one and the newest sources, in steps of well under 2 ms."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from pyroaring import BitMap

from toolsearchd.catalog.meaning import folds_of
from toolsearchd.catalog.model import Definition, Source, Tool
from toolsearchd.catalog.naming import mcp_name, public_name
from toolsearchd.catalog.snapshot import Snapshot, document_digest
from toolsearchd.globs import matches_glob
from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.builder import Compile, compacted, empty_index
from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.postings import Index, bitmap

MemoKey = tuple[str, str]  # (analyzer name, document digest)

_PARAMETER_CHARS = 200  # a property's name: longer ones are no words
_NESTED_LEVELS = 3
_SORTED_A_STEP = 500
_DEAD_MIN = 1_000  # fewer dead doc ids than this are not worth a renumbering
_REMEMBERED = 1_000  # a compile of more documents keeps no analyses: the postings hold what they said
_NESTED_MAX = 200  # properties below the top level that are indexed


class SnapshotCompile:
    """Drive `prepare()` to its end, see `missing`, `give` what was analysed elsewhere, `step()` to the end.

    What was not given is analysed here, one document a step. Afterwards `snapshot` is the new one, or the
    previous one itself where nothing changed.
    """

    def __init__(
        self,
        previous: Snapshot,
        sources: Sequence[Source],
        *,
        analyzers: Mapping[str, Analyzer],
        analysed_bytes: int | None,
        memo: Mapping[MemoKey, Analysis] | None = None,
    ) -> None:
        """`analysed_bytes`: `Limits.analysed_bytes`; None: descriptions are analysed whole."""
        self.snapshot = previous
        self._previous = previous
        self._sources = tuple(sources)
        self._analyzers = analyzers
        self._analysed_bytes = analysed_bytes
        self._memo: dict[MemoKey, Analysis] = {}
        self._known = memo or {}
        self.memo: dict[MemoKey, Analysis] = {}  # what a small change used: it may flip back
        self.failed: list[tuple[str, str, str]] = []  # server, tool, error: callable, but no search finds it
        self.missing: list[tuple[str, str, IndexDocument]] = []
        self._new: list[tuple[int, str, Source, Definition]] = []  # doc id, digest, where it comes from
        self._gone = BitMap()
        self._tools: list[Tool | None] = []
        self._digests: list[str] = []
        self._folds = array("q")  # two a doc id
        self._by_public: dict[str, int] = {}
        self._docs_of: dict[str, BitMap] = {}
        self._catalog_order: list[int] = []
        self._prepared = False
        self._steps = self._run()

    def prepare(self) -> Iterator[None]:
        """Small steps that find out what changed. Afterwards `missing` is filled."""
        previous = self._previous
        self._tools, self._digests = list(previous.tools), list(previous.digests)
        self._folds.frombytes(previous.folds.tobytes())
        yield
        self._by_public = dict(previous.by_public)
        yield
        earlier = {source.name: source for source in previous.sources}
        names = {source.name for source in self._sources}
        for gone in earlier.keys() - names:
            self._gone |= previous.docs_of[gone]
        for source in self._sources:
            before = earlier.get(source.name)
            if before is not None and _same_documents(before, source):
                self._keep(source)
                yield
            else:
                yield from self._differ(source)
        for doc in self._gone:
            tool = self._tools[doc]
            assert tool is not None
            if self._by_public.get(tool.public_name) == doc:
                del self._by_public[tool.public_name]
            self._tools[doc] = None
            self._digests[doc] = ""
        yield
        for name, analyzer in self._analyzers.items():
            fresh = not self._reusable(name, analyzer)
            wanted = self._all_documents() if fresh else iter(self._new)
            for _, digest, source, definition in wanted:
                if (name, digest) in self._known:
                    self._memo[name, digest] = self._known[name, digest]
                else:
                    document = document_of(source, definition, self._analysed_bytes)
                    self.missing.append((name, digest, document))
                yield
        self._prepared = True

    def give(self, analyses: Mapping[MemoKey, Analysis]) -> None:
        """Analyses of (some of) what is missing."""
        self._memo.update(analyses)

    def step(self) -> bool:
        """Does a little. True while more remains."""
        return next(self._steps, None) is not None

    def _run(self) -> Iterator[bool]:
        if not self._prepared:
            for _ in self.prepare():
                yield True
        indexes: dict[str, Index] = {}
        for name, analyzer in self._analyzers.items():
            fresh = not self._reusable(name, analyzer)
            work = Compile(
                empty_index(analyzer) if fresh else self._previous.indexes[name],
                remove=() if fresh else self._gone,
                add=self._analyses(analyzer, self._all_documents() if fresh else iter(self._new)),
            )
            yield True
            while work.step():
                yield True
            indexes[name] = work.index
        previous = self._previous
        unchanged = (
            not self._new
            and not self._gone
            and previous.sources == self._sources
            and previous.indexes.keys() == indexes.keys()
            and all(self._reusable(name, analyzer) for name, analyzer in self._analyzers.items())
        )
        yield True
        if unchanged:
            return
        name_order = yield from self._name_order()
        dead = len(self._tools) - len(self._catalog_order)
        if dead > max(_DEAD_MIN, len(self._catalog_order)):
            name_order, indexes = yield from self._renumber(name_order, indexes)
        self.snapshot = Snapshot(
            generation=previous.generation + 1,
            sources=self._sources,
            tools=self._tools,
            digests=self._digests,
            by_public=self._by_public,
            docs_of=self._docs_of,
            catalog_order=np.asarray(self._catalog_order, dtype=np.int32),
            name_order=name_order,
            folds=np.frombuffer(self._folds, np.int64).reshape(-1, 2),
            indexes=indexes,
            analyzers=dict(self._analyzers),
        )

    def _reusable(self, name: str, analyzer: Analyzer) -> bool:
        old = self._previous.indexes.get(name)
        return old is not None and old.fingerprint == analyzer.fingerprint

    def _keep(self, source: Source) -> None:
        """A source whose tools are the ones it had."""
        docs = self._previous.docs_of[source.name]
        self._docs_of[source.name] = docs
        ids = np.frombuffer(docs.to_array(), np.uint32)
        self._catalog_order.extend(ids[np.argsort(self._previous.order[ids], kind="stable")].tolist())

    def _differ(self, source: Source) -> Iterator[None]:
        """A new or changed source: which of its tools are as they were, which are new, which are gone."""
        before = self._previous.docs_of.get(source.name, BitMap())
        by_name = {}
        for doc in before:
            tool = self._tools[doc]
            assert tool is not None
            by_name[tool.name] = doc
        yield
        docs, seen = BitMap(), set()
        for definition in source.definitions:
            if definition.name in seen:  # a server that lists a name twice means the first
                continue
            seen.add(definition.name)
            public = public_name_of(source, definition.name)
            digest = document_digest(source, definition.digest, aliases_for(source, definition.name))
            doc = by_name.get(definition.name, -1)
            if doc < 0 or self._digests[doc] != digest or not self._is_as_it_was(doc, definition):
                holder = self._by_public.get(public)
                if holder is not None and holder != doc and holder not in self._gone:
                    continue  # two pairs whose digests agree as well: the first keeps the name
                doc = len(self._tools)
                tool = Tool(definition=definition, server=source.name, public_name=public, kind=source.kind)
                self._tools.append(tool)
                self._folds.extend(folds_of(tool))
                self._digests.append(digest)
                self._by_public[public] = doc
                self._new.append((doc, digest, source, definition))
            docs.add(doc)
            self._catalog_order.append(doc)
            yield
        self._gone |= before - docs
        self._docs_of[source.name] = docs

    def _is_as_it_was(self, doc: int, definition: Definition) -> bool:
        tool = self._tools[doc]
        return tool is not None and tool.definition.identity == definition.identity

    def _all_documents(self) -> Iterator[tuple[int, str, Source, Definition]]:
        by_name = {source.name: source for source in self._sources}
        for doc, tool in enumerate(self._tools):
            if tool is not None:
                yield doc, self._digests[doc], by_name[tool.server], tool.definition

    def _analyses(
        self, analyzer: Analyzer, documents: Iterator[tuple[int, str, Source, Definition]]
    ) -> Iterator[tuple[int, Analysis]]:
        """Given analyses are let go as they are used; what was not given is analysed here."""
        for doc, digest, source, definition in documents:
            key = (analyzer.name, digest)
            analysis = self._memo.pop(key, None)
            if analysis is None:
                try:
                    analysis = analyzer.analyse(document_of(source, definition, self._analysed_bytes))
                except Exception as error:  # noqa: BLE001 - one poisoned tool must not keep all others out
                    self.failed.append((source.name, definition.name, repr(error)))
                    continue
            if len(self._new) <= _REMEMBERED:
                self.memo[key] = analysis
            yield doc, analysis

    def _name_order(self) -> Generator[bool, None, Any]:
        """Live doc ids by public name: the previous order without what is gone, the new ones put in place."""
        old = self._previous.name_order
        kept = old[~np.isin(old, np.frombuffer(self._gone.to_array(), np.uint32))] if self._gone else old
        new = [doc for doc, _, _, _ in self._new]
        ordered: list[int] = kept.tolist()
        if len(new) > _SORTED_A_STEP:
            runs = [ordered] if ordered else []
            for start in range(0, len(new), _SORTED_A_STEP):
                runs.append(sorted(new[start : start + _SORTED_A_STEP], key=self._public_of))
                yield True
            ordered = []
            for doc in heapq.merge(*runs, key=self._public_of):
                ordered.append(doc)
                if len(ordered) % _SORTED_A_STEP == 0:
                    yield True
            return np.asarray(ordered, dtype=np.int32)
        for doc in new:
            ordered.insert(bisect_left(ordered, self._public_of(doc), key=self._public_of), doc)
        return np.asarray(ordered, dtype=np.int32)

    def _renumber(
        self, name_order: Any, indexes: dict[str, Index]
    ) -> Generator[bool, None, tuple[Any, dict[str, Index]]]:
        """Gives the live documents new ids without holes: more of the old ones are dead than alive."""
        alive = np.fromiter((tool is not None for tool in self._tools), dtype=bool, count=len(self._tools))
        renumbered = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
        yield True
        for name, index in indexes.items():
            indexes[name] = yield from compacted(index, renumbered)
        self._folds = array("q", np.frombuffer(self._folds, np.int64).reshape(-1, 2)[alive].tobytes())
        self._tools = [tool for tool in self._tools if tool is not None]
        self._digests = [digest for digest in self._digests if digest]
        yield True
        self._by_public = {name: int(renumbered[doc]) for name, doc in self._by_public.items()}
        yield True
        for source, docs in self._docs_of.items():
            self._docs_of[source] = bitmap(renumbered[np.frombuffer(docs.to_array(), np.uint32)])
            yield True
        self._catalog_order = renumbered[self._catalog_order].tolist()
        return renumbered[name_order], indexes

    def _public_of(self, doc: int) -> str:
        tool = self._tools[doc]
        assert tool is not None
        return tool.public_name


def compile_snapshot(
    previous: Snapshot,
    sources: Sequence[Source],
    analyzers: Mapping[str, Analyzer],
    analysed_bytes: int | None = None,
) -> Snapshot:
    """The next snapshot, all at once."""
    work = SnapshotCompile(previous, sources, analyzers=analyzers, analysed_bytes=analysed_bytes)
    while work.step():
        pass
    return work.snapshot


def document_of(source: Source, definition: Definition, analysed_bytes: int | None) -> IndexDocument:
    """What the index is told about a tool; `analysed_bytes` of each description, None: all."""
    top, nested = _properties(definition.input_schema, analysed_bytes)
    exposed = definition.name if source.kind == "plugin" else mcp_name(source.name, definition.name)
    return IndexDocument(
        key=public_name_of(source, definition.name),
        name=definition.name,
        server=source.name,
        exposed=exposed,
        title=definition.title[:1000],
        description=definition.description[:analysed_bytes],
        parameters=top,
        nested=nested,
        aliases=aliases_for(source, definition.name),
        instructions=source.instructions,
        kind=source.kind,
    )


def public_name_of(source: Source, tool: str) -> str:
    """An agent knows its own tools by their own names; all others have the public name of the pair."""
    return tool if source.kind == "plugin" else public_name(source.name, tool)


def aliases_for(source: Source, tool: str) -> tuple[str, ...]:
    """The user's extra words for this tool: those of every glob that matches it."""
    if not source.aliases:
        return ()
    return tuple(word for glob, words in source.aliases if matches_glob(tool, glob) for word in words)


def _same_documents(before: Source, now: Source) -> bool:
    return (
        (before.definitions is now.definitions or before.definitions == now.definitions)
        and before.aliases == now.aliases
        and before.kind == now.kind
        and before.instructions == now.instructions
    )


def _properties(
    schema: bytes, analysed_bytes: int | None
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """(name, description) of the top-level properties, and of some below them."""

    def cut(found: Iterable[tuple[str, str, Any]]) -> tuple[tuple[str, str], ...]:
        return tuple((name, words[:analysed_bytes]) for name, words, _ in found)

    try:
        decoded = msgspec.json.decode(schema)
    except (msgspec.MsgspecError, RecursionError):
        return (), ()
    top = list(_of_object(decoded))
    nested: list[tuple[str, str, Any]] = []
    level = [value for _, _, value in top]
    for _ in range(_NESTED_LEVELS):
        below = [found for value in level for found in _below(value)]
        nested += below
        level = [value for _, _, value in below]
        if len(nested) >= _NESTED_MAX:
            break
    return cut(top), cut(nested[:_NESTED_MAX])


def _of_object(schema: Any) -> Iterator[tuple[str, str, Any]]:
    """(name, description, schema) of an object schema's properties, whatever nonsense it may be."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return
    for name, value in properties.items():
        words = value.get("description") if isinstance(value, dict) else None
        yield name[:_PARAMETER_CHARS], words if isinstance(words, str) else "", value


def _below(schema: Any) -> Iterator[tuple[str, str, Any]]:
    yield from _of_object(schema)
    items = schema.get("items") if isinstance(schema, dict) else None
    yield from _of_object(items)
