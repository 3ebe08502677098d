"""The daemon's own config file: text in, `Settings` and problems out.

Under `tools.tool_search` and `tools.connectors` odd values are warnings; anywhere else an unknown key or a
bad value is an error with its line, its path and what is accepted, and the whole file is not in force.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from toolsearchd.config.choices import in_words, nearest, with_choices
from toolsearchd.config.dialect_options import DialectOptionsByName
from toolsearchd.config.document import ConfigDocument, Path, problem_at
from toolsearchd.config.entry import LEFT_OUT, NOT_STARTED, EntryReader
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.masking import unquoted
from toolsearchd.config.model import Origin, Problem
from toolsearchd.config.profile import Profile
from toolsearchd.config.section import Count, Seconds, Section, Text, Then
from toolsearchd.config.sources import FORMATS, format_of
from toolsearchd.config.tool_search import (
    Connectors,
    ToolSearch,
    Warnings,
    resolve_connectors,
    resolve_tool_search,
)
from toolsearchd.limits import Limits


class SourceFile(Section, frozen=True, kw_only=True):
    """A config named by the person: trusted, a project's too."""

    path: Text
    format: str = "auto"


class Environment(Section, frozen=True, kw_only=True):
    """What servers get besides their own env: a file of NAME=value lines, and variables passed on (globs)."""

    file: str | None = None
    pass_: tuple[str, ...] = msgspec.field(
        name="pass",
        default=(
            *("PATH", "SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"),
            *("*_PROXY", "*_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
            "NODE_EXTRA_CA_CERTS",
        ),
    )


_HINT = r"^(readOnlyHint|destructiveHint)(=(true|false))?$"


class ApprovalRule(Section, frozen=True, kw_only=True):
    """First match wins; what is not given matches everything."""

    then: Then
    profile: str | None = None
    server: str | None = None
    tool: str | None = None
    annotation: Annotated[str, msgspec.Meta(pattern=_HINT)] | None = None
    arguments: dict[str, Any] | None = None


class Approval(Section, frozen=True, kw_only=True):
    default: Literal["allow", "ask", "deny", "ask-destructive"] = "ask-destructive"
    rules: tuple[ApprovalRule, ...] = ()
    wait_s: Seconds = 60.0
    elicit: bool = True  # ask through the MCP client's own form, where it has one
    notify: bool = True  # desktop notifications


class HookMatch(Section, frozen=True, kw_only=True):
    """Which calls a hook is for: as in a rule of `approval`; what is not given matches everything."""

    profile: str | None = None
    server: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None


class Hook(Section, frozen=True, kw_only=True):
    """`command`: words, or a text for the shell."""

    command: Text | Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    match: HookMatch | None = None
    timeout_s: Seconds = 10.0
    on_error: Literal["open", "closed"] = "closed"


class HookSettings(Section, frozen=True, kw_only=True):
    pre_call: tuple[Hook, ...] = ()
    post_call: tuple[Hook, ...] = ()


class JournalSettings(Section, frozen=True, kw_only=True):
    arguments: bool = False
    max_bytes: Count = 64 * 1024 * 1024
    keep: Count = 5


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole effective config."""

    tool_search: ToolSearch = ToolSearch()
    connectors: Connectors = Connectors()
    sources: Literal["auto"] | tuple[SourceFile, ...] = "auto"
    servers: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    environment: Environment = Environment()
    profiles: dict[str, Profile] = msgspec.field(default_factory=dict)
    approval: Approval = Approval()
    hooks: HookSettings = HookSettings()
    journal: JournalSettings = JournalSettings()
    limits: Limits = msgspec.field(default_factory=Limits)


_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*(B|KB|KiB|MB|MiB|GB|GiB)$", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 1000, "kib": 1 << 10, "mb": 10**6, "mib": 1 << 20, "gb": 10**9, "gib": 1 << 30}
_MAY_BE_ZERO = (
    *("settle_s", "deleted_grace_s", "reconnect_jitter", "list_min_interval_s", "drain_s"),
    *("cooldown_s", "cooldown_max_s", "compile_inline_tools", "first_connect_delays_s", "worker_idle_s"),
    *("reconnect_delays_s", "stop_stdin_s", "stop_term_s", "journal_gather_s"),
)
_MISTAKES = 50  # told of one section
_LARGEST = 1 << 32  # of any limit: memory and clocks know larger ones no more than none
_TOP = ("tools", "sources", "servers", "environment", "profiles", "approval", "hooks", "journal", "limits")


def load_settings(
    text: str, file: str, dialect_options: DialectOptionsByName
) -> tuple[Settings | None, list[Problem]]:
    """The settings of a config text, None where an error keeps it out of force; and every problem."""
    if not text:  # there is no file: PyYAML takes a tenth of a start
        return Settings(), []
    from toolsearchd.config.yaml_text import parse_yaml

    document = parse_yaml(text, file)
    if not document.is_readable:
        return None, document.problems
    loader = _Loader(document, file, dialect_options)
    settings = loader.load(document.value)
    failed = any(problem.level == "error" for problem in loader.problems)
    return (None if failed else settings), loader.problems


class _Loader:
    def __init__(self, document: ConfigDocument, file: str, dialect_options: DialectOptionsByName) -> None:
        self._dialect_options = dialect_options
        self._document = document
        self._file = file
        self.problems: list[Problem] = list(document.problems)

    def load(self, value: object) -> Settings:
        if value is None:
            return Settings()
        if not isinstance(value, Mapping):
            self._error("expected a mapping of sections", ())
            return Settings()
        for key in value:
            if key not in _TOP:
                self._error(f"unknown key{nearest(key, _TOP)}; there are {', '.join(_TOP)}", (key,))
        tools = value.get("tools") or {}
        if not isinstance(tools, Mapping):
            self._error("expected a mapping with tool_search and connectors", ("tools",))
            tools = {}
        for key in tools:
            if key not in ("tool_search", "connectors"):
                self._warn("unknown key; it is ignored", ("tools", key))
        tool_search, odd = resolve_tool_search(tools.get("tool_search"))
        self._warn_all(("tools", "tool_search"), odd)
        connectors, odd = resolve_connectors(tools.get("connectors"))
        self._warn_all(("tools", "connectors"), odd)
        return Settings(
            tool_search=tool_search,
            connectors=connectors,
            sources=self._sources(value.get("sources", "auto")),
            servers=self._servers(value.get("servers")),
            environment=self._section(value, "environment", Environment),
            profiles=self._profiles(value.get("profiles")),
            approval=self._section(value, "approval", Approval),
            hooks=self._section(value, "hooks", HookSettings),
            journal=self._section(value, "journal", JournalSettings),
            limits=self._limits(value),
        )

    def _sources(self, value: object) -> Any:
        if value == "auto" or value is None:
            return "auto"
        if not isinstance(value, list):
            self._error("expected `auto`, or a list of {path, format}", ("sources",))
            return "auto"
        return tuple(self._source(item, ("sources", at)) for at, item in enumerate(value))

    def _source(self, item: object, path: Path) -> SourceFile:
        fallback = SourceFile(path="?")
        if not isinstance(item, Mapping):
            self._error("expected {path, format}", path)
            return fallback
        source = self._converted(item, path, SourceFile, fallback)
        assert isinstance(source, SourceFile)
        known = f"there are {', '.join(FORMATS)}"
        if source is fallback:
            pass  # said already
        elif "\0" in source.path:
            self._error("a path can't hold NUL", (*path, "path"))
        elif source.format == "auto":
            if format_of(source.path) is None:
                self._error(f"the name tells no format; give one: {known}", (*path, "format"))
        elif source.format not in FORMATS:
            self._error(
                f"no format {source.format!r}{nearest(source.format, FORMATS)}; {known}", (*path, "format")
            )
        return source

    def _limits(self, value: Mapping[str, Any]) -> Limits:
        limits = self._section(value, "limits", Limits)
        assert isinstance(limits, Limits)
        for field in msgspec.structs.fields(Limits):
            given = getattr(limits, field.name)
            for number in given if isinstance(given, tuple) else (given,):
                may_be_zero = field.name in _MAY_BE_ZERO
                if number < 0 or (number == 0 and not may_be_zero):
                    least = "0 or more" if may_be_zero else "more than 0"
                    self._error(f"expected {least}", ("limits", field.name))
                elif number > _LARGEST:
                    self._error(f"expected at most {_LARGEST}", ("limits", field.name))
        return limits

    def _servers(self, value: object) -> dict[str, dict[str, Any]]:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self._error("expected a mapping of server name to entry", ("servers",))
            return {}
        # A trial reading without variables: those are reported when the servers are made.
        nothing = ExpandContext(environ={}, home="/")
        reader = EntryReader(self._file, ("servers",), None, nothing, place=self._document.place, strict=True)
        for name, entry in value.items():
            reader.read(name, entry, Origin(file=self._file, format="toolsearchd", entry=name))
        self.problems += [
            msgspec.structs.replace(problem, message=problem.message.removesuffix(f"; {LEFT_OUT}"))
            for problem in reader.problems  # not the entry is left out: the file is not in force
            if not problem.message.endswith(NOT_STARTED)
        ]
        return {name: dict(entry) for name, entry in value.items() if isinstance(entry, Mapping)}

    def _profiles(self, value: object) -> dict[str, Profile]:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self._error("expected a mapping of profile name to profile", ("profiles",))
            return {}
        return {name: self._profile(name, profile or {}) for name, profile in value.items()}

    def _profile(self, name: str, value: object) -> Profile:
        path = ("profiles", name)
        profile = self._converted(value, path, Profile, Profile())
        assert isinstance(profile, Profile)
        foreign = self._dialect_options.get(profile.dialect or "")
        _, odd = profile.tool_search(ToolSearch(), is_foreign=foreign is not None)
        self._warn_all((*path, "options"), odd)
        if foreign is not None:
            for key in foreign.unknown(profile.options):
                self._warn("unknown key; it is ignored", (*path, "options", *key))
            if (refused := foreign.refused(profile.options)) is not None:
                self._error(refused[1], (*path, "options", *refused[0]))
        return profile

    def _section(self, value: Mapping[str, Any], key: str, kind: Any) -> Any:
        given = value.get(key)
        return kind() if given is None else self._converted(given, (key,), kind, kind())

    def _converted(self, value: object, path: Path, kind: Any, fallback: Any) -> Any:
        """Every mistake of it is reported, as far as one can be looked past."""
        given, is_well = copy.deepcopy(value), True
        mended: set[Path] = set()  # objects that a key was taken out of: what they lack is no mistake
        for _ in range(_MISTAKES):
            try:
                if not _is_finite(given):
                    raise msgspec.ValidationError("Expected finite numbers")
                found = msgspec.convert(_with_sizes(given, kind), kind)
                return found if is_well else fallback
            except msgspec.ValidationError as error:
                is_missing = "missing required field" in str(error)
                if is_missing and _place(str(error))[1] in mended:
                    break
                where = self._report(error, path, kind)
                if is_missing or not _take_out(given, where):
                    break
                mended.add(where[:-1])
                is_well = False
        return fallback

    def _report(self, error: msgspec.ValidationError, path: Path, kind: Any) -> Path:
        """Where the mistake is, below `path`."""
        message, where = _place(unquoted(str(error)))
        message = in_words(with_choices(message, kind, where))
        unknown = re.search(r"unknown field (.+)", message)
        if unknown:
            key = unknown.group(1)
            fields = _fields_at(kind, where)
            message = f"unknown key{nearest(key, fields)}" + (
                f"; there are {', '.join(fields)}" if 0 < len(fields) <= 12 else ""
            )
            where = (*where, key)
        self._error(message, (*path, *where))
        return where

    def _warn_all(self, path: Path, warnings: Warnings) -> None:
        for key, message in warnings:
            self._warn(message, (*path, key) if key else path)

    def _warn(self, message: str, path: Path) -> None:
        self.problems.append(self._problem("warning", message, path))

    def _error(self, message: str, path: Path) -> None:
        self.problems.append(self._problem("error", message, path))

    def _problem(self, level: Literal["error", "warning"], message: str, path: Path) -> Problem:
        return problem_at(level, message, self._file, path, self._document.place(path))


def _is_finite(value: object) -> bool:
    """`.inf` and `.nan` are numbers to YAML; no bound and no time may be one."""
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _with_sizes(value: object, kind: Any) -> object:
    """`64MiB` where bytes are asked for."""
    if not isinstance(value, Mapping):
        return value
    sizes = {f.encode_name for f in msgspec.structs.fields(kind) if f.encode_name.endswith("bytes")}
    found = dict(value)
    for key in sizes & found.keys():
        match = _SIZE.match(found[key].strip()) if isinstance(found[key], str) else None
        if match:
            found[key] = int(float(match[1]) * _UNITS[match[2].lower()])
    return found


def _place(error: str) -> tuple[str, Path]:
    """msgspec's `Expected … - at `$.a[0].b`` as a message and a path."""
    message, _, at = error.partition(" - at `")
    parts = re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", at)
    return _plain(message), tuple(int(index) if index else name for name, index in parts)


def _plain(message: str) -> str:
    return message.replace("`", "").replace("Expected", "expected").replace("Object contains", "contains")


def _fields_at(kind: Any, where: Path) -> list[str]:
    """The keys that the struct at `where` has, as far as that is plain."""
    if not where:
        return [field.encode_name for field in msgspec.structs.fields(kind)]
    name, *rest = [part for part in where if isinstance(part, str)] or [""]
    for field in msgspec.structs.fields(kind):
        if field.encode_name == name and not rest:
            for candidate in (field.type, *getattr(field.type, "__args__", ())):
                if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
                    return _fields_at(candidate, ())
    return []


def _take_out(value: Any, where: Path) -> bool:
    """Takes the key at `where` out of nested mappings, so that what else is wrong can be seen."""
    for part in where[:-1]:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    if not where or not isinstance(value, dict) or where[-1] not in value:
        return False
    del value[where[-1]]
    return True
