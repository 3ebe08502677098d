"""What a client format is: where its files are, how they are read, which rules hold in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec

from toolsearchd.config.document import ConfigDocument, Path, dotted, problem_at
from toolsearchd.config.entry import EntryReader
from toolsearchd.config.expand import RULES, ExpandContext
from toolsearchd.config.json_text import parse_json
from toolsearchd.config.model import Origin, Problem, ServerSpec
from toolsearchd.config.other_clients import SECTIONS, holds_servers
from toolsearchd.config.restrictions import ClientRules
from toolsearchd.config.toml_text import parse_toml

Entries = Iterator[tuple[Path, str, object, str]]
"""(path of the section in the file, name, entry, project root or empty)."""


class Homes(NamedTuple):
    """Where a person's files are. `environ`: for clients whose variables name places of their own."""

    home: str
    config: str
    environ: Mapping[str, str] = {}

    @classmethod
    def of(cls, environ: Mapping[str, str], home: str) -> Homes:
        """`home`: where HOME is not set."""
        home = environ.get("HOME") or home
        return cls(home, environ.get("XDG_CONFIG_HOME") or f"{home}/.config", environ)


class ReadRules(NamedTuple):
    """`lost`: (path, what) of rules that can't bind here."""

    rules: tuple[ClientRules, ...] = ()
    lost: Sequence[tuple[Path, str]] = ()


def _no_rules(_document: Mapping[str, Any], _project: str) -> ReadRules:
    return ReadRules()


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says. `usable` is False where the document itself can't be read."""

    servers: tuple[ServerSpec, ...] = ()
    problems: tuple[Problem, ...] = ()
    usable: bool = True
    inert: int = 0  # entries of projects that nobody named: they start nothing
    rules: tuple[ClientRules, ...] = ()  # for all of the client's entries, wherever they stand
    kept: tuple[tuple[str, str], ...] = ()  # (file, entry) of those that stay with the client


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """`locations`: below HOME (`~/…`) or the config home (`$config/…`), where user-level files are found.
    `project_file`: relative to a project's root. `entries` picks the entries out of the document.
    `milliseconds`: the client's own `timeout` is given in them. `rules` picks what narrows the entries out of
    one of its files, `beside` are those that hold nothing else (`*` in a name: all there are). `clients`:
    globs, in lower case, of names that the client gives itself. `homes`: (variable, usual place, below) of
    a folder or file that the client looks for where the variable says, or `below` that."""

    name: str
    locations: tuple[str, ...]
    project_file: str = ""
    section: str = "mcpServers"  # where its entries stand, for who wrote another client's
    rule: str = "none"
    milliseconds: bool = False
    entries: Callable[[Mapping[str, Any]], Entries]
    load: Callable[[str, str], ConfigDocument] = parse_json
    beside: tuple[str, ...] = ()
    rules: Callable[[Mapping[str, Any], str], ReadRules] = _no_rules
    clients: tuple[str, ...] = ()
    homes: tuple[tuple[str, str, str], ...] = ()

    def paths(self, homes: Homes) -> list[str]:
        return [self._placed(place, homes) for place in self.locations]

    def rule_paths(self, homes: Homes) -> list[str]:
        """Where the client's rules may stand, its own config included; nowhere where it has none."""
        places = () if self.rules is _no_rules else (*self.locations, *self.beside)
        return [self._placed(place, homes) for place in places]

    def _placed(self, place: str, homes: Homes) -> str:
        for variable, usual, below in self.homes:
            own = homes.environ.get(variable, "")
            if own.startswith("/") and (place == usual or place.startswith(f"{usual}/")):
                place = own + below + place.removeprefix(usual)
        place = place.replace("~", homes.home, 1) if place.startswith("~") else place
        return str(PurePosixPath(place.replace("$config", homes.config, 1)))

    def parse_rules(self, text: str, file: str) -> Parsed:
        """What a file says beside entries."""
        document = (parse_toml if file.endswith(".toml") else self.load)(text, file)
        if not document.is_readable or not isinstance(document.value, Mapping | None):
            return Parsed(problems=tuple(document.problems), usable=False)
        rules, problems = self._rules(document, file, "")
        return Parsed(problems=(*document.problems, *problems), rules=rules)

    def _rules(
        self, document: ConfigDocument, file: str, project: str
    ) -> tuple[tuple[ClientRules, ...], list[Problem]]:
        found = self.rules(document.value or {}, project)
        rules = tuple(
            msgspec.structs.replace(rule, client=self.name, project=project) for rule in found.rules
        )
        return rules, [
            problem_at("warning", f"{LOST}: {what}", file, path, document.place(path), mend=LOST_MEND)
            for path, what in found.lost
        ]

    def project_of(self, path: str, homes: Homes) -> str:
        """The root of the project whose own file `path` is; empty for a user-level file."""
        end = "/" + self.project_file
        if not self.project_file or not path.endswith(end) or path in self.paths(homes):
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
        if not found and not inert and len(problems) == len(document.problems):
            problems += self._other_section(document, file)
        rules, lost = self._rules(document, file, context.workspace)
        return Parsed(
            servers=tuple(found),
            problems=(*problems, *lost),
            inert=inert,
            rules=rules,
        )

    def _other_section(self, document: ConfigDocument, file: str) -> list[Problem]:
        """Servers where another client looks for them, in a file without a section of its own."""
        if at(document.value, *self.section.split(".")) is not None:
            return []
        for name in SECTIONS:
            path = tuple(name.split("."))
            if holds_servers(at(document.value, *path)):
                words = f"servers that are not read: this client's stand under {self.section}"
                return [problem_at("warning", words, file, path, document.place(path))]
        return []


LOST = "a rule of the client that can't bind here"
"""How the warning about such a rule begins."""
LOST_MEND = (
    "write it as a rule of `approval` or a hook in the daemon's config, or keep that server in its client"
)


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


def texts(value: object) -> list[str]:
    """The texts of a list; nothing where there is none."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def mapping(value: object) -> Mapping[str, Any]:
    """The value, where it is one."""
    return value if isinstance(value, Mapping) else {}


def at(value: object, *keys: str) -> Any:
    """What stands below the keys; None where that is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
