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

from toolsearchd.catalog.definition import NAME_CHARS
from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.naming import near_names, public_name
from toolsearchd.index.analyzer import Analyzer
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.postings import Index, bitmap
from toolsearchd.index.ranking import Ranking
from toolsearchd.index.searcher import Searcher

Ids = npt.NDArray[np.int32]
_SERVER_CHARS = 512  # of a name that came, in which a server's name may end


class Snapshot:
    """Read it once per request; nothing in it changes."""

    __slots__ = (
        "analyzers",
        "by_public",
        "catalog_order",
        "digests",
        "docs_of",
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

    def resolve(self, name: str, mask: BitMap) -> int | None:
        """The one tool of the mask that `name` means, in any of the forms a person or a model writes.

        Public name in any case, `server/tool`, `server:tool`, `mcp_<server>_<tool>`, or a bare tool name that
        exactly one tool of the mask bears.
        """
        name = name.strip()
        found = self.exact(name, mask)
        if found is not None:
            return found
        index = next(iter(self.indexes.values()), None)
        if index is None or not 0 < len(name) <= _SERVER_CHARS + NAME_CHARS:
            return None
        readings = [index.named(name.lower()) if self.indexes.get("default") is index else ()]
        readings += [self._pair(name[:at], name[at + 1 :]) for at in self._ends_of_servers(name)]
        if name.lower().startswith("mcp_"):
            readings.append(self._single_underscores(name[4:]))
        readings.append(index.bearing(name.lower()))
        for docs in readings:
            granted = [doc for doc in docs if doc in mask]
            if len(granted) == 1:
                return granted[0]
        exact_case = [doc for doc in readings[-1] if doc in mask and self._tool(doc).name == name]
        return exact_case[0] if len(exact_case) == 1 else None

    def near(self, name: str, mask: BitMap, n: int = 3) -> list[str]:
        """Up to `n` public names of the mask that `name` may have meant."""
        return near_names(name, (tool.public_name for tool in self.iter_tools(mask)), n)

    def searcher(self, ranking: Ranking, mask: BitMap, lexicon: Lexicon | None = None) -> Searcher:
        """The ranking's searcher over the mask's tools. Make it once per snapshot and mask: it caches.

        `lexicon`: the user's own word lists, for the `default` ranker.
        """
        return ranking.over(
            self.indexes.get(ranking.name),
            mask,
            order=self.name_order if ranking.by_name else self.catalog_order,
            analyzer=self.analyzers.get(ranking.name),
            lexicon=lexicon,
            tool_of=self._tool,
        )

    def _tool(self, doc: int) -> Tool:
        tool = self.tools[doc]
        assert tool is not None
        return tool

    def _ends_of_servers(self, name: str) -> Iterator[int]:
        """Where `server/tool` or `server:tool` may be parted; longer names of servers are not looked for."""
        for at, character in enumerate(name[:_SERVER_CHARS]):
            if character in "/:" and name[:at] in self.docs_of:
                yield at

    def _pair(self, server: str, tool: str) -> tuple[int, ...]:
        doc = self.by_public.get(public_name(server, tool))
        return () if doc is None else (doc,)

    def _single_underscores(self, rest: str) -> tuple[int, ...]:
        """The readings of `<server>_<tool>` where both may hold underscores themselves."""
        found: list[int] = []
        for source in self.sources:
            for server in {source.name, source.name.replace("-", "_").replace(".", "_")}:
                if rest.startswith(f"{server}_"):
                    found.extend(self._pair(source.name, rest[len(server) + 1 :]))
        return tuple(dict.fromkeys(found))


def document_digest(source: Source, definition_digest: str, aliases: tuple[str, ...]) -> str:
    """What a tool's analysis depends on, beside the analyzer."""
    parts: tuple[Any, ...] = (source.name, source.kind, source.instructions, definition_digest, *aliases)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
