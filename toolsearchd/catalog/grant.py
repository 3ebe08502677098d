"""Who may see what: the one place where a session's grant is applied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from pyroaring import BitMap

from toolsearchd.catalog.model import Source, Tool
from toolsearchd.globs import matches_glob

if TYPE_CHECKING:
    from toolsearchd.catalog.snapshot import Snapshot

ALL = ("*",)
Mask = BitMap  # doc ids of granted tools


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Globs of servers and tools, and the projects whose servers belong in. Immutable and hashable.

    A tool glob matches the tool's own name, `server/tool` or the public name. What a `without_*` matches is
    not allowed, whatever else is said. `narrower`: further grants that must all allow the same.
    """

    servers: tuple[str, ...] = ALL
    tools: tuple[str, ...] = ALL
    without_servers: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    name: str = ""
    narrower: tuple[Grant, ...] = ()

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
        return self._allows_server(source.name)

    def allows_tool(self, tool: Tool) -> bool:
        """May this tool be seen, its source being allowed?"""
        if tool.kind == "plugin":
            return True
        if self.tools != ALL and not matches_tool(self.tools, tool):
            return False
        if self.without_tools and matches_tool(self.without_tools, tool):
            return False
        return all(grant.allows_tool(tool) for grant in self.narrower)

    def sources(self, snapshot: Snapshot) -> list[Source]:
        """The granted sources in catalog order, unavailable ones included."""
        return [source for source in snapshot.sources if self.allows_source(source)]

    def mask(self, snapshot: Snapshot) -> BitMap:
        """The doc ids of the granted tools."""
        docs = BitMap()
        for source in self.sources(snapshot):
            docs |= snapshot.docs_of[source.name]
        if self.has_all_tools:
            return docs
        tools = snapshot.tools
        return BitMap(doc for doc in docs if (tool := tools[doc]) is not None and self.allows_tool(tool))

    @property
    def has_all_tools(self) -> bool:
        """Does it take in whole servers?"""
        is_whole = self.tools == ALL and not self.without_tools
        return is_whole and all(grant.has_all_tools for grant in self.narrower)

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
