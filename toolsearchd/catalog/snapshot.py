"""The catalog at one moment: sources, tools under public names, and their indexes. Immutable.

A compile makes the next snapshot from the previous one and the newest sources, in small steps: a tool whose
definition did not change keeps its doc id, its Tool and its place in the postings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.catalog.meaning import Folds, meant
from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.naming import near_names
from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.postings import Index, bitmap
from toolsearchd.index.ranking import Ranking
from toolsearchd.index.searcher import Searcher
from toolsearchd.index.sentences import SentenceStore

Ids = npt.NDArray[np.int32]


class Snapshot:
    """Read it once per request; nothing in it changes."""

    __slots__ = (
        "analyzers",
        "by_public",
        "catalog_order",
        "digests",
        "docs_of",
        "folds",
        "generation",
        "indexes",
        "live",
        "name_order",
        "order",
        "sources",
        "tools",
    )

    def __init__(
        self,
        *,
        generation: int,
        sources: tuple[Source, ...],
        tools: Sequence[Tool | None],
        digests: Sequence[str],
        by_public: Mapping[str, int],
        docs_of: Mapping[str, BitMap],
        catalog_order: Ids,
        name_order: Ids,
        folds: Folds,
        indexes: Mapping[str, Index],
        analyzers: Mapping[str, Analyzer],
    ) -> None:
        self.generation = generation
        self.sources = sources
        self.tools = tools  # by doc id; None where a tool is gone
        self.digests = digests  # by doc id: what its document was made from
        self.by_public = by_public
        self.docs_of = docs_of  # source name → doc ids
        self.catalog_order = catalog_order  # live doc ids, config order, then the server's own
        self.name_order = name_order  # live doc ids by public name
        self.folds = folds  # by doc id: hashes of the names in near form
        self.indexes = indexes  # by analyzer name
        self.analyzers = analyzers
        self.live = bitmap(catalog_order)
        self.order = np.full(len(tools), -1, dtype=np.int32)  # doc id → place in catalog order
        self.order[catalog_order] = np.arange(len(catalog_order), dtype=np.int32)

    @classmethod
    def empty(cls) -> Snapshot:
        nothing = np.zeros(0, np.int32)
        return cls(
            generation=0,
            sources=(),
            tools=(),
            digests=(),
            by_public={},
            docs_of={},
            catalog_order=nothing,
            name_order=nothing,
            folds=np.zeros((0, 2), np.int64),
            indexes={},
            analyzers={},
        )

    def read_by(self, analyzers: Mapping[str, Analyzer]) -> Snapshot:
        """The same catalog, its queries read by those of these analyzers that made its indexes."""
        fitting = {
            name: analyzer
            for name, analyzer in analyzers.items()
            if name in self.indexes and self.indexes[name].fingerprint == analyzer.fingerprint
        }
        return self._found_by(self.indexes, fitting)

    def branch(self, analyzers: Mapping[str, Analyzer]) -> Snapshot:
        """The same catalog, for a compile whose words are not to stay in what this one shares with the next.

        `analyzers`: equal to those that made its indexes.
        """
        return self._found_by({name: index.branch() for name, index in self.indexes.items()}, analyzers)

    def _found_by(self, indexes: Mapping[str, Index], analyzers: Mapping[str, Analyzer]) -> Snapshot:
        return Snapshot(
            generation=self.generation,
            sources=self.sources,
            tools=self.tools,
            digests=self.digests,
            by_public=self.by_public,
            docs_of=self.docs_of,
            catalog_order=self.catalog_order,
            name_order=self.name_order,
            folds=self.folds,
            indexes=indexes,
            analyzers=analyzers,
        )

    def __len__(self) -> int:
        """Number of tools."""
        return len(self.catalog_order)

    def source(self, name: str) -> Source | None:
        return next((source for source in self.sources if source.name == name), None)

    def iter_tools(self, mask: BitMap | None = None) -> Iterator[Tool]:
        """The tools (of the mask) in catalog order."""
        for doc in self.catalog_order.tolist():
            if mask is None or doc in mask:
                tool = self.tools[doc]
                assert tool is not None
                yield tool

    def doc_of(self, tool: Tool) -> int:
        return self.by_public[tool.public_name]

    def exact(self, name: str, mask: BitMap) -> int | None:
        """The doc id of this public name, if the mask holds it."""
        doc = self.by_public.get(name)
        return doc if doc is not None and doc in mask else None

    def meant(self, name: str, mask: BitMap) -> list[int]:
        """Doc ids of the mask's tools that `name` may mean, in any form a person or a model writes."""
        return meant(self, name, mask)

    def resolve(self, name: str, mask: BitMap) -> int | None:
        """The one tool of the mask that `name` means; None where none or several fit."""
        found = meant(self, name, mask)
        return found[0] if len(found) == 1 else None

    def near(self, name: str, mask: BitMap, n: int = 3) -> list[str]:
        """Up to `n` public names of the mask that `name` may have meant."""
        return near_names(name, (tool.public_name for tool in self.iter_tools(mask)), n)

    def searcher(
        self,
        ranking: Ranking,
        mask: BitMap,
        lexicon: Lexicon | None = None,
        sentences: SentenceStore | None = None,
    ) -> Searcher:
        """The ranking's searcher over the mask's tools. Make it once per snapshot and mask: it caches.

        `lexicon`: the user's own word lists, for the `default` ranker; `sentences`: vectors of a sentence
        model, for it too.
        """
        return ranking.over(
            self.indexes.get(ranking.name),
            mask,
            order=self.name_order if ranking.by_name else self.catalog_order,
            analyzer=self.analyzers.get(ranking.name),
            lexicon=lexicon,
            tool_of=self._tool,
            sentences=sentences,
            digests=self.digests,
        )

    def _tool(self, doc: int) -> Tool:
        tool = self.tools[doc]
        assert tool is not None
        return tool


def document_digest(source: Source, definition_digest: str, aliases: tuple[str, ...]) -> str:
    """What a tool's analysis depends on, beside the analyzer."""
    parts: tuple[Any, ...] = (source.name, source.kind, source.instructions, definition_digest, *aliases)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
