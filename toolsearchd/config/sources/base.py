"""What a client format is: where its files are, how they are read, which rules hold in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from toolsearchd.config.document import ConfigDocument, Path, dotted, problem_at
from toolsearchd.config.entry import EntryReader
from toolsearchd.config.expand import RULES, ExpandContext
from toolsearchd.config.json_text import parse_json
from toolsearchd.config.model import Origin, Problem, ServerSpec

Entries = Iterator[tuple[Path, str, object, str]]
"""(path of the section in the file, name, entry, project root or empty)."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says. `usable` is False where the document itself can't be read."""

    servers: tuple[ServerSpec, ...] = ()
    problems: tuple[Problem, ...] = ()
    usable: bool = True
    inert: int = 0  # entries of projects that nobody named: they start nothing


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """`locations`: below HOME (`~/…`) or the config home (`$config/…`), where user-level files are found.
    `project_file`: relative to a project's root. `entries` picks the entries out of the document.
    `milliseconds`: the client's own `timeout` is given in them."""

    name: str
    locations: tuple[str, ...]
    project_file: str = ""
    rule: str = "none"
    milliseconds: bool = False
    entries: Callable[[Mapping[str, Any]], Entries]
    load: Callable[[str, str], ConfigDocument] = parse_json

    def paths(self, home: str, config_home: str) -> list[str]:
        return [
            str(PurePosixPath(place.replace("~", home, 1).replace("$config", config_home, 1)))
            for place in self.locations
        ]

    def project_of(self, path: str, home: str, config_home: str) -> str:
        """The root of the project whose own file `path` is; empty for a user-level file."""
        end = "/" + self.project_file
        if not self.project_file or not path.endswith(end) or path in self.paths(home, config_home):
            return ""
        return path[: -len(end)] or "/"

    def parse(self, text: str, file: str, context: ExpandContext, *, projects: bool = True) -> Parsed:
        """Never raises; a bad entry costs only itself. `projects`: also the entries kept per project."""
        document = self.load(text, file)
        problems = list(document.problems)
        if not document.is_readable:
            return Parsed(problems=tuple(problems), usable=False)
        if document.value is None:
            return Parsed(problems=tuple(problems))
        if not isinstance(document.value, Mapping):
            problems.append(
                problem_at("error", "expected an object at the top", file, (), document.place(()))
            )
            return Parsed(problems=tuple(problems), usable=False)
        found: list[ServerSpec] = []
        inert = 0
        try:
            for path, name, entry, root in self.entries(document.value):
                if root and not projects:
                    inert += 1
                    continue
                reader = EntryReader(
                    file,
                    path,
                    RULES[self.rule],
                    context,
                    place=document.place,
                    root=root or context.workspace,
                    milliseconds=self.milliseconds,
                )
                origin = Origin(file=file, format=self.name, entry=name, project=root)
                spec = reader.read(name, entry, origin)
                problems += reader.problems
                if spec is not None:
                    found.append(spec)
        except SectionError as error:
            problems.append(problem_at("error", str(error), file, error.path, document.place(error.path)))
            return Parsed(problems=tuple(problems), usable=False)
        return Parsed(servers=tuple(found), problems=tuple(problems), inert=inert)


class SectionError(Exception):
    """The section that holds the entries is no mapping."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"expected an object of servers at {dotted(path)}")
        self.path = path


def section(document: Mapping[str, Any], *keys: str) -> Entries:
    """The entries below `keys`. Raises `SectionError` where something else stands there."""
    value: Any = document
    for at, key in enumerate(keys):
        if not isinstance(value, Mapping):
            raise SectionError(keys[:at])
        value = value.get(key)
        if value is None:
            return
    if not isinstance(value, Mapping):
        raise SectionError(keys)
    for name, entry in value.items():
        yield keys, str(name), entry, ""


def mapped(entries: Entries, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Entries:
    """The entries with the client's own keys turned into the common ones."""
    for path, name, entry, root in entries:
        yield path, name, change(dict(entry)) if isinstance(entry, Mapping) else entry, root


def renamed(entry: dict[str, Any], **names: str) -> dict[str, Any]:
    """`new=old`: the value of `old` stands under `new`."""
    for new, old in names.items():
        if old in entry:
            entry[new] = entry.pop(old)
    return entry
