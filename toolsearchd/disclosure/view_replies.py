"""What one view answers to `tool_search` and `tool_describe`: the reply's fields, made of its own texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolsearchd.disclosure.bridge import BRIDGE_NAMES
from toolsearchd.disclosure.hints import NOT_FOUND, REPEATED, RETRY, hint_for
from toolsearchd.disclosure.history import SearchHistory
from toolsearchd.disclosure.requests import parse_limit, parse_names, parse_queries
from toolsearchd.disclosure.sanitise import clipped, plain_line
from toolsearchd.disclosure.seen import Seen
from toolsearchd.disclosure.view_listing import label_of, reason_of
from toolsearchd.errors import ToolsearchdError
from toolsearchd.index.ranking import DEFAULT
from toolsearchd.index.searcher import Group

SHOWN_NAME_CHARS = 200  # of a name that was asked for and does not exist
NEAR_LOOKUPS = 8  # unknown names of one request that get near names; they cost a search each


class ViewReplies:
    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._texts = seen.texts
        self._entries: dict[int, tuple[str, dict[str, Any]]] = {}

    def search(self, args: Mapping[str, Any], history: SearchHistory | None = None) -> dict[str, Any]:
        """The reply's fields. Raises BAD_ARGUMENTS or TOO_MANY.

        `history`: the session's; the daemon's own words say `repeat` and "not present" by it.
        """
        settings, queries = self._seen.settings, self._queries(args)
        limit = parse_limit(args, default=settings.search_default_limit, most=settings.max_search_limit)
        tools: dict[str, dict[str, Any]] = {}
        if history is not None:
            history.enter((self._seen.snapshot.generation, self._seen.grant))
        hopeless = history is not None and history.is_hopeless
        scores = args.get("scores") is True
        found = [self._seen.searcher.search(query, limit) for query in queries]
        results = [
            self._group(query, group, tools, hopeless, scores=scores)
            for query, group in zip(queries, found, strict=True)
        ]
        if history is not None:
            self._tell_repeats(results, history.note_search(results))
        reply = {"queries": queries, "total_available": len(self._seen), "results": results, "tools": tools}
        if self._seen.dialect.shows_near and self._seen.sentences is not None:
            by_sentences = all(group.by_sentences for group in found)
            reply["semantic"] = "on" if by_sentences else self._seen.sentences.state_without
        return reply

    def _queries(self, args: Mapping[str, Any]) -> list[str]:
        return parse_queries(
            args,
            most=self._seen.max_queries,
            max_chars=self._seen.limits.query_chars,
            items_as_text=self._seen.dialect.items_as_text,
        )

    def unread_queries(self, args: Mapping[str, Any]) -> list[str]:
        """Those of a search that the sentence model has not read; none where it has no part in it, or where
        the arguments are none."""
        sentences = self._seen.sentences
        if sentences is None or sentences.state != "on" or self._seen.ranking is not DEFAULT:
            return []
        try:
            return [query for query in self._queries(args) if sentences.query(query) is None]
        except ToolsearchdError:
            return []

    def _tell_repeats(self, results: list[dict[str, Any]], times: list[int]) -> None:
        """`repeat`: which time it is that this query gets this answer, from the second on."""
        if not self._seen.dialect.shows_near:
            return
        for group, time in zip(results, times, strict=True):
            if time > 1:
                group["repeat"] = time
                if group["matches"]:
                    group["hint"] = REPEATED

    def _group(
        self, query: str, found: Group, tools: dict[str, dict[str, Any]], hopeless: bool, *, scores: bool
    ) -> dict[str, Any]:
        matches = [self._entry(hit.doc) for hit in found.matches]
        tools.update(matches)
        group: dict[str, Any] = {"query": query, "matches": [name for name, _ in matches]}
        if self._seen.dialect.shows_near:
            near = [self._entry(hit.doc) for hit in found.near]
            tools.update(near)
            group["near"] = [name for name, _ in near]
            if found.unknown:
                group["unknown"] = found.unknown
            if found.absent_product:
                group["absent_product"] = found.absent_product
            if scores:
                hits = zip((*matches, *near), (*found.matches, *found.near), strict=True)
                group["scores"] = {name: round(hit.p, 4) for (name, _), hit in hits if hit.p is not None}
        if not matches and self._seen.sources:
            group["available_sources"] = self._source_lines
            group["hint"] = self._hint(query, found, hopeless)
        return group

    def _hint(self, query: str, found: Group, hopeless: bool) -> str:
        if not self._seen.dialect.shows_near:
            return RETRY
        all_ready = all(source.available for source in self._seen.sources)
        return hint_for(query, found, all_ready=all_ready, hopeless=hopeless)

    @cached_property
    def _source_lines(self) -> list[dict[str, Any]]:
        lines = []
        for source in sorted(self._seen.sources, key=lambda source: source.name):
            count = len(self._seen.snapshot.docs_of[source.name] & self._seen.mask)
            line: dict[str, Any] = {"name": label_of(self._seen, source), "tool_count": count}
            if not source.available:
                line |= {"tool_count": count or source.declared_tools, "state": source.state}
                line["reason"] = reason_of(source)
            lines.append(line)
        return lines

    def _entry(self, doc: int) -> tuple[str, dict[str, Any]]:
        """The name of a tool and what a search reply says of it."""
        entry = self._entries.get(doc)
        if entry is None:
            tool = self._seen.tool_at(doc)
            found = self._texts.found(tool.definition)
            told: dict[str, Any] = {
                "source": tool.kind if tool.server else "other",
                "source_name": plain_line(self._seen.dialect.source_name_of(tool)),
                "description": found.description,
                "required": found.required,
            }
            if self._seen.is_stale(tool):
                told["stale"] = True
            entry = self._entries[doc] = (self._seen.name_of(tool), told)
        return entry

    def describe(self, args: Mapping[str, Any], direct: Collection[str]) -> dict[str, Any]:
        """The reply's fields; `direct`: names the agent lists itself. Raises BAD_ARGUMENTS or TOO_MANY."""
        seen = self._seen
        names = parse_names(args, most=seen.max_names, items_as_text=seen.dialect.items_as_text)
        tools: dict[str, Any] = {}
        missing: list[str] = []
        errors: dict[str, str] = {}
        for name in names:
            if name in direct or name in BRIDGE_NAMES:
                errors[clipped(name, SHOWN_NAME_CHARS)] = "it is listed directly: call it without the bridge"
            elif (tool := self._seen.resolve(name)) is None:
                missing.append(name)
            else:
                described = self._texts.described(tool.definition)
                if self._seen.is_stale(tool):
                    described = described | {"stale": True}
                tools[self._seen.name_of(tool)] = described
        reply: dict[str, Any] = {"tools": tools}
        if missing:
            reply["not_found"] = [clipped(name, SHOWN_NAME_CHARS) for name in missing]
            reply["hint"] = NOT_FOUND
            if near := self._near_of(missing):
                reply["near"] = near
        if errors:
            reply["errors"] = errors
        return reply

    def _near_of(self, missing: Sequence[str]) -> dict[str, list[str]]:
        if not self._seen.dialect.shows_near:
            return {}
        near = {
            clipped(name, SHOWN_NAME_CHARS): self._seen.near_names(name) for name in missing[:NEAR_LOOKUPS]
        }
        return {name: found for name, found in near.items() if found}
