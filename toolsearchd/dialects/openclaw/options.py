"""OpenClaw's `tools.toolSearch` as each of its generations reads it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import msgspec

from toolsearchd.config.dialect_options import DialectOptions
from toolsearchd.errors import ToolsearchdError

Generation = Literal["g1", "g2", "g3"]
Mode = Literal["code", "tools", "directory"]

DIALECT_GENERATIONS: dict[str, Generation] = {
    "openclaw": "g2",
    "openclaw-g1": "g1",
    "openclaw-g2": "g2",
    "openclaw-g3": "g3",
}
_KEYS = ("enabled", "mode", "searchDefaultLimit", "maxSearchLimit", "codeTimeoutMs")
_MODES: tuple[Mode, ...] = ("code", "tools", "directory")
MOST_MATCHES = 50  # whatever maxSearchLimit says
_DEFAULT_MOST, _DEFAULT_LIMIT = 20, 8
_LOCAL_MOST, _LOCAL_LIMIT = 10, 5  # of models that run on this machine: they are small
_DEFAULT_CODE_MS = 10_000


class OpenclawOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Effective. `mode` is what the config selects; `code_timeout_ms` belongs to its code mode."""

    enabled: bool
    mode: Mode
    search_default_limit: int
    max_search_limit: int
    code_timeout_ms: int = _DEFAULT_CODE_MS


def resolve_options(
    options: Mapping[str, Any], generation: Generation, *, local: bool = False
) -> OpenclawOptions:
    """The effective options of that system's config: `{tools: {toolSearch: …}}`, or its `toolSearch` alone.
    `local`: the model runs on this machine, and limits that are not given are smaller.

    Odd values give way to defaults silently, as they do there; what `read_options` refuses is read as that
    system's own repair would have it.
    """
    section = _section(options)
    unset_mode: Mode = "tools" if generation == "g3" else "code"
    if isinstance(section, Mapping):
        configured = generation == "g3" or any(key != "enabled" for key in section)
        mode = _mode(section.get("mode"), unset_mode)
        mode = "tools" if generation == "g3" and mode == "code" else mode
        return _made(section, enabled=_flag(section, configured), mode=mode, local=local)
    if isinstance(section, bool):
        return _made({}, enabled=section, mode=unset_mode, local=local)
    enabled = generation != "g1"
    return _made({}, enabled=enabled, mode="tools" if enabled else unset_mode, local=local)


def refused_option(options: Mapping[str, Any], generation: Generation) -> tuple[tuple[str, ...], str] | None:
    """Path and reason of what keeps that system from starting: what is left of code mode in the third."""
    path, section = _place(options)
    if generation == "g3" and isinstance(section, Mapping):
        if section.get("mode") == "code":
            return (*path, "mode"), "`code` is retired; `tools` takes its place, `directory` exists beside it"
        if "codeTimeoutMs" in section:
            return (*path, "codeTimeoutMs"), "it belongs to the retired code mode; leave it out"
    return None


def read_options(options: Mapping[str, Any], local: bool, *, generation: Generation) -> dict[str, Any]:
    """The effective options as a map in that system's words. Raises BAD_CONFIG, naming the key."""
    refused = refused_option(options, generation)
    if refused is not None:
        path = ".".join(refused[0])
        raise ToolsearchdError("BAD_CONFIG", f"{path}: {refused[1]}", path=path)
    found = msgspec.to_builtins(resolve_options(options, generation, local=local))
    assert isinstance(found, dict)
    return found


def unknown_options(options: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Paths of keys that no generation reads."""
    path, section = _place(options)
    top = path[:1]
    unknown: list[tuple[str, ...]] = [(key,) for key in options if (key,) != top]
    if len(path) > 1:
        unknown += [("tools", key) for key in options["tools"] if key != "toolSearch"]
    if isinstance(section, Mapping):
        unknown += [(*path, key) for key in section if key not in _KEYS]
    return unknown


def _place(options: Mapping[str, Any]) -> tuple[tuple[str, ...], object]:
    """Where toolSearch stands, and what is there."""
    tools = options.get("tools")
    if isinstance(tools, Mapping):
        return ("tools", "toolSearch"), tools.get("toolSearch")
    return ("toolSearch",), options.get("toolSearch")


def _section(options: Mapping[str, Any]) -> object:
    return _place(options)[1]


def _made(section: Mapping[str, Any], *, enabled: bool, mode: Mode, local: bool) -> OpenclawOptions:
    default_most, default_limit = (_LOCAL_MOST, _LOCAL_LIMIT) if local else (_DEFAULT_MOST, _DEFAULT_LIMIT)
    most = min(MOST_MATCHES, _positive(section.get("maxSearchLimit"), default_most))
    code_ms = _positive(section.get("codeTimeoutMs"), _DEFAULT_CODE_MS)
    return OpenclawOptions(
        enabled=enabled,
        mode=mode,
        search_default_limit=min(most, _positive(section.get("searchDefaultLimit"), default_limit)),
        max_search_limit=most,
        code_timeout_ms=max(1_000, min(60_000, code_ms)),
    )


def positive_integer(value: object) -> int | None:
    """The value if that system sees a whole number above 0 in it: `5.0` is one, `true` and `"5"` are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value > 0 and value == value // 1 and value != float("inf") else None


def _positive(value: object, default: int) -> int:
    found = positive_integer(value)
    return default if found is None else found


def _flag(section: Mapping[str, Any], default: bool) -> bool:
    value = section.get("enabled")
    return value if isinstance(value, bool) else default


def _mode(value: object, default: Mode) -> Mode:
    return next((mode for mode in _MODES if mode == value), default)


OPTIONS = tuple(
    DialectOptions(name=name, unknown=unknown_options, refused=partial(refused_option, generation=generation))
    for name, generation in DIALECT_GENERATIONS.items()
)
