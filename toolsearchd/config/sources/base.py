"""What a client format is: where its files are, how they are read, which rules hold in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from toolsearchd.config.entry import EntryReader
from toolsearchd.config.expand import RULES, ExpandContext
from toolsearchd.config.json_text import parse_json
from toolsearchd.config.model import Origin, Problem, ServerSpec

Entries = Iterator[tuple[str, str, object, str]]
"""(path of the section in the file, name, entry, project root or empty)."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says. `usable` is False where the document itself can't be read."""

    servers: tuple[ServerSpec, ...] = ()
    problems: tuple[Problem, ...] = ()
    usable: bool = True


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """`locations`: below HOME (`~/…`) or the config home (`$config/…`), where user-level files are found.
    `project_file`: relative to a project's root. `entries` picks the entries out of the document."""

    name: str
    locations: tuple[str, ...]
    project_file: str = ""
    rule: str = "none"
    entries: Callable[[Mapping[str, Any]], Entries]
    load: Callable[[str, str], tuple[Any, list[Problem]]] = parse_json

    def paths(self, home: str, config_home: str) -> list[str]:
        return [
            str(PurePosixPath(place.replace("~", home, 1).replace("$config", config_home, 1)))
            for place in self.locations
        ]

    def parse(self, text: str, file: str, context: ExpandContext, project: str = "") -> Parsed:
        """Never raises; a bad entry costs only itself."""
        value, problems = self.load(text, file)
        if any(problem.level == "error" for problem in problems):
            return Parsed(problems=tuple(problems), usable=False)
        if value is None:
            return Parsed(problems=tuple(problems))
        if not isinstance(value, Mapping):
            wrong = Problem(level="error", file=file, message="expected an object at the top")
            return Parsed(problems=(*problems, wrong), usable=False)
        found: list[ServerSpec] = []
        try:
            for path, name, entry, root in self.entries(value):
                reader = EntryReader(file, path, RULES[self.rule], context)
                origin = Origin(file=file, format=self.name, entry=name, project=root or project)
                spec = reader.read(name, entry, origin)
                problems += reader.problems
                if spec is not None:
                    found.append(spec)
        except SectionError as error:
            wrong = Problem(
                level="error", file=file, path=error.path, message="expected an object of servers"
            )
            return Parsed(problems=(*problems, wrong), usable=False)
        return Parsed(servers=tuple(found), problems=tuple(problems))


class SectionError(Exception):
    """The section that holds the entries is no mapping."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def section(document: Mapping[str, Any], *keys: str) -> Entries:
    """The entries below `keys`. Raises `SectionError` where something else stands there."""
    value: Any = document
    for at, key in enumerate(keys):
        if not isinstance(value, Mapping):
            raise SectionError(".".join(keys[:at]))
        value = value.get(key)
        if value is None:
            return
    if not isinstance(value, Mapping):
        raise SectionError(".".join(keys))
    for name, entry in value.items():
        yield ".".join(keys), str(name), entry, ""


def renamed(entry: object, **names: str) -> object:
    """The entry with the client's own key names turned into the common ones (`new=old`)."""
    if not isinstance(entry, Mapping):
        return entry
    found = dict(entry)
    for new, old in names.items():
        if old in found:
            found[new] = found.pop(old)
    return found
