"""Who may see what: the one place where a session's grant is applied."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from pyroaring import BitMap

from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.naming import keeps
from toolsearchd.globs import matches_glob

if TYPE_CHECKING:
    from toolsearchd.catalog.snapshot import Snapshot

ALL = ("*",)
Mask = BitMap  # doc ids of granted tools


_ODD = re.compile(r"[^A-Za-z0-9_-]")  # clients write `_` for such a character of a tool's name


class ServerTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What the session's client shows of one server: nothing, or what all (include, exclude) let through."""

    server: str
    hidden: bool = False
    filters: tuple[tuple[tuple[str, ...] | None, tuple[str, ...]], ...] = ()

    def shows(self, tool: str) -> bool:
        written = _ODD.sub("_", tool)
        return all(
            keeps(tool, include, exclude) and (include is not None or keeps(written, None, exclude))
            for include, exclude in self.filters
        )


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Globs of servers and tools, and the projects whose servers belong in. Immutable and hashable.

    A tool glob matches the tool's own name, `server/tool` or the public name. What a `without_*` matches is
    not allowed, whatever else is said. `narrower`: further grants that must all allow the same. `terms`: of
    the servers that the session's client narrows.
    """

    servers: tuple[str, ...] = ALL
    tools: tuple[str, ...] = ALL
    without_servers: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    name: str = ""
    narrower: tuple[Grant, ...] = ()
    terms: tuple[ServerTerms, ...] = ()

    @classmethod
    def nothing(cls) -> Grant:
        """Sees no server and no tool."""
        return cls(servers=(), tools=())

    def narrowed(self, other: Grant) -> Grant:
        """What both allow. Projects are this grant's: a profile's name opens none."""
        return msgspec.structs.replace(self, narrower=(*self.narrower, other), name=other.name or self.name)

    def allows_source(self, source: Source) -> bool:
        """May this source be seen, ready or not? An agent's own tools always: they are nobody's to grant."""
        if source.kind == "plugin":
            return True
        if source.project and source.project not in self.projects:
            return False
        if any(terms.hidden and terms.server == source.name for terms in self.terms):
            return False
        return self._allows_server(source.name)

    def allows_tool(self, tool: Tool) -> bool:
        """May this tool be seen, its source being allowed?"""
        if tool.kind == "plugin":
            return True
        if self.tools != ALL and not matches_tool(self.tools, tool):
            return False
        if self.without_tools and matches_tool(self.without_tools, tool):
            return False
        if any(terms.server == tool.server and not terms.shows(tool.name) for terms in self.terms):
            return False
        return all(grant.allows_tool(tool) for grant in self.narrower)

    def sources(self, snapshot: Snapshot) -> list[Source]:
        """The granted sources in catalog order, unavailable ones included."""
        return [source for source in snapshot.sources if self.allows_source(source)]

    def mask(self, snapshot: Snapshot) -> BitMap:
        """The doc ids of the granted tools."""
        docs, tools = BitMap(), snapshot.tools
        narrowed = {terms.server for terms in self.terms if terms.filters}
        for source in self.sources(snapshot):
            found = snapshot.docs_of[source.name]
            if source.name in narrowed or not self._names_all_tools:
                found = BitMap(doc for doc in found if (tool := tools[doc]) and self.allows_tool(tool))
            docs |= found
        return docs

    @property
    def has_all_tools(self) -> bool:
        """Does it take in whole servers?"""
        return self._names_all_tools and not any(terms.filters for terms in self.terms)

    @property
    def _names_all_tools(self) -> bool:
        is_whole = self.tools == ALL and not self.without_tools
        return is_whole and all(grant._names_all_tools for grant in self.narrower)

    def _allows_server(self, name: str) -> bool:
        return (
            any(matches_glob(name, glob) for glob in self.servers)
            and not any(matches_glob(name, glob) for glob in self.without_servers)
            and all(grant._allows_server(name) for grant in self.narrower)
        )


def matches_tool(globs: Iterable[str], tool: Tool) -> bool:
    """Does a glob match the tool's own name, `server/tool` or the public name?"""
    forms = (tool.name, f"{tool.server}/{tool.name}", tool.public_name)
    return any(matches_glob(form, glob) for glob in globs for form in forms)
