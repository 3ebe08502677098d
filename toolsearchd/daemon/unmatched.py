"""What a person wrote to narrow or to ask, and what matches nothing now: a misspelt rule binds nobody."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from toolsearchd.catalog.model import Source
from toolsearchd.catalog.naming import near_names, public_name
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.globs import matches_glob
from toolsearchd.records import Finding
from toolsearchd.upstream.listing import listed_by

Names = Mapping[str, tuple[str, ...]]
"""Server → the names of all tools that it lists."""


def unmatched_findings(
    settings: Settings, specs: Collection[ServerSpec], sources: Collection[Source]
) -> list[Finding]:
    """Of tools only where the lists of all servers that may be meant are known."""
    names = {
        source.name: tuple(definition.name for definition in listed_by(source))
        for source in sources
        if source.definitions or source.withheld
    }
    found = [one for spec in specs for one in _of_filters(spec, names)]
    return [*found, *_of_rules(settings, {spec.name for spec in specs}, names)]


def _of_filters(spec: ServerSpec, names: Names) -> Iterator[Finding]:
    known = names.get(spec.name)
    if known is None:
        return
    filters = (("tools.include", spec.include or ()), ("tools.exclude", spec.exclude), ("pins", spec.pins))
    for key, patterns in filters:
        for pattern in patterns:
            if not any(matches_glob(name, pattern) for name in known):
                yield _finding(
                    f"{spec.name}: {key}", pattern, f"no tool of {spec.name}", _meant(spec, pattern, known)
                )


def _meant(spec: ServerSpec, pattern: str, known: tuple[str, ...]) -> list[str]:
    """The tools' own names that it may mean: it is that of one of them as shown, or near one."""
    shown = {public_name(spec.name, name): name for name in known}
    return [shown[pattern]] if pattern in shown else near_names(pattern, known)


def _of_rules(settings: Settings, servers: Collection[str], names: Names) -> Iterator[Finding]:
    for at, rule in enumerate(settings.approval.rules):
        yield from _of_match(f"approval.rules[{at}]", rule.server, rule.tool, servers, names)
    for kind in ("pre_call", "post_call"):
        for at, hook in enumerate(getattr(settings.hooks, kind)):
            if hook.match is not None:
                place = f"hooks.{kind}[{at}].match"
                yield from _of_match(place, hook.match.server, hook.match.tool, servers, names)
    for name, profile in settings.profiles.items():
        for key in ("tools", "pins"):
            for pattern in getattr(profile, key):
                yield from _of_match(f"profiles.{name}.{key}", None, pattern, servers, names)


def _of_match(
    place: str, server: str | None, tool: str | None, servers: Collection[str], names: Names
) -> Iterator[Finding]:
    if server is not None and not any(matches_glob(one, server) for one in servers):
        yield _finding(f"{place}.server", server, "no server", near_names(server, servers))
        return
    if tool is None:
        return
    meant = [one for one in servers if server is None or matches_glob(one, server)]
    if not names.keys() >= set(meant):
        return
    tools = [(one, name) for one in meant for name in names[one]]
    if not any(matches_glob(form, tool) for one, name in tools for form in _forms(one, name)):
        own = {name for _, name in tools}
        yield _finding(place, tool, "no tool", near_names(tool.rpartition("/")[2], own))


def _forms(server: str, name: str) -> tuple[str, str, str]:
    return name, f"{server}/{name}", public_name(server, name)


def _finding(place: str, pattern: str, what: str, meant: Iterable[str]) -> Finding:
    near = " or ".join(meant)
    return Finding(
        level="warning",
        about=place,
        message=f"{what} is meant by {pattern[:200]!r}: it has no effect",
        mend=f"write {near}" if near else "`toolsearchctl tools` and `servers` list the names that there are",
        kind="matches-nothing",
    )
