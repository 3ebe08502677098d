"""A view's tools as OpenClaw's catalog holds them: entries with ids, and what a model's selector means.

A tool of a plugin is trusted; one of an MCP server is not: its schema is never read for a search, and its
words never enter a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NoReturn

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.catalog.naming import PREFIX, public_name
from toolsearchd.dialects.openclaw.ranker import LONGEST_SERVER, OPENCLAW, id_order, safe_server
from toolsearchd.dialects.openclaw.requests import refuse
from toolsearchd.dialects.openclaw.signature import signature
from toolsearchd.disclosure.sanitise import clean_json, clipped, excerpt, plain_line, without_paths
from toolsearchd.disclosure.seen import Seen
from toolsearchd.errors import ToolsearchdError
from toolsearchd.index.searcher import Searcher

LONGEST_DESCRIPTION = 20_000  # characters; no answer shows more
SUGGESTIONS = 3
_SCANNED = 2_000  # of a larger catalog those are judged that a search finds
_FOUND = 64
_REASON_CHARS = 200
_LONGEST_NEEDLE = 200
_TOKENS = re.compile(r"[a-z0-9]+")


class OpenclawEntry:
    """One tool. Texts are clean."""

    __slots__ = ("id", "name", "owner", "safe_server", "tool")

    def __init__(self, tool: Tool, safe: str) -> None:
        self.tool = tool
        self.name = plain_line(tool.name)
        self.safe_server = safe
        self.owner = plain_line(tool.server) or "core" if self.trusted else safe
        self.id = f"{self.source}:{self.owner}:{self.name}"

    @property
    def trusted(self) -> bool:
        return self.tool.kind == "plugin"

    @property
    def source(self) -> str:
        return "openclaw" if self.trusted else "mcp"

    @property
    def label(self) -> str:
        return plain_line(self.tool.definition.title[:LONGEST_DESCRIPTION]) or self.name

    @property
    def description(self) -> str:
        return excerpt(self.tool.definition.description, LONGEST_DESCRIPTION)

    def parameters(self) -> set[str]:
        """Names of its top-level parameters."""
        properties = msgspec.json.decode(self.tool.definition.input_schema).get("properties")
        return set(properties) if isinstance(properties, dict) else set()

    def candidate(self) -> dict[str, Any]:
        """What a search says of it."""
        definition = self.tool.definition
        found: dict[str, Any] = {"id": self.id, "source": self.source, "sourceName": self.owner}
        if not self.trusted:
            found["mcp"] = {
                "serverName": plain_line(self.tool.server),
                "safeServerName": self.safe_server,
                "toolName": self.name,
                "operation": "tool",
            }
        found |= {"name": self.name, "label": self.label, "description": self.description}
        found["input"] = signature(definition.input_schema) if self.trusted else "unknown"
        if self.trusted and definition.output_schema:
            found["output"] = signature(definition.output_schema)
        return found

    def described(self) -> dict[str, Any]:
        definition = self.tool.definition
        found = self.candidate() | {"parameters": clean_json(msgspec.json.decode(definition.input_schema))}
        if definition.output_schema:
            found["outputSchema"] = clean_json(msgspec.json.decode(definition.output_schema))
        return found


class Catalog:
    """Of what is seen, to which it holds no reference: that keeps it."""

    def __init__(self, seen: Seen) -> None:
        self._snapshot, self._mask, self._sources = seen.snapshot, seen.mask, seen.sources
        self._entries: dict[int, OpenclawEntry] = {}

    def __len__(self) -> int:
        return len(self._mask)

    def entry(self, doc: int) -> OpenclawEntry:
        found = self._entries.get(doc)
        if found is None:
            tool = self._snapshot.tools[doc]
            assert tool is not None
            found = self._entries[doc] = OpenclawEntry(tool, self._safe_of[tool.server])
        return found

    def entries(self) -> Iterator[OpenclawEntry]:
        """All of them, in no particular order."""
        return map(self.entry, self._mask)

    def trusted_entries(self) -> Iterator[OpenclawEntry]:
        for source in self._sources:
            if source.kind == "plugin":
                yield from map(self.entry, self._snapshot.docs_of[source.name] & self._mask)

    def search(self, query: str, limit: int) -> list[OpenclawEntry]:
        """The best first. A blank query finds nothing."""
        return [self.entry(hit.doc) for hit in self._searcher.search(query, limit).matches]

    @cached_property
    def _searcher(self) -> Searcher:
        return self._snapshot.searcher(OPENCLAW, self._mask)

    def unavailable(self) -> list[dict[str, str]]:
        """The granted servers that can't be called now, with the reason."""
        return [
            {
                "name": plain_line(source.name),
                "state": source.state,
                "reason": clipped(plain_line(without_paths(source.reason)), _REASON_CHARS) or source.state,
            }
            for source in self._sources
            if not source.available
        ]

    # --- selectors ------------------------------------------------------------------------------------

    def named(self, needle: str) -> list[OpenclawEntry]:
        """The entry of this id, or shown directly under this name; else all of this name. Exact."""
        found = self._of_id(needle)
        if found is not None:
            return [found]
        if needle.startswith(PREFIX) and (doc := self._snapshot.exact(needle, self._mask)) is not None:
            return [self.entry(doc)]
        index = self._snapshot.indexes.get("openclaw")
        docs = index.bearing(needle.lower()) if index is not None else ()
        entries = [self.entry(doc) for doc in docs if doc in self._mask]
        return [entry for entry in entries if entry.name == needle]

    def find(self, needle: str, hint: str) -> OpenclawEntry:
        """The one entry meant. Raises BAD_ARGUMENTS (several bear the name) or TOOL_NOT_FOUND (+ `hint`)."""
        found = self.named(needle)
        if not found:
            self._unknown(needle, hint)
        return self._only(found, needle)

    def find_one(self, selectors: Sequence[str], hint: str) -> OpenclawEntry:
        """The entry that all selectors of a call mean. One that means nothing is passed over beside others.

        Raises as `find`, and BAD_ARGUMENTS where they mean different ones.
        """
        meant = {needle: found for needle in selectors if (found := self.named(needle))}
        if not meant:
            self._unknown(selectors[0], hint)
        certain = {found[0].id: found[0] for found in meant.values() if len(found) == 1}
        if len(certain) > 1:
            shown = ", ".join(_shown(needle) for needle in meant)
            refuse(f"Ambiguous tool selectors: {shown} mean different tools; give one exact id.", field="id")
        if certain:
            return next(iter(certain.values()))
        needle, found = next(iter(meant.items()))
        return self._only(found, needle)

    def _only(self, found: list[OpenclawEntry], needle: str) -> OpenclawEntry:
        if len(found) > 1:
            ids = sorted((entry.id for entry in found), key=id_order)
            refuse(f"Ambiguous tool name: {_shown(needle)}; use an exact tool id.", field="id", near=ids[:10])
        return found[0]

    def _unknown(self, needle: str, hint: str) -> NoReturn:
        near = self.suggestions(needle)
        meant = f" Did you mean: {', '.join(near)}?" if near else ""
        server = self._server_of.get(tuple(needle.split(":")[:2]))
        down = [one for one in self.unavailable() if server is not None and one["name"] == plain_line(server)]
        if down:
            meant = f" Its server is {down[0]['state']}: {down[0]['reason']}.{meant}"
        raise ToolsearchdError(
            "TOOL_NOT_FOUND", f"Unknown tool id: {_shown(needle)}.{meant} {hint}", near=near
        )

    def suggestions(self, needle: str) -> list[str]:
        """Up to three names that `needle` may have meant; ids where a name is borne by several."""
        needle = needle[:_LONGEST_NEEDLE].lower()
        tokens = set(_TOKENS.findall(needle))
        scored = set()
        for entry in self._candidates(needle):
            score = _likeness(needle, tokens, entry)
            if score:
                value = entry.name if len(self.named(entry.name)) == 1 else entry.id
                scored.add((-score, id_order(value), value))
        return list(dict.fromkeys(value for _, _, value in sorted(scored)))[:SUGGESTIONS]

    def _candidates(self, needle: str) -> Iterator[OpenclawEntry]:
        if len(self) <= _SCANNED:
            return self.entries()
        words = " ".join(_TOKENS.findall(needle))
        return map(self.entry, [hit.doc for hit in self._searcher.search(words, _FOUND).matches])

    def _of_id(self, needle: str) -> OpenclawEntry | None:
        source, _, rest = needle.partition(":")
        owner, _, name = rest.partition(":")
        server = self._server_of.get((source, owner))
        if server is None or not name:
            return None
        snapshot, mask = self._snapshot, self._mask
        doc = snapshot.exact(name if source == "openclaw" else public_name(server, name), mask)
        if doc is None:  # its own name holds what is not shown
            odd = (other for other in snapshot.docs_of[server] & mask if self.entry(other).id == needle)
            doc = next(odd, None)
        return None if doc is None or self.entry(doc).id != needle else self.entry(doc)

    @cached_property
    def _server_of(self) -> dict[tuple[str, ...], str]:
        """(source, owner) as in an id → the server."""
        found: dict[tuple[str, ...], str] = {}
        for source in self._sources:
            if source.kind == "plugin":
                found["openclaw", plain_line(source.name) or "core"] = source.name
            else:
                found["mcp", self._safe_of[source.name]] = source.name
        return found

    @cached_property
    def _safe_of(self) -> dict[str, str]:
        """Server → its safe name. Where two meet in one, the later by its own name gets a number."""
        taken: dict[str, str] = {}
        for server in sorted(source.name for source in self._sources):
            safe, number = safe_server(server), 2
            while safe in taken.values():
                safe = f"{safe_server(server)[: LONGEST_SERVER - len(str(number)) - 1]}-{number}"
                number += 1
            taken[server] = safe
        return taken


def _likeness(needle: str, tokens: set[str], entry: OpenclawEntry) -> int:
    name, entry_id, label = entry.name.lower(), entry.id.lower(), entry.label.lower()
    description = entry.description.lower()
    score = 0
    if name in needle or needle in entry_id:
        score += 40
    if name in tokens:
        score += 40
    score += 12 * len(tokens & set(_TOKENS.findall(f"{name} {entry_id} {label} {description}")))
    if needle in label or needle in description:
        score += 8
    return score


def _shown(needle: str) -> str:
    return clipped(plain_line(needle), _LONGEST_NEEDLE)
