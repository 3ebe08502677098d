"""What a client lets its own sessions do with a server, and which of that binds a given session.

A client says it in an entry (a switch, a filter, approvals of single tools) or beside its entries
(`ClientRules`: lists of servers, rules over the names that its tools have there). `restrictions_of` makes one
record per entry of both, `bound_by` picks the records that bind a session. Nothing here loosens the daemon's
own policy: an `allow` only says that the client would not ask.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, cast

import msgspec

from toolsearchd.globs import matches_glob

Then = Literal["allow", "ask", "deny"]
Filter = tuple[tuple[str, ...] | None, tuple[str, ...]]
"""(include, exclude): `include`, where there is one, beats `exclude`."""

OWN = "toolsearchd"
"""The format of entries under the daemon's own `servers:`, which are no client's."""

_STRICTNESS = ("allow", "ask", "deny")
_SPECIAL = re.compile(r"[*?\[]")
_LONGEST = 512  # of a beginning with stars that may mean a server: names are shorter
_ODD = re.compile(r"[^A-Za-z0-9_-]")  # clients write `_` for such a character of a name


class ToolRule(msgspec.Struct, frozen=True, kw_only=True):
    """`tool`: a glob of tools' own names. `project`: for sessions within that directory only."""

    then: Then
    tool: str = "*"
    project: str = ""


class Restrictions(msgspec.Struct, frozen=True, kw_only=True):
    """What one entry of a client says of its sessions. All `filters` must let a tool through. Of `modes`
    (tool glob, word; empty: as the daemon decides) the first that fits counts, of `rules` the strictest."""

    client: str
    enabled: bool = True
    off_in: tuple[str, ...] = ()  # projects in which the client does not use it
    filters: tuple[Filter, ...] = ()
    modes: tuple[tuple[str, Then | Literal[""]], ...] = ()
    rules: tuple[ToolRule, ...] = ()

    def filters_in(self, projects: Collection[str]) -> Iterator[Filter]:
        """What hides tools from a session at these places, its denials included."""
        yield from self.filters
        denied = [tool for tool, then in self.modes if then == "deny"]
        denied += [rule.tool for rule in self._rules_in(projects) if rule.then == "deny"]
        if denied:
            yield None, tuple(dict.fromkeys(denied))

    def word_on(self, tool: str, projects: Collection[str]) -> Then | Literal[""]:
        """The client's own word on a call of the tool; empty where it has none."""
        words = [rule.then for rule in self._rules_in(projects) if fits(tool, rule.tool)]
        if mode := next((then for glob, then in self.modes if fits(tool, glob)), ""):
            words.append(cast(Then, mode))
        return max(words, key=_STRICTNESS.index, default="")

    def _rules_in(self, projects: Collection[str]) -> Iterator[ToolRule]:
        return (rule for rule in self.rules if not rule.project or rule.project in projects)


class NamedRule(msgspec.Struct, frozen=True, kw_only=True):
    """`name`: a glob of the names that tools have in the client, `mcp__github__*`."""

    then: Then
    name: str
    project: str = ""


class ClientRules(msgspec.Struct, frozen=True, kw_only=True):
    """What one file of a client says beside its entries. `only`: names of the only servers in use. `off`:
    (server, project or empty) out of use. `shown`: globs of the only tools in use. `prefixes`: what stands
    before a tool's own name in the client, `{}` for the server's. `client`: its format. `project`:
    whose file it is; its lists hold there."""

    client: str = ""
    project: str = ""
    only: tuple[str, ...] | None = None
    off: tuple[tuple[str, str], ...] = ()
    shown: tuple[str, ...] | None = None
    rules: tuple[NamedRule, ...] = ()
    prefixes: tuple[str, ...] = ()
    unlisted: Literal["", "ask"] = ""  # the word on tools that no rule allows


def fits(tool: str, glob: str) -> bool:
    """Does the glob mean the tool, by its own name or as clients write it?"""
    return matches_glob(tool, glob) or matches_glob(_ODD.sub("_", tool), glob)


def restrictions_of(said: Restrictions, entry: str, rules: Sequence[ClientRules]) -> Restrictions:
    """An entry's own word with what the client's files say beside it. `entry`: its name there."""
    enabled, off, filters, found = said.enabled, list(said.off_in), list(said.filters), list(said.rules)
    modes: list[tuple[str, Then | Literal[""]]] = list(said.modes)
    for one in rules:
        lists = list(one.off)
        if one.only is not None and not any(matches_glob(entry, name) for name in one.only):
            lists.append(("*", one.project))
        for name, project in lists:
            if matches_glob(entry, name):
                enabled = enabled and bool(project)
                off += [project] if project else []
        heads = _heads(entry, one.prefixes)
        if one.shown is not None:
            shown = (tool for name in one.shown for head in heads for tool in _after(name, head))
            filters.append((tuple(dict.fromkeys(shown)), ()))
        allowed = []
        for rule in dict.fromkeys(one.rules):
            tools = [tool for head in heads for tool in _after(rule.name, head)]
            found += [ToolRule(then=rule.then, tool=tool, project=rule.project) for tool in tools]
            allowed += tools if rule.then == "allow" else []
        if one.unlisted:
            modes += [*((tool, "") for tool in allowed), ("*", one.unlisted)]
    return msgspec.structs.replace(
        said,
        enabled=enabled,
        off_in=tuple(dict.fromkeys(off)),
        filters=tuple(dict.fromkeys(filters)),
        modes=tuple(modes),
        rules=tuple(dict.fromkeys(found)),
    )


def _heads(entry: str, prefixes: Iterable[str]) -> list[str]:
    """What stands before the names of the entry's tools in the client."""
    servers = (entry, _ODD.sub("_", entry))
    return list(dict.fromkeys(prefix.replace("{}", server) for prefix in prefixes for server in servers))


def _after(glob: str, before: str) -> Iterator[str]:
    """What is left of the glob where its beginning fits `before`; a star may fit more than that."""
    special = _SPECIAL.search(glob)
    plain = special.start() if special else len(glob)
    if plain >= len(before):
        if glob.startswith(before):
            yield glob[len(before) :]
    elif before.startswith(glob[:plain]):
        for at in range(plain, min(len(glob), _LONGEST) + 1):
            head, rest = glob[:at], glob[at:]
            if head[-1:] in (before[-1:], "*", "?", "]") and matches_glob(before, head):
                yield f"*{rest}" if head.endswith("*") else rest


def bound_by(
    restrictions: Sequence[Restrictions], client: str, projects: Collection[str]
) -> tuple[Restrictions, ...] | None:
    """Those that bind a session of the client (empty: of an unknown one) at these places; None: it does not
    use the server. A client without an entry is bound by all that use it: there, switches and what a client
    would not ask for count for their own client only."""
    own = [one for one in restrictions if one.client == client]
    if own:
        used = [one for one in own if one.enabled and not any(root in projects for root in one.off_in)]
        return tuple(used) or None
    return tuple(one for one in restrictions if one.enabled)


def word_on(
    bound: Sequence[Restrictions], client: str, tool: str, projects: Collection[str]
) -> tuple[Then | Literal[""], str]:
    """The strictest word of those that bind, and whose it is. `allow` is none for another client."""
    said = [(one.word_on(tool, projects), one.client) for one in bound]
    said = [(word, whose) for word, whose in said if word and (word != "allow" or whose == client)]
    return max(said, key=lambda one: _STRICTNESS.index(one[0]), default=("", ""))
