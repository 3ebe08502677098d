"""The reference's names for tools, and its rule for those that meet in one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from toolsearchd.catalog.model import Tool
from toolsearchd.catalog.naming import mcp_name

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


def hermes_v1_name(server: str, tool: str) -> str:
    """The reference's name until mid-2026: single underscores, so that two pairs may meet in one."""
    return f"mcp_{_UNSAFE.sub('_', server)}_{_UNSAFE.sub('_', tool)}"


CandidateKind = Literal["native", "utility", "plugin"]


class Candidate(NamedTuple):
    """A tool that wants a name in the reference's map."""

    server: str
    tool: str
    kind: CandidateKind = "native"
    wanted: str = ""  # where another name than `mcp_name` is wanted


class Registered(NamedTuple):
    name: str
    server: str
    tool: str
    kind: CandidateKind


class Registration(NamedTuple):
    registered: tuple[Registered, ...]
    skipped: dict[str, str]  # "kind:tool" → shadowed_by_native | name_collision | owned_elsewhere


def register_names(candidates: Iterable[Candidate], owned: Mapping[str, str] | None = None) -> Registration:
    """The reference's name map for candidates in their order. `owned`: a name taken already → its server.

    A generated utility yields to a native tool; raw names that meet after normalisation are all dropped; a
    name that another source holds stays there.
    """
    owned = owned or {}
    wanted: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        name = candidate.wanted
        if not name:
            own = candidate.kind == "plugin"
            name = candidate.tool if own else mcp_name(candidate.server, candidate.tool)
        wanted.setdefault(name, []).append(candidate)
    registered: list[Registered] = []
    skipped: dict[str, str] = {}
    owners: dict[str, str] = dict(owned)
    for name, rivals in wanted.items():
        first = owners.get(name, rivals[0].server)
        for rival in rivals:
            if rival.server != first:
                skipped[f"{rival.kind}:{rival.tool}"] = "owned_elsewhere"
        rivals = [rival for rival in rivals if rival.server == first]
        natives = [rival for rival in rivals if rival.kind != "utility"]
        if natives:
            skipped.update((f"utility:{r.tool}", "shadowed_by_native") for r in rivals if r.kind == "utility")
            rivals = natives
        if len({rival.tool for rival in rivals}) > 1:
            skipped.update((f"{rival.kind}:{rival.tool}", "name_collision") for rival in rivals)
        elif rivals:
            registered.append(Registered(name, rivals[0].server, rivals[0].tool, rivals[0].kind))
    return Registration(tuple(registered), skipped)


def keepers(tools: Iterable[tuple[str, Tool]]) -> dict[str, Tool]:
    """Of (name, tool), where some names meet: each name that is kept, and whose it is."""
    own: dict[tuple[str, str], Tool] = {}
    candidates = []
    for name, tool in tools:
        own[tool.server, tool.name] = tool
        kind: CandidateKind = "plugin" if tool.kind == "plugin" else "native"
        candidates.append(Candidate(tool.server, tool.name, kind, name))
    return {one.name: own[one.server, one.tool] for one in register_names(candidates).registered}
