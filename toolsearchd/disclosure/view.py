"""What one (snapshot, grant, dialect) sees: search, describe, resolve, assemble. Shared by sessions.

Every answer is computed under the grant's mask; texts pass the sanitiser on their way out. Nothing is
computed before it is asked for, and nothing twice; a new snapshot means a new view.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any

import msgspec

from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.disclosure import listing as listings
from toolsearchd.disclosure.bridge import bridge_tools, search_description
from toolsearchd.disclosure.budget import listing_budget
from toolsearchd.disclosure.history import SearchHistory
from toolsearchd.disclosure.listing_steps import Count
from toolsearchd.disclosure.names import Names
from toolsearchd.disclosure.sanitise import clean, clipped, plain_line
from toolsearchd.disclosure.seen import Manner, Seen
from toolsearchd.disclosure.texts import ToolTexts
from toolsearchd.disclosure.tiers import fit_tokens, no_bridge_because, threshold_tokens, tier_of
from toolsearchd.disclosure.view_listing import ViewListing, label_of
from toolsearchd.disclosure.view_replies import ViewReplies
from toolsearchd.disclosure.view_schemas import ViewSchemas
from toolsearchd.errors import ToolsearchdError
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.ranking import Ranking
from toolsearchd.index.searcher import Searcher
from toolsearchd.index.sentences import SentenceStore
from toolsearchd.limits import Limits


class Assembled(msgspec.Struct, frozen=True):
    """What a model is given. `fields` is the reply; `sources` tells when the held text must move."""

    fields: dict[str, Any]
    version: str
    sources: tuple[tuple[str, bool], ...]
    why: str

    @property
    def nbytes(self) -> int:
        """About what it takes in memory beside what all share: definitions are the catalog's."""
        listing = 8 * len(self.fields["listing"])  # it stands in a description too; a character takes 1 to 4
        return 4_096 + listing + 512 * len(self.fields["tools"]) + 200 * len(self.sources)


class View:
    def __init__(
        self,
        snapshot: Snapshot,
        grant: Grant,
        *,
        dialect: Manner,
        settings: ToolSearch,
        ranking: Ranking,
        limits: Limits,
        pins: tuple[str, ...] = (),
        lexicon: Lexicon | None = None,
        texts: ToolTexts | None = None,
        sentences: SentenceStore | None = None,
    ) -> None:
        """`settings`: those in force for this dialect and profile. `pins`: globs of tools kept direct.
        `lexicon`: the word lists in force. `sentences`: vectors of the sentence model.

        `texts`: shared by the views of successive snapshots, so that what did not change costs nothing.
        """
        texts = texts or ToolTexts()
        texts.trim(len(snapshot))
        self.seen = Seen(
            snapshot=snapshot,
            grant=grant,
            dialect=dialect,
            settings=settings,
            limits=limits,
            ranking=ranking,
            names=Names(snapshot, grant, dialect.name_of, dialect.keepers),
            texts=texts,
            pins=pins,
            lexicon=lexicon,
            sentences=sentences,
        )
        self.snapshot, self.grant, self.dialect = snapshot, grant, dialect
        self.settings, self.limits, self.lexicon = settings, limits, lexicon
        self.mask = self.seen.mask
        self._texts = texts
        self._is_search_prepared = False
        self._replies = ViewReplies(self.seen)
        self._schemas = ViewSchemas(self.seen)
        self._listing = ViewListing(self.seen)

    def prepare(self) -> Iterator[None]:
        """The first `assemble`'s work, in steps of a tool or a server, to be driven to its end."""
        if self._bridges and self._is_listed:
            yield from self._listing.prepare()
        if not self._bridges or self.settings.enabled == "fit":
            for tool in self.granted_tools():
                self._texts.described(tool.definition)
                yield
        if self._bridges and self.dialect.activation == "threshold":
            yield from self._schemas.weigh()
        if self._bridges and self.seen.derived is not None:
            yield from self.seen.derived.prepare()

    # --- the granted tools ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.seen)

    def granted_tools(self) -> Iterator[Tool]:
        """In catalog order."""
        return self.seen.granted_tools()

    @property
    def tools_by_name(self) -> dict[str, Tool]:
        """The granted tools by the name that the dialect shows; the first of a name."""
        return self.seen.tools_by_name

    @property
    def pinned(self) -> list[Tool]:
        """Granted tools that stay direct whatever hides; by name."""
        return self.seen.pinned

    @property
    def deferred_count(self) -> int:
        """How many tools hide where a bridge stands."""
        return self.seen.deferred_count

    @property
    def sources(self) -> list[Source]:
        return self.seen.sources

    @property
    def searcher(self) -> Searcher:
        return self.seen.searcher

    def name_of(self, tool: Tool) -> str:
        """The name under which the dialect shows the tool."""
        return self.seen.name_of(tool)

    def direct(self, tool: Tool) -> dict[str, Any]:
        """The tool's definition as a model is given it."""
        return self.seen.direct(tool)

    @cached_property
    def granted_servers(self) -> tuple[str, ...]:
        """The MCP servers whose prompts and resources go with the grant, in catalog order: where it names
        tools, those of which it names one."""
        docs_of, names = self.snapshot.docs_of, (s.name for s in self.sources if s.kind == "mcp")
        if self.grant.has_all_tools:
            return tuple(names)
        return tuple(name for name in names if docs_of[name].intersection_cardinality(self.mask))

    @property
    def _may_get_tools(self) -> bool:
        """Is a granted source not up yet, or without a tool so far?"""
        docs_of = self.snapshot.docs_of
        return any(not source.available or not docs_of[source.name] for source in self.sources)

    def tool_named(self, name: str) -> Tool | None:
        """By the dialect's name or the exact public name."""
        doc = self.seen.names.exact(name)
        if doc is None and self.dialect.tool_of is not None:
            return self.dialect.tool_of(self.seen, name)
        return None if doc is None else self.seen.tool_at(doc)

    def resolve(self, name: str) -> Tool | None:
        """In any form that a person or a model writes, where the dialect allows that."""
        return self.seen.resolve(name)

    def resolve_call(self, name: str) -> Tool:
        """The tool to run: by its exact name, or by another form that exactly one granted tool fits. Raises
        TOOL_NOT_FOUND with near names from the grant."""
        tool = self.tool_named(name) or self.resolve(name)
        if tool is not None:
            return tool
        shown, fitting = repr(clipped(plain_line(name), 80)), self.seen.fitting_names(name)
        if len(fitting) > 1:
            words = f"{shown} may be {' or '.join(fitting)}: call the one that you mean by its name"
            raise ToolsearchdError("TOOL_NOT_FOUND", words, near=fitting)
        raise ToolsearchdError(
            "TOOL_NOT_FOUND",
            f"no tool {shown} is granted here; use tool_search",
            near=self.seen.near_names(name),
        )

    # --- tool_search and tool_describe ----------------------------------------------------------------

    def prepare_search(self) -> Iterator[None]:
        """The first searches' work, in steps; what was done stays done."""
        if self._bridges and not self._is_search_prepared:  # without a bridge, hardly anybody searches
            yield from self.searcher.prepare()
            self._is_search_prepared = True

    def search(self, args: Mapping[str, Any], history: SearchHistory | None = None) -> dict[str, Any]:
        """The reply's fields. Raises BAD_ARGUMENTS or TOO_MANY.

        `history`: the session's; the daemon's own words say `repeat` and "not present" by it.
        """
        return self._replies.search(args, history)

    def unread_queries(self, args: Mapping[str, Any]) -> list[str]:
        """Queries of a search that the sentence model is to read first; none where it has no part in it."""
        return self._replies.unread_queries(args)

    def describe(self, args: Mapping[str, Any], *, direct: Collection[str] = ()) -> dict[str, Any]:
        """The reply's fields; `direct`: names the agent lists itself. Raises BAD_ARGUMENTS or TOO_MANY."""
        return self._replies.describe(args, direct)

    def instructions_of(self, names: Iterable[str]) -> dict[str, str]:
        """The servers of these tools that say how to use them, by label → their words, clean."""
        servers = {tool.server for name in names if (tool := self.tool_named(name)) is not None}
        sources = (source for source in self.seen.snapshot.sources if source.name in servers)
        return {label_of(self.seen, one): clean(one.instructions) for one in sources if one.instructions}

    # --- assemble -------------------------------------------------------------------------------------

    @property
    def listed_servers(self) -> list[listings.ListedServer]:
        """What the daemon's own listing is rendered from; nothing where the dialect has one of its own."""
        return [] if self.dialect.listing_of is not None else self._listing.servers

    def listing_of_bytes(self, most: int) -> str:
        """The daemon's own listing where a client cuts texts at a number of bytes; empty where none fits."""
        return self._listing.of_bytes(most) if self._is_listed else ""

    def texts_to_count(self, known: Count | None = None) -> list[str]:
        """What `assemble` asks `count` about first (the whole listing comes later). Not about characters, and
        of what `known` has counted before it leaves out what it can."""
        if self.dialect.count_by_chars or not self._bridges:
            return []
        texts = list(self._listing.texts_to_count(known)) if self._is_listed else []
        if self.settings.enabled == "fit" and self._schemas.are_countable:
            texts += self._schemas.texts
        return texts

    def weigh(self, count: Count) -> Iterator[None]:
        """The part of `assemble` that takes longest, a server a step; `count` knows `texts_to_count`."""
        if self._bridges and self._is_listed and not self.dialect.count_by_chars:
            yield from self._listing.weigh(count)

    @property
    def _bridges(self) -> bool:
        """May a bridge stand before the tools?"""
        return self.dialect.bridges and self.settings.enabled != "off"

    @property
    def _is_listed(self) -> bool:
        """Is there a listing, and is it the daemon's to make?"""
        return self.settings.listing != "off" and self.dialect.listing_of is None

    def assemble(
        self, *, context_length: int | None, count: Count, separate_listing: bool, estimate: bool = False
    ) -> Assembled:
        """What the model is shown; pure, and the same bytes for the same catalog.

        `count`: tokens of a text; the same callable for the same counts, it may raise `UncountedError`.
        `estimate`: what `count` gives are estimates, and the reply says so.
        """
        settings = self.settings
        budget = listing_budget(settings.listing_max_tokens, settings.threshold_pct, context_length)
        direct_because = "disclosure is direct" if not self.dialect.bridges else ""
        direct_because = direct_because or no_bridge_because(
            settings.enabled,
            deferrable=self.deferred_count,
            expected=self.dialect.bridges_nothing and self._may_get_tools,
            fit_tokens=fit_tokens(settings.fit_pct, context_length),
            eager_tokens=lambda: self.eager_tokens(count),
            threshold_tokens=(
                threshold_tokens(settings.threshold_pct, context_length)
                if self.dialect.activation == "threshold"
                else 0
            ),
        )
        if direct_because:
            return self._assembled_direct(budget, direct_because)
        shown = self._shown(context_length, budget, count)
        tools = self._bridge(shown, separate_listing)
        fields = {
            "tools": tools + [self.direct(tool) for tool in self.pinned],
            "listing": shown.text,
            "tier": tier_of(shown.form),
            "listing_form": shown.form,
            "listing_tokens": shown.tokens,
            "budget_tokens": budget,
            "deferred_count": self.deferred_count,
        }
        estimated = estimate and not self.dialect.count_by_chars
        if estimated:
            fields["estimate"] = True
        why = (
            f"{self.deferred_count} tools behind the bridge; listing {shown.form}: "
            f"{'about ' if estimated else ''}{shown.tokens} of {budget} tokens"
        )
        digest = blake2b(shown.text.encode("utf-8", "surrogatepass"), digest_size=8)
        digest.update(msgspec.json.encode(fields["tools"]))
        return self._finished(fields, digest.hexdigest(), why)

    def _shown(self, context_length: int | None, budget: int, count: Count) -> listings.Listing:
        if self._is_listed:
            return self._listing.within(budget, count)
        if self.settings.listing != "off" and self.dialect.listing_of is not None:
            return self.dialect.listing_of(self.seen, context_length)
        return listings.NO_LISTING

    def _bridge(self, shown: listings.Listing, separate_listing: bool) -> list[dict[str, Any]]:
        if self.dialect.bridge_of is not None:
            return self.dialect.bridge_of(self.seen, shown, separate_listing)
        texts = self.dialect.texts
        return bridge_tools(
            texts,
            texts.search if separate_listing else search_description(texts, self.deferred_count, shown),
            default_limit=self.settings.search_default_limit,
            most_matches=self.settings.max_search_limit,
            most_queries=self.seen.max_queries,
            most_names=self.seen.max_names,
        )

    def bare_bridge(self) -> list[dict[str, Any]]:
        """The bridge tools without anything that depends on the catalog."""
        return self._bridge(listings.NO_LISTING, True)

    def eager_tokens(self, count: Count) -> int | None:
        """What all schemas would cost without the bridge; None where a description is too long to count."""
        return self._schemas.tokens(count)

    def _assembled_direct(self, budget: int, why: str) -> Assembled:
        fields: dict[str, Any] = {
            "tools": [self.direct(tool) for tool in self.granted_tools()],
            "listing": "",
            "tier": 0,
            "listing_form": "none",
            "listing_tokens": 0,
            "budget_tokens": budget,
            "deferred_count": 0,
        }
        digest = blake2b(digest_size=8)
        for tool in self.granted_tools():
            digest.update(f"{self.name_of(tool)}\0{tool.definition.digest}\0".encode())
        return self._finished(fields, digest.hexdigest(), why)

    def _finished(self, fields: dict[str, Any], version: str, why: str) -> Assembled:
        sources = tuple(
            (source.name, source.available or source.declared_tools > 0) for source in self.sources
        )
        return Assembled(fields | {"version": version}, version, sources, why)
