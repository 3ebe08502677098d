"""What a model is told of one tool: made when first needed, kept by the definition's digest.

Views of successive snapshots share it, so a change of one server costs that server's tools.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, NamedTuple

import msgspec

from toolsearchd.catalog.model import Definition, Tool
from toolsearchd.disclosure.listing import ListedServer
from toolsearchd.disclosure.provider_form import for_providers
from toolsearchd.disclosure.sanitise import clean, clean_json, excerpt, plain_line, short_description

DESCRIPTION_CHARS = 500  # of a description in a search reply
REQUIRED_NAMES = 32
REQUIRED_CHARS = 64
_LISTED = 4_096  # parts of listings: 128 servers in 32 dialects and grants
_SPARE = 1_000  # texts kept of tools that are gone: a list that flips back costs nothing


class FoundTool(NamedTuple):
    """A tool in a search reply."""

    description: str
    required: list[str]


class _RequiredOnly(msgspec.Struct):
    required: Any = None


class ToolTexts:
    def __init__(self) -> None:
        self._short: dict[str, str] = {}
        self._listed: dict[Hashable, tuple[tuple[Tool, ...], str, ListedServer]] = {}
        self._found: dict[str, FoundTool] = {}
        self._described: dict[str, dict[str, Any]] = {}

    def trim(self, tools: int) -> None:
        """Forgets what has grown far beyond a catalog of this many tools."""
        for kept in (self._short, self._found, self._described):
            if len(kept) > 2 * tools + _SPARE:
                kept.clear()
        if len(self._listed) > _LISTED:
            self._listed.clear()

    def short(self, definition: Definition) -> str:
        """Its first sentence, for the listing."""
        short = self._short.get(definition.digest)
        if short is None:
            short = self._short[definition.digest] = short_description(definition.description)
        return short

    def listed(self, key: Hashable, tools: tuple[Tool, ...], words: str) -> ListedServer | None:
        """A server's part of a listing, if the last one under the key was made of these tools and these
        words of the server."""
        known = self._listed.get(key)
        return known[2] if known is not None and known[:2] == (tools, words) else None

    def keep_listed(self, key: Hashable, tools: tuple[Tool, ...], words: str, part: ListedServer) -> None:
        self._listed[key] = (tools, words, part)

    def found(self, definition: Definition) -> FoundTool:
        """Its beginning and its required parameters, for a search reply."""
        found = self._found.get(definition.digest)
        if found is None:
            description = excerpt(definition.description, DESCRIPTION_CHARS)
            found = self._found[definition.digest] = FoundTool(
                description, _required(definition.input_schema)
            )
        return found

    def described(self, definition: Definition) -> dict[str, Any]:
        """All of it, `{description, parameters}`. Shared: not to be changed."""
        described = self._described.get(definition.digest)
        if described is None:
            described = self._described[definition.digest] = {
                "description": clean(definition.description),
                "parameters": clean_json(for_providers(msgspec.json.decode(definition.input_schema))),
            }
        return described


class OwnTexts(ToolTexts):
    """What is told of one owner's tools goes with the owner; of all others `shared` knows."""

    def __init__(self, shared: ToolTexts, digests: Collection[str]) -> None:
        super().__init__()
        self._shared = shared
        self._digests = digests

    def trim(self, tools: int) -> None:
        self._shared.trim(tools)

    def short(self, definition: Definition) -> str:
        return super().short(definition) if self._is_own(definition) else self._shared.short(definition)

    def listed(self, key: Hashable, tools: tuple[Tool, ...], words: str) -> ListedServer | None:
        if _are_own(tools):
            return super().listed(key, tools, words)
        return self._shared.listed(key, tools, words)

    def keep_listed(self, key: Hashable, tools: tuple[Tool, ...], words: str, part: ListedServer) -> None:
        if _are_own(tools):
            super().keep_listed(key, tools, words, part)
        else:
            self._shared.keep_listed(key, tools, words, part)

    def found(self, definition: Definition) -> FoundTool:
        return super().found(definition) if self._is_own(definition) else self._shared.found(definition)

    def described(self, definition: Definition) -> dict[str, Any]:
        own = self._is_own(definition)
        return super().described(definition) if own else self._shared.described(definition)

    def _is_own(self, definition: Definition) -> bool:
        return definition.digest in self._digests


def _are_own(tools: tuple[Tool, ...]) -> bool:
    return any(tool.kind == "plugin" for tool in tools)


def _required(schema: bytes) -> list[str]:
    required = msgspec.json.decode(schema, type=_RequiredOnly).required
    if not isinstance(required, list):
        return []
    return [plain_line(name)[:REQUIRED_CHARS] for name in required[:REQUIRED_NAMES] if isinstance(name, str)]
