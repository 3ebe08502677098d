"""What one view is of: a snapshot under a grant, in a dialect's manner. Frozen; what follows from it is kept.

The parts of a view take this record and hold nothing else, so nothing holds a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from toolsearchd.catalog.grant import Grant, Mask, matches_tool
from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.disclosure.bridge import TEXTS, BridgeTexts, function
from toolsearchd.disclosure.listing import Listing
from toolsearchd.disclosure.names import Names
from toolsearchd.disclosure.texts import ToolTexts
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.ranking import Ranking
from toolsearchd.index.searcher import Searcher
from toolsearchd.index.sentences import SentenceStore
from toolsearchd.limits import Limits


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    name_of: Callable[[Tool], str]
    source_name_of: Callable[[Tool], str]
    label_of: Callable[[str], str] = str  # source name → its label in a listing
    max_queries: int | None = None  # of its own; `Seen.max_queries` has what holds
    max_names: int | None = None
    items_as_text: bool = False  # see `requests.parse_queries`
    keepers: Callable[[Iterable[tuple[str, Tool]]], Mapping[str, Tool]] | None = None
    """Names of its own, of which describe and call take no other form; where two tools meet in one, this says
    whose it is. None: all forms of the public names are taken."""
    count_by_chars: bool = False  # ceil(characters / 4), and the reference's rule for listings
    shows_near: bool = True  # replies carry `near`, `unknown`, `absent_product`, `repeat`, `stale`
    bridges_nothing: bool = True  # a bridge stands while granted servers are still to come
    activation: Literal["any", "threshold", "never"] = "any"
    """Does any tool that may hide raise the bridge, or only schemas of `threshold_pct` of the context?
    `never`: every tool is shown directly."""
    texts: BridgeTexts = TEXTS
    derive: Callable[[Seen], Any] | None = None
    """What it makes of what is seen; with `prepare()`, small steps, driven before the view is assembled."""
    tool_of: Callable[[Seen, str], Tool | None] | None = None
    """The tool that bears a name of its own, beside the public names."""
    listing_of: Callable[[Seen, int | None], Listing] | None = None
    """Its own listing, from the view and the context length; None: the daemon's, within the budget."""
    bridge_of: Callable[[Seen, Listing, bool], list[dict[str, Any]]] | None = None
    """Its own bridge tools, from the view, the listing and whether that is handed apart; None: the three."""

    @property
    def bridges(self) -> bool:
        return self.activation != "never"

    @property
    def exact_names(self) -> bool:
        return self.keepers is not None


class Seen(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    snapshot: Snapshot
    grant: Grant
    dialect: Manner
    settings: ToolSearch  # those in force for this dialect and profile
    limits: Limits
    ranking: Ranking
    names: Names
    texts: ToolTexts
    pins: tuple[str, ...] = ()  # globs of tools kept direct
    lexicon: Lexicon | None = None  # the word lists in force
    sentences: SentenceStore | None = None  # vectors of the sentence model

    @property
    def mask(self) -> Mask:
        """Doc ids of the granted tools that have a name."""
        return self.names.mask

    @cached_property
    def derived(self) -> Any:
        """What the dialect makes of it, once; see `Manner.derive`."""
        return None if self.dialect.derive is None else self.dialect.derive(self)

    def __len__(self) -> int:
        return len(self.mask)

    def granted_tools(self) -> Iterator[Tool]:
        """In catalog order."""
        return self.snapshot.iter_tools(self.mask)

    @cached_property
    def tools_by_name(self) -> dict[str, Tool]:
        """The granted tools by the name that the dialect shows; the first of a name."""
        named: dict[str, Tool] = {}
        for tool in self.granted_tools():
            named.setdefault(self.name_of(tool), tool)
        return named

    @cached_property
    def pinned(self) -> list[Tool]:
        """Granted tools that stay direct whatever hides, by the profile's word or their server's; by name."""
        if not self.pins and not any(source.pins for source in self.sources):
            return []
        pinned = [tool for tool in self.granted_tools() if self._is_pinned(tool)]
        return sorted(pinned, key=self.name_of)

    @cached_property
    def pinned_names(self) -> frozenset[str]:
        """Their public names."""
        return frozenset(tool.public_name for tool in self.pinned)

    def _is_pinned(self, tool: Tool) -> bool:
        if matches_tool(self.pins, tool):
            return True
        source = self._source_by_name[tool.server]
        return bool(source.pins) and matches_tool(source.pins, tool)

    def is_stale(self, tool: Tool) -> bool:
        """Is its definition one of an earlier run, that its server has not confirmed? Never so in dialects
        that have no word for it."""
        return self.dialect.shows_near and self._source_by_name[tool.server].stale

    @cached_property
    def _source_by_name(self) -> dict[str, Source]:
        return {source.name: source for source in self.sources}

    @property
    def max_queries(self) -> int:
        """Of one search: the dialect's own number where it has one, never more than the limit."""
        most = self.limits.queries_per_search
        return most if self.dialect.max_queries is None else min(most, self.dialect.max_queries)

    @property
    def max_names(self) -> int:
        """Of one describe; as `max_queries`."""
        most = self.limits.names_per_describe
        return most if self.dialect.max_names is None else min(most, self.dialect.max_names)

    @property
    def deferred_count(self) -> int:
        """How many tools hide where a bridge stands."""
        return len(self) - len(self.pinned)

    def name_of(self, tool: Tool) -> str:
        """The name under which the dialect shows the tool."""
        return self.names.name_of(tool)

    @cached_property
    def sources(self) -> list[Source]:
        return self.grant.sources(self.snapshot)

    @cached_property
    def searcher(self) -> Searcher:
        return self.snapshot.searcher(self.ranking, self.mask, self.lexicon, self.sentences)

    def tool_at(self, doc: int) -> Tool:
        """The tool of a doc id that is in the mask."""
        tool = self.snapshot.tools[doc]
        assert tool is not None
        return tool

    def resolve(self, name: str) -> Tool | None:
        """In any form that a person or a model writes, where the dialect allows that."""
        doc = self.names.resolve(name)
        return None if doc is None else self.tool_at(doc)

    def fitting_names(self, name: str, n: int = 8) -> list[str]:
        """Up to `n` names shown here that `name` in near form may mean."""
        if self.dialect.exact_names:
            return []
        return sorted(self.name_of(self.tool_at(doc)) for doc in self.names.fitting(name)[:n])

    def near_names(self, name: str, n: int = 3) -> list[str]:
        """Up to `n` names shown here that `name` may have meant. Costs a search."""
        return self.names.near(name, n)

    def direct(self, tool: Tool) -> dict[str, Any]:
        """The tool's definition as a model is given it."""
        described = self.texts.described(tool.definition)
        return function(self.name_of(tool), described["description"], described["parameters"])
