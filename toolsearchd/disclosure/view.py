"""What one (snapshot, grant, dialect) sees: search, describe, resolve, assemble. Shared by sessions.

Every answer is computed under the grant's mask; texts pass the sanitiser on their way out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import msgspec

from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.disclosure import listing as listings
from toolsearchd.disclosure.bridge import BRIDGE_NAMES, bridge_tools, function, search_description
from toolsearchd.disclosure.budget import listing_budget
from toolsearchd.disclosure.dialects.base import Dialect
from toolsearchd.disclosure.requests import parse_limit, parse_names, parse_queries
from toolsearchd.disclosure.sanitise import clean, clean_json, clipped, plain_line, short_description
from toolsearchd.disclosure.tokens import chars4
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

DESCRIPTION_CHARS = 500  # of a description in a search reply
REQUIRED_NAMES = 32
REQUIRED_CHARS = 64
FIT_UNKNOWN_CONTEXT_TOKENS = 20_000

RETRY_HINT = (
    "Nothing matches. Search again with other keywords: service + action + object, "
    "or with a source's own words; unavailable sources may come back."
)
NEAR_HINT = "Nothing matches surely; `near` is a guess. Describe a name before you call it."
ABSENT_HINT = "No connected source is about {product}. Do not retry with other words."
NOT_FOUND_HINT = "These names are not granted here. Use tool_search to find the right ones."

Count = Callable[[str], int]


class Assembled(msgspec.Struct, frozen=True):
    """What a model is given. `fields` is the reply; `sources` tells when the held text must move."""

    fields: dict[str, Any]
    version: str
    sources: tuple[tuple[str, bool], ...]
    why: str


class View:
    def __init__(
        self, snapshot: Snapshot, grant: Grant, *, dialect: Dialect, settings: ToolSearch, limits: Limits
    ) -> None:
        self.snapshot = snapshot
        self.grant = grant
        self.dialect = dialect
        self._settings = settings
        self._limits = limits
        self.mask = grant.mask(snapshot)
        self._entries: dict[int, dict[str, Any]] = {}
        self._described: dict[int, dict[str, Any]] = {}

    # --- the granted tools ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.mask)

    def granted_tools(self) -> Iterator[Tool]:
        """In catalog order."""
        return self.snapshot.iter_tools(self.mask)

    @cached_property
    def sources(self) -> list[Source]:
        return self.grant.sources(self.snapshot)

    @cached_property
    def _ranker(self) -> str:
        return self._settings.ranker if self._settings.ranker != "default" else self.dialect.ranker

    @cached_property
    def _searcher(self) -> Any:
        return self.snapshot.searcher(self._ranker, self.mask)

    @cached_property
    def _docs_by_name(self) -> dict[str, int]:
        """The dialect's names. Two tools that meet under one name are both left out: neither is certain."""
        found: dict[str, int] = {}
        twice: set[str] = set()
        for tool in self.granted_tools():
            name = self.dialect.name_of(tool)
            if found.setdefault(name, self.snapshot.doc_of(tool)) != self.snapshot.doc_of(tool):
                twice.add(name)
        return {name: doc for name, doc in found.items() if name not in twice}

    def tool_named(self, name: str) -> Tool | None:
        """By the dialect's name or the exact public name."""
        doc = self._docs_by_name.get(name) if self.dialect.exact_names else None
        if doc is None:
            doc = self.snapshot.exact(name, self.mask)
        return None if doc is None else self.snapshot.tools[doc]

    def resolve(self, name: str) -> Tool | None:
        """In any form that a person or a model writes, where the dialect allows that."""
        if self.dialect.exact_names:
            doc = self._docs_by_name.get(name)
        else:
            doc = self.snapshot.resolve(name, self.mask)
        return None if doc is None else self.snapshot.tools[doc]

    def resolve_call(self, name: str, *, shown: Collection[str]) -> Tool:
        """The tool to run: by its exact name; by another form only if the session was shown it.

        Raises TOOL_NOT_FOUND with near names from the grant.
        """
        tool = self.tool_named(name)
        if tool is None:
            other = self.resolve(name)
            if other is not None and other.public_name in shown:
                tool = other
        if tool is not None:
            return tool
        raise ToolsearchdError(
            "TOOL_NOT_FOUND",
            f"no tool {clipped(plain_line(name), 80)!r} is granted here; use tool_search",
            near=self.snapshot.near(name[:256], self.mask),
        )

    # --- tool_search ----------------------------------------------------------------------------------

    def search(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The reply's fields. Raises BAD_ARGUMENTS or TOO_MANY."""
        settings = self._settings
        queries = parse_queries(args, most=self.dialect.max_queries, max_chars=self._limits.query_chars)
        limit = parse_limit(args, default=settings.search_default_limit, most=settings.max_search_limit)
        docs: dict[int, None] = {}
        results = [self._group(query, limit, docs) for query in queries]
        return {
            "queries": queries,
            "total_available": len(self),
            "results": results,
            "tools": {self._name(doc): self._entry(doc) for doc in docs},
        }

    def _group(self, query: str, limit: int, docs: dict[int, None]) -> dict[str, Any]:
        found = self._searcher.search(query, limit)
        matches = [hit.doc for hit in found.matches if self._is_named(hit.doc)]
        near = [hit.doc for hit in found.near if self._is_named(hit.doc)]
        docs.update(dict.fromkeys((*matches, *near)))
        group: dict[str, Any] = {"query": query, "matches": [self._name(doc) for doc in matches]}
        if self.dialect.shows_near:
            group["near"] = [self._name(doc) for doc in near]
            if found.unknown:
                group["unknown"] = found.unknown
            if found.absent_product:
                group["absent_product"] = found.absent_product
        if not matches and self.sources:
            group["available_sources"] = self._source_lines
            group["hint"] = self._hint(found.absent_product, near)
        return group

    def _hint(self, absent_product: str | None, near: Sequence[int]) -> str:
        if self.dialect.shows_near and absent_product:
            return ABSENT_HINT.format(product=absent_product)
        return NEAR_HINT if near and self.dialect.shows_near else RETRY_HINT

    @cached_property
    def _source_lines(self) -> list[dict[str, Any]]:
        lines = []
        for source in sorted(self.sources, key=lambda source: source.name):
            count = len(self.snapshot.docs_of[source.name] & self.mask)
            line: dict[str, Any] = {"name": self.dialect.label_of(source.name), "tool_count": count}
            if not source.available:
                line |= {"tool_count": count or source.declared_tools, "state": source.state}
                line["reason"] = plain_line(source.reason)
            lines.append(line)
        return lines

    def _is_named(self, doc: int) -> bool:
        """Does the dialect have a name for it that leads back to it?"""
        return not self.dialect.exact_names or self._docs_by_name.get(self._name(doc)) == doc

    def _name(self, doc: int) -> str:
        return self.dialect.name_of(self._tool(doc))

    def _tool(self, doc: int) -> Tool:
        tool = self.snapshot.tools[doc]
        assert tool is not None
        return tool

    def _entry(self, doc: int) -> dict[str, Any]:
        entry = self._entries.get(doc)
        if entry is None:
            tool = self._tool(doc)
            entry = self._entries[doc] = {
                "source": tool.kind,
                "source_name": self.dialect.source_name_of(tool),
                "description": clipped(clean(tool.definition.description), DESCRIPTION_CHARS),
                "required": _required(tool),
            }
        return entry

    # --- tool_describe --------------------------------------------------------------------------------

    def describe(self, args: Mapping[str, Any], *, direct: Collection[str] = ()) -> dict[str, Any]:
        """The reply's fields; `direct`: names the agent lists itself. Raises BAD_ARGUMENTS or TOO_MANY."""
        names = parse_names(args, most=self.dialect.max_names)
        tools: dict[str, Any] = {}
        not_found: list[str] = []
        near: dict[str, list[str]] = {}
        errors: dict[str, str] = {}
        for name in names:
            if name in direct or name in BRIDGE_NAMES:
                errors[name] = f"{name} is listed directly: call it without the bridge"
                continue
            tool = self.resolve(name)
            if tool is None:
                shown = clipped(name, 200)
                not_found.append(shown)
                near[shown] = self.snapshot.near(name[:256], self.mask) if self.dialect.shows_near else []
            else:
                tools[self.dialect.name_of(tool)] = self._description(tool)
        reply: dict[str, Any] = {"tools": tools}
        if not_found:
            reply |= {"not_found": not_found, "hint": NOT_FOUND_HINT}
            if any(near.values()):
                reply["near"] = near
        if errors:
            reply["errors"] = errors
        return reply

    def _description(self, tool: Tool) -> dict[str, Any]:
        doc = self.snapshot.doc_of(tool)
        described = self._described.get(doc)
        if described is None:
            described = self._described[doc] = {
                "description": clean(tool.definition.description),
                "parameters": _parameters(tool),
            }
        return described

    # --- assemble -------------------------------------------------------------------------------------

    @cached_property
    def listed_servers(self) -> list[listings.ListedServer]:
        servers = []
        for source in self.sources:
            label = self.dialect.label_of(source.name)
            docs = self.snapshot.docs_of[source.name] & self.mask
            if docs:
                tools = [
                    (self.dialect.name_of(tool), short_description(tool.definition.description))
                    for tool in self.snapshot.iter_tools(docs)
                ]
                servers.append(listings.listed(label, tools))
            elif not source.available:
                reason = plain_line(source.reason) or source.state
                servers.append(listings.ListedServer(label, (), source.declared_tools, reason))
        return servers

    def texts_to_count(self) -> list[str]:
        """What `assemble` asks `count` about; empty where the dialect counts characters."""
        if self.dialect.count_by_chars or not self.dialect.bridges:
            return []
        texts = [f"{block}\n" for block in listings.blocks_to_count(self.listed_servers, listings.HEADER)]
        if self._settings.enabled == "fit":
            texts += self._schema_texts
        return texts

    @cached_property
    def _schema_texts(self) -> list[str]:
        return [msgspec.json.encode(self._direct(tool)).decode() for tool in self.granted_tools()]

    def assemble(self, *, context_length: int | None, count: Count, separate_listing: bool) -> Assembled:
        """What the model is shown; pure, and the same bytes for the same catalog."""
        settings = self._settings
        budget = listing_budget(settings.listing_max_tokens, settings.threshold_pct, context_length)
        reason = self._no_bridge_because(context_length, count)
        if reason:
            return self._assembled_direct(budget, reason)
        shown = listings.NO_LISTING
        if settings.listing != "off":
            shown = listings.render(self.listed_servers, budget, self._measure(count), listings.HEADER)
        tier = 1 if shown.form in ("full", "names", "mixed") and len(self) else 2
        text = search_description(len(self), shown.form, "" if separate_listing else shown.text)
        if separate_listing:
            text = search_description(1, "none", "").replace("the 1 that are", "those that are")
        tools = bridge_tools(
            text,
            search_limit=settings.search_default_limit,
            most=settings.max_search_limit,
            max_queries=self.dialect.max_queries,
            max_names=self.dialect.max_names,
        )
        why = f"{len(self)} tools behind the bridge; listing {shown.form}: {shown.tokens} of {budget} tokens"
        return self._finished(tools, shown, tier, budget, len(self), why)

    def _no_bridge_because(self, context_length: int | None, count: Count) -> str:
        enabled = self._settings.enabled
        if not self.dialect.bridges:
            return "disclosure is direct"
        if enabled == "off":
            return "tool_search.enabled is off"
        if not len(self) and not self.sources:
            return "no tool is granted"
        if not len(self) and self.dialect.count_by_chars:
            return "nothing can be deferred"
        if enabled == "fit":
            room = FIT_UNKNOWN_CONTEXT_TOKENS
            if context_length:
                room = int(context_length * self._settings.fit_pct / 100)
            tokens = sum(map(count, self._schema_texts))
            if tokens < room:
                return f"all schemas take {tokens} tokens, less than {room} (fit)"
        return ""

    def _assembled_direct(self, budget: int, why: str) -> Assembled:
        tools = [] if not len(self) else [self._direct(tool) for tool in self.granted_tools()]
        return self._finished(tools, listings.NO_LISTING, 0, budget, 0, why)

    def _direct(self, tool: Tool) -> dict[str, Any]:
        described = self._description(tool)
        return function(self.dialect.name_of(tool), described["description"], described["parameters"])

    def _measure(self, count: Count) -> listings.Measure:
        if self.dialect.count_by_chars:
            return lambda blocks: chars4("\n".join(blocks))
        return lambda blocks: sum(count(f"{block}\n") for block in blocks)

    def _finished(
        self,
        tools: list[dict[str, Any]],
        shown: listings.Listing,
        tier: int,
        budget: int,
        deferred: int,
        why: str,
    ) -> Assembled:
        digest = blake2b(shown.text.encode("utf-8", "surrogatepass"), digest_size=8)
        for tool in tools:
            digest.update(msgspec.json.encode(tool))
        version = digest.hexdigest()
        fields: dict[str, Any] = {
            "tools": tools,
            "listing": shown.text,
            "tier": tier,
            "listing_form": shown.form,
            "listing_tokens": shown.tokens,
            "budget_tokens": budget,
            "deferred_count": deferred,
            "version": version,
        }
        sources = tuple(
            (source.name, source.available or source.declared_tools > 0) for source in self.sources
        )
        return Assembled(fields, version, sources, why)


def _required(tool: Tool) -> list[str]:
    schema = msgspec.json.decode(tool.definition.input_schema)
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(required, list):
        return []
    return [plain_line(name)[:REQUIRED_CHARS] for name in required[:REQUIRED_NAMES] if isinstance(name, str)]


def _parameters(tool: Tool) -> Any:
    return clean_json(msgspec.json.decode(tool.definition.input_schema))
