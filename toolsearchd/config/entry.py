"""One entry of a client's config → a `ServerSpec`, with what is odd about it.

Takes the shape that most clients share (command, args, env, cwd | url, headers, type, disabled) and the
daemon's own keys beside it; a format with other names renames them first.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from toolsearchd.config.expand import ExpandContext, Rule, expand
from toolsearchd.config.model import Origin, Problem, ServerSpec

_TRANSPORTS = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "remote": "http",
    "local": "stdio",
    "sse": "sse",
}
_OWN_KEYS = (
    "supports_parallel_tool_calls",
    "max_concurrency",
    "sharing",
    "start",
    "trust",
    "pins",
    "approval",
    "pass_env",
    "unvalidatable",
    "protocol",
)


class EntryError(Exception):
    """The entry can't be used; `field` says which part."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class EntryReader:
    """Reads the entries of one file under one expansion rule."""

    def __init__(self, file: str, path: str, rule: Rule | None, context: ExpandContext) -> None:
        self._file = file
        self._path = path
        self._rule = rule
        self._context = context
        self.problems: list[Problem] = []

    def read(self, name: str, entry: object, origin: Origin) -> ServerSpec | None:
        """None where the entry is unusable (reported) or is our own MCP door (silently: it is us)."""
        try:
            if not isinstance(entry, Mapping):
                raise EntryError("expected a mapping (command, args, … or url, headers, …)")
            spec = self._spec(name, entry, origin)
        except (EntryError, msgspec.ValidationError) as error:
            field = getattr(error, "field", "")
            self._report("error", f"{error}; the entry is left out", name, field)
            return None
        return None if is_own_door(spec.command) else spec

    def _spec(self, name: str, entry: Mapping[str, Any], origin: Origin) -> ServerSpec:
        url = self._text(name, entry, "url")
        command = self._command(name, entry)
        if url and command:
            self._report("warning", "both url and command are given; url is used", name, "command")
        if not url and not command:
            raise EntryError("neither a command nor a url is given", "command")
        own = {key: entry[key] for key in _OWN_KEYS if key in entry}
        plain = {
            "name": name,
            "transport": self._transport(entry, url),
            "command": () if url else command,
            "env": {} if url else self._texts(name, entry, "env"),
            "cwd": "" if url else self._text(name, entry, "cwd"),
            "url": url,
            "headers": self._texts(name, entry, "headers") if url else {},
            "origins": (origin,),
            "enabled": entry.get("enabled", True) is not False and entry.get("disabled") is not True,
            "project": origin.project,
            **self._seconds(entry, "timeout", "timeout_s"),
            **self._seconds(entry, "connect_timeout", "connect_timeout_s"),
            **self._seconds(entry, "idle_timeout", "idle_timeout_s"),
            **self._filter(entry),
            **own,
        }
        if plain.get("trust") not in (None, "full", "untrusted"):
            self._report(
                "warning", "trust is neither full nor untrusted; untrusted is in force", name, "trust"
            )
            plain["trust"] = "untrusted"
        return msgspec.convert(plain, ServerSpec)

    def _transport(self, entry: Mapping[str, Any], url: str) -> str:
        given = entry.get("transport", entry.get("type"))
        if isinstance(given, str) and given not in _TRANSPORTS:
            raise EntryError(f"unknown type {given!r}; stdio, http and sse exist", "type")
        if not url:
            return "stdio"
        named = _TRANSPORTS.get(given) if isinstance(given, str) else None
        if named in ("http", "sse"):
            return named
        return "sse" if PurePath(url.split("?")[0]).name == "sse" else "http"

    def _command(self, name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
        command, args = entry.get("command"), entry.get("args")
        if command is None:
            return ()
        if isinstance(command, list):
            parts = command
        elif isinstance(command, str):
            parts = [command, *self._args(args)]
        else:
            raise EntryError("expected a text", "command")
        if not all(isinstance(part, str | int | float) for part in parts) or not parts or not parts[0]:
            raise EntryError("expected a non-empty list of texts", "args")
        return tuple(
            self._expanded(name, "command" if at == 0 else f"args[{at - 1}]", str(part))
            for at, part in enumerate(parts)
        )

    def _args(self, args: object) -> list[Any]:
        if args is None:
            return []
        if isinstance(args, list):
            return args
        if isinstance(args, str):
            try:
                parsed = json.loads(args)
            except ValueError:
                return shlex.split(args)
            return parsed if isinstance(parsed, list) else shlex.split(args)
        raise EntryError("expected a list of texts", "args")

    def _text(self, name: str, entry: Mapping[str, Any], key: str) -> str:
        value = entry.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise EntryError("expected a text", key)
        return self._expanded(name, key, value)

    def _texts(self, name: str, entry: Mapping[str, Any], key: str) -> dict[str, str]:
        value = entry.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise EntryError("expected a mapping of name to text", key)
        found = {}
        for field, text in value.items():
            if text is None:
                continue
            if not isinstance(text, str | int | float):
                raise EntryError("expected a text", f"{key}.{field}")
            shown = str(text).lower() if isinstance(text, bool) else str(text)
            found[str(field)] = self._expanded(name, f"{key}.{field}", shown)
        return found

    def _seconds(self, entry: Mapping[str, Any], key: str, to: str) -> dict[str, float]:
        value = entry.get(key)
        if value is None:
            return {}
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise EntryError("expected a number of seconds", key)
        return {to: float(value)}

    def _filter(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        tools = entry.get("tools")
        if not isinstance(tools, Mapping):
            return {}
        found: dict[str, Any] = {}
        for key in ("include", "exclude"):
            value = tools.get(key)
            if value is None:
                continue
            names = [value] if isinstance(value, str) else value
            if not isinstance(names, list) or not all(isinstance(item, str) for item in names):
                raise EntryError("expected a list of tool names or globs", f"tools.{key}")
            found[key] = tuple(names)
        return found

    def _expanded(self, name: str, field: str, text: str) -> str:
        value, unset = expand(text, self._rule, self._context)
        if unset:
            self._report("warning", "a variable in it is not set; it is used as it is written", name, field)
        return value

    def _report(self, level: Any, message: str, name: str, field: str) -> None:
        path = ".".join(part for part in (self._path, name, field) if part)
        self.problems.append(Problem(level=level, message=message, file=self._file, path=path))


def is_own_door(command: tuple[str, ...]) -> bool:
    """Would this command start `toolsearchctl mcp`? Then the entry is the daemon itself."""
    if not command:
        return False
    words = [PurePath(word).name for word in command]
    if "mcp" not in words:
        return False
    before = command[: len(words) - 1 - words[::-1].index("mcp")]
    return any(PurePath(word).name == "toolsearchctl" or word == "toolsearchd.ctl" for word in before)
