"""`tools.tool_search` and `tools.connectors`: the reference's names, clamps and aliases (HERMES behaviour).

An odd value here is never an error: it has an effective value, and a warning that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from toolsearchd.config.choices import nearest
from toolsearchd.config.masking import masked
from toolsearchd.globs import matches_glob

_SERVER_CHARS = 512  # of a glob in which a slash may end the server's part
Enabled = Literal["auto", "on", "off", "fit"]
Tri = Literal["auto", "on", "off"]
RANKERS = ("default", "hermes", "hermes-v1")  # that a person may choose; more are of their dialects alone

LANGUAGES = (
    *("basque", "catalan", "czech", "danish", "dutch", "english", "esperanto", "estonian", "finnish"),
    *("french", "german", "hungarian", "indonesian", "irish", "italian", "lithuanian", "norwegian"),
    *("polish", "portuguese", "romanian", "serbian", "sesotho", "spanish", "swedish", "turkish"),
)
"""Whose word endings can be read; languages in Latin letters, since those letters do not tell which it is."""
SCRIPTS = ("arabic", "armenian", "greek", "hindi", "russian", "tamil")
"""Languages that their letters tell: always read so."""

_ON = {"on", "true", "1", "yes"}
_OFF = {"off", "false", "0", "no"}


class LexiconFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files with word lists of the person's own; None: there is none."""

    thesaurus: str | None = None
    products: str | None = None
    ordinary_words: str | None = None
    stop_words: str | None = None
    replace: tuple[str, ...] = ()  # lists that the file replaces; to the others it adds


_OF_ALL = ("languages", "lexicon", "aliases", "tables", "semantic")
LISTS = tuple(name for name in LexiconFiles.__struct_fields__ if name != "replace")


class ToolSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Effective settings of tool search; see `etc/config.yaml` for what each does."""

    enabled: Enabled = "auto"
    fit_pct: float = 10.0
    threshold_pct: float = 5.0
    search_default_limit: int = 5
    max_search_limit: int = 25
    listing: Tri = "auto"
    listing_max_tokens: int = 4000
    ranker: str = "default"
    languages: tuple[str, ...] = ("english",)
    tables: bool = True  # the second stage with its word table; without it, the ranking by words alone
    semantic: bool = True  # the sentence model, where the extra is installed
    lexicon: LexiconFiles = LexiconFiles()
    aliases: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    defer: tuple[str, ...] | None = None  # core tools to hide all the same; None: nobody asked for any

    def aliases_of(self, server: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What `aliases` says for a server: (glob of its tools' names, extra words).

        A glob means tools of that name, all tools of a server of that name, or `server/tool`; either name may
        hold a slash itself.
        """
        found: dict[tuple[str, tuple[str, ...]], None] = {}
        for glob, words in self.aliases.items():
            if matches_glob(server, glob):
                found["*", words] = None
                continue
            found[glob, words] = None
            for slash in (at for at, character in enumerate(glob[:_SERVER_CHARS]) if character == "/"):
                if matches_glob(server, glob[:slash]):
                    found[glob[slash + 1 :], words] = None
        return tuple(found)


class Connectors(msgspec.Struct, frozen=True, kw_only=True):
    enabled: bool = True
    gateways: dict[str, Any] = msgspec.field(default_factory=dict)


Warnings = list[tuple[str, str]]
"""(key within the section, what was odd and what is in force)."""


def resolve_tool_search(section: object) -> tuple[ToolSearch, Warnings]:
    """The effective settings of a `tool_search` section of any shape, and a warning for each odd value."""
    if section is None or section is True:
        return ToolSearch(), []
    if section is False:
        return ToolSearch(enabled="off"), []
    if not isinstance(section, Mapping):
        return ToolSearch(), [
            ("", f"expected a mapping or a boolean, not {_shown(section)}; defaults in force")
        ]
    return _Resolver(section, ToolSearch()).resolve()


def overridden(base: ToolSearch, section: Mapping[str, Any]) -> tuple[ToolSearch, Warnings]:
    """`base` with what a section of some keys says; an odd value leaves the base's in force.

    What the one index of all tools is made with can't be another for some: it is the base's.
    """
    own = {key: value for key, value in section.items() if key not in _OF_ALL}
    settings, warnings = _Resolver(own, base).resolve()
    odd = [(key, "holds for all tools: set it under tools.tool_search") for key in section if key in _OF_ALL]
    return settings, warnings + odd


def with_presets(settings: ToolSearch, presets: Mapping[str, Any]) -> ToolSearch:
    """The settings with a dialect's own defaults where they keep the daemon's."""
    defaults = ToolSearch()
    changes = {
        key: value for key, value in presets.items() if getattr(settings, key) == getattr(defaults, key)
    }
    settings = msgspec.structs.replace(settings, **changes)
    return msgspec.structs.replace(
        settings, search_default_limit=min(settings.search_default_limit, settings.max_search_limit)
    )


def resolve_connectors(section: object) -> tuple[Connectors, Warnings]:
    """As `resolve_tool_search`; a bare boolean is accepted, what is malformed counts as enabled."""
    if isinstance(section, bool):
        return Connectors(enabled=section), []
    if not isinstance(section, Mapping):
        odd = section is not None
        return Connectors(), [("", f"expected a mapping, not {_shown(section)}; enabled")] if odd else []
    warnings: Warnings = []
    if gateways := section.get("gateways"):
        is_mapping = isinstance(gateways, Mapping)
        said = (
            "none is served yet; they have no effect" if is_mapping else "expected a mapping; none in force"
        )
        warnings.append(("gateways", said))
    enabled = section.get("enabled", True)
    if isinstance(enabled, str):
        enabled = enabled.strip().lower() not in (_OFF | {""})
    return Connectors(
        enabled=bool(enabled) if isinstance(enabled, bool | int) else True,
        gateways=dict(gateways) if isinstance(gateways, Mapping) else {},
    ), warnings


class _Resolver:
    def __init__(self, section: Mapping[str, Any], base: ToolSearch) -> None:
        self._section = section
        self._base = base
        self.warnings: Warnings = []

    def resolve(self) -> tuple[ToolSearch, Warnings]:
        base = self._base
        most = self._int("max_search_limit", base.max_search_limit, 1, 50)
        settings = ToolSearch(
            enabled=self._choice("enabled", base.enabled, ("fit",)),
            fit_pct=self._float("fit_pct", base.fit_pct),
            threshold_pct=self._float("threshold_pct", base.threshold_pct),
            max_search_limit=most,
            search_default_limit=self._int("search_default_limit", base.search_default_limit, 1, most),
            listing=self._choice("listing", base.listing, ()),
            listing_max_tokens=self._int("listing_max_tokens", base.listing_max_tokens, 200, 60_000),
            ranker=self._ranker(),
            languages=self._languages(),
            tables=self._switch("tables"),
            semantic=self._switch("semantic"),
            lexicon=self._lexicon(),
            aliases=self._aliases(),
            defer=self._defer(),
        )
        for key in self._section:
            if key not in ToolSearch.__struct_fields__:
                near = nearest(key, ToolSearch.__struct_fields__)
                self._warn(key, f"unknown key{near or ';'} it is ignored")
        return settings, self.warnings

    def _warn(self, key: str, message: str) -> None:
        self.warnings.append((key, message))

    def _choice(self, key: str, default: Any, more: tuple[str, ...]) -> Any:
        if key not in self._section:
            return default
        value = self._section[key]
        text = str(value).strip().lower() if isinstance(value, bool | int | str) else ""
        chosen = "on" if text in _ON else "off" if text in _OFF else text
        if chosen in ("auto", "on", "off", *more):
            return chosen
        self._warn(
            key, f"{_shown(value)} is none of {', '.join(('auto', 'on', 'off', *more))}; {default} in force"
        )
        return default

    def _float(self, key: str, default: float) -> float:
        value = self._number(key, default)
        return self._clamped(key, value, 0.0, 100.0)

    def _int(self, key: str, default: int, low: int, high: int) -> int:
        return int(self._clamped(key, int(self._number(key, default)), low, high))

    def _number(self, key: str, default: float) -> float:
        value = self._section.get(key, default)
        try:
            number = float(value)
            if not math.isfinite(number):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            self._warn(key, f"{_shown(value)} is not a number; {default} in force")
            return default
        return number

    def _clamped(self, key: str, value: float, low: float, high: float) -> float:
        clamped = min(max(value, low), high)
        if clamped != value and key in self._section:
            self._warn(key, f"{value:g} is outside {low:g} to {high:g}; {clamped:g} in force")
        return clamped

    def _ranker(self) -> Any:
        value = self._section.get("ranker", self._base.ranker)
        if value in RANKERS:
            return value
        in_force = self._base.ranker
        self._warn("ranker", f"{_shown(value)} is none of {', '.join(RANKERS)}; {in_force} in force")
        return in_force

    def _languages(self) -> tuple[str, ...]:
        value = self._section.get("languages", self._base.languages)
        found: dict[str, None] = {}
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            self._warn("languages", f"expected a list of languages, not {_shown(value)}; english in force")
            return ("english",)
        for item in listed:
            language = item.strip().lower() if isinstance(item, str) else ""
            if language in LANGUAGES:
                found[language] = None
            elif language in SCRIPTS:
                self._warn("languages", f"{language} needs no entry: its letters tell it; left out here")
            else:
                known = f"there are {', '.join(LANGUAGES)}"
                self._warn("languages", f"no word endings of {_shown(item)} are known; {known}")
        if not found:
            self._warn("languages", "none is left; english in force")
        return tuple(found) or ("english",)

    def _switch(self, key: str) -> bool:
        base: bool = getattr(self._base, key)
        if key not in self._section:
            return base
        value = self._section[key]
        text = str(value).strip().lower() if isinstance(value, bool | int | str) else ""
        if text not in _ON | _OFF:
            self._warn(key, f"{_shown(value)} is none of on, off; {'on' if base else 'off'} in force")
            return base
        return text in _ON

    def _lexicon(self) -> LexiconFiles:
        value = self._section.get("lexicon", self._base.lexicon)
        if value is None or isinstance(value, LexiconFiles):
            return value or LexiconFiles()
        if not isinstance(value, Mapping):
            self._warn("lexicon", f"expected a mapping of {', '.join(LISTS)} to files; none in force")
            return LexiconFiles()
        files: dict[str, str] = {}
        for key, path in value.items():
            if key in LISTS and isinstance(path, str) and path.strip() and "\0" not in path:
                files[key] = path
            elif key in LISTS and path is not None:
                self._warn("lexicon", f"{key}: expected a file's path, not {_shown(path)}; none in force")
            elif key not in LISTS and key != "replace":
                self._warn("lexicon", f"{_shown(key)} is no list; there are {', '.join(LISTS)} and replace")
        return LexiconFiles(**files, replace=self._replaced(value.get("replace"), files))

    def _replaced(self, value: object, files: Mapping[str, str]) -> tuple[str, ...]:
        listed = [value] if isinstance(value, str) else () if value is None else value
        if not isinstance(listed, list | tuple):
            self._warn("lexicon", f"replace: expected a list of {', '.join(LISTS)}; nothing is replaced")
            return ()
        names = [name if isinstance(name, str) else repr(name) for name in listed]
        for name in names:
            if name not in files:
                self._warn("lexicon", f"replace: {_shown(name)} has no file here; it is ignored")
        return tuple(name for name in dict.fromkeys(names) if name in files)

    def _aliases(self) -> dict[str, tuple[str, ...]]:
        value = self._section.get("aliases", self._base.aliases) or {}
        if not isinstance(value, Mapping):
            self._warn("aliases", "expected a mapping of tool or server glob to words; none in force")
            return {}
        found: dict[str, tuple[str, ...]] = {}
        for glob, words in value.items():
            listed = [words] if isinstance(words, str) else words
            if isinstance(listed, list | tuple) and all(isinstance(word, str) for word in listed):
                found[str(glob)] = tuple(listed)
            else:
                self._warn("aliases", f"{glob}: expected a list of words; it is ignored")
        return found

    def _defer(self) -> tuple[str, ...] | None:
        value = self._section.get("defer", self._base.defer)
        if value is None:
            return None
        if not isinstance(value, list | tuple | set | frozenset):
            in_force = ", ".join(self._base.defer or ()) or "none"
            self._warn("defer", f"expected a list of tool names, not {_shown(value)}; {in_force} in force")
            return self._base.defer
        return tuple(name for name in (str(item).strip() for item in value) if name)


def _shown(value: object) -> str:
    text = masked(repr(value))
    return text if len(text) <= 40 else text[:39] + "…"
