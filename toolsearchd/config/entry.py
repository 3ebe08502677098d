"""One entry of a client's config → a `ServerSpec`, with what is odd about it.

Takes the shape that most clients share (command, args, env, cwd | url, headers, type, disabled) and the
daemon's own keys beside it; a format with other names renames them first.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from toolsearchd.config.choices import with_choices
from toolsearchd.config.document import Path, Place, problem_at
from toolsearchd.config.expand import ExpandContext, Rule, expand
from toolsearchd.config.masking import unquoted
from toolsearchd.config.model import Origin, Problem, ServerSpec
from toolsearchd.config.needs import mend_of, need_of, placeholder_in
from toolsearchd.config.other_clients import keys_of_others
from toolsearchd.config.restrictions import Restrictions
from toolsearchd.config.words import split_words

_TRANSPORTS = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "https": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "remote": "http",
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
    "validate",
    "unvalidatable",
    "protocol",
    "breaker",
)
KEYS = (
    *("command", "args", "env", "cwd", "url", "headers", "type", "transport", "enabled", "disabled"),
    *("timeout", "connect_timeout", "idle_timeout", "tools"),
    *_OWN_KEYS,
)
"""Every key of an entry under the daemon's own `servers:`."""

MODES = "modes"
"""Where a format puts the approvals of single tools into the common entry: a tuple, as no file has one."""
LEFT_OUT = "the entry is left out"
UNSET = "a variable in it is not set"
"""How the warning begins where an entry holds a variable that has no value."""
NOT_STARTED = "is not started before"
"""How the warning ends where an entry needs what is not there."""

_FALSE = ("false", "no", "off", "0", "")


NOT_YET = "understood, and has no effect yet"


class EntryError(Exception):
    """The entry can't be used; `field` says which part."""

    def __init__(self, message: str, *field: str | int) -> None:
        super().__init__(message)
        self.field = field


class EntryReader:
    """Reads the entries of one section under one expansion rule.

    `strict`: what is unknown or odd is an error (the daemon's own file; a client's has keys of its own).
    `root`: where relative places begin and a server starts, for a project's entries. `place`: of a path.
    """

    def __init__(
        self,
        file: str,
        path: Path,
        rule: Rule | None,
        context: ExpandContext,
        *,
        place: Callable[[Path], Place],
        strict: bool = False,
        root: str = "",
        milliseconds: bool = False,
    ) -> None:
        self._file = file
        self._path = path
        self._rule = rule
        self._context = context
        self._place = place
        self._strict = strict
        self._root = root
        self._milliseconds = milliseconds
        self._needs = ""  # the first thing that the entry at hand needs
        self.problems: list[Problem] = []

    def read(self, name: str, entry: object, origin: Origin) -> ServerSpec | None:
        """None where the entry is unusable (reported) or is our own MCP door (silently: it is us)."""
        try:
            if not name.strip() or _is_odd(name):
                raise EntryError("the name is empty, or holds what can't be written")
            if not isinstance(entry, Mapping):
                raise EntryError("expected a mapping (command, args, … or url, headers, …)")
            if self._strict:
                self._check_keys(entry, KEYS, ())
            self._needs = ""
            spec = self._spec(name, entry, origin)
        except EntryError as error:
            self._report("error", f"{error}; {LEFT_OUT}", name, *error.field)
            return None
        return None if is_own_door(spec.command) else spec

    def _check_keys(self, entry: Mapping[str, Any], known: tuple[str, ...], at: tuple[str, ...]) -> None:
        for key in entry:
            if key not in known:
                import difflib  # mistakes are seldom: not at every start

                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f", did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
                raise EntryError(f"unknown key{hint}", *at, str(key))

    def _spec(self, name: str, entry: Mapping[str, Any], origin: Origin) -> ServerSpec:
        url = self._text(name, entry, "url")
        command = self._command(name, entry)
        if url and command:
            self._report("warning", "both url and command are given; url is used", name, "command")
        for other, key in keys_of_others(entry):
            self._report("warning", f"another client's key, here it is {key}: it is not read", name, other)
        if not url and not command:
            raise EntryError("neither a command nor a url is given", "command")
        if "\n" in url or "\r" in url:
            raise EntryError("a line break can't be part of it", "url")
        plain = {
            "name": name,
            "transport": self._transport(entry, url),
            "command": () if url else command,
            "env": {} if url else self._texts(name, entry, "env"),
            "cwd": "" if url else self._cwd(name, entry),
            "url": url,
            "headers": self._texts(name, entry, "headers") if url else {},
            "headers_helper": self._text(name, entry, "headersHelper") if url else "",
            "env_file": "" if url else self._path_of(self._text(name, entry, "envFile")),
            "origins": (origin,),
            "enabled": self._enabled(entry),
            "project": origin.project,
            **self._seconds(entry, "timeout", "timeout_s"),
            **self._seconds(entry, "connect_timeout", "connect_timeout_s"),
            **self._seconds(entry, "idle_timeout", "idle_timeout_s"),
            **self._filter(entry),
            **{key: entry[key] for key in _OWN_KEYS if entry.get(key) is not None},
        }
        if not self._strict and plain.get("trust") not in (None, "full", "untrusted"):
            self._report(
                "warning", "trust is neither full nor untrusted; untrusted is in force", name, "trust"
            )
            plain["trust"] = "untrusted"
        if not self._strict and not isinstance(plain.get("validate", True), bool):
            self._report("warning", "validate is neither true nor false; it is not read", name, "validate")
            del plain["validate"]
        spec = self._converted({**plain, "needs": self._needs})
        for key, texts in (("pins", spec.pins), ("pass_env", spec.pass_env)):
            if any(map(_is_odd, texts)):
                raise EntryError("holds a character that can't be passed on", key)
        if spec.sharing != "shared":
            self._report("warning", f"{spec.sharing} is {NOT_YET}; shared is in force", name, "sharing")
        if spec.max_concurrency < 1:
            raise EntryError("expected a whole number of at least 1", "max_concurrency")
        modes = entry.get(MODES)
        said = Restrictions(
            client=origin.format,
            enabled=spec.enabled,
            filters=() if spec.include is None and not spec.exclude else ((spec.include, spec.exclude),),
            modes=modes if isinstance(modes, tuple) else (),
        )
        return msgspec.structs.replace(spec, restrictions=(said,))

    def _converted(self, plain: Mapping[str, Any]) -> ServerSpec:
        try:
            return msgspec.convert(plain, ServerSpec)
        except msgspec.ValidationError as error:
            message, _, at = unquoted(str(error)).replace("Expected", "expected").partition(" - at `$.")
            key = at.rstrip("`").split("[")[0]
            message = with_choices(message.replace("`", ""), ServerSpec, (key,))
            raise EntryError(message, key) from error

    def _transport(self, entry: Mapping[str, Any], url: str) -> str:
        given = entry.get("transport", entry.get("type"))
        named = None
        if isinstance(given, str):
            named = _TRANSPORTS.get(given.strip().lower())
            if named is None:
                raise EntryError("unknown type; stdio, http and sse exist", "type")
        if not url:
            if named in ("http", "sse"):
                raise EntryError(f"the type is {named}, so a url is needed", "url")
            return "stdio"
        if named in ("http", "sse"):
            return str(named)
        return "sse" if PurePosixPath(url.split("?")[0]).name == "sse" else "http"

    def _command(self, name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
        command = entry.get("command")
        if command is None:
            return ()
        if isinstance(command, list):
            parts = [*command, *self._args(entry.get("args"))]
        elif isinstance(command, str):
            parts = [command, *self._args(entry.get("args"))]
            first, *rest = command.split()[:4] or [""]
            if rest and "/" not in first and not self._strict:
                args = ", ".join(map(json.dumps, rest))
                words = f"is one program: write {json.dumps(first)} and args: [{args}, …]"
                self._report("warning", words, name, "command")
        else:
            raise EntryError("expected a text", "command")
        if not parts or not parts[0]:
            raise EntryError("expected a program, not an empty text", "command")
        found = []
        for at, part in enumerate(parts):
            field: tuple[str | int, ...] = ("args", at - 1) if at else ("command",)
            if not isinstance(part, str | int | float):
                raise EntryError("expected a text", *field)
            found.append(self._expanded(name, _as_text(part), *field))
        return (self._at_home(found[0]), *found[1:])

    def _args(self, args: object) -> list[Any]:
        if args is None:
            return []
        if isinstance(args, list):
            return args
        if isinstance(args, str):
            for read in (json.loads, ast.literal_eval) if args.lstrip().startswith("[") else ():
                try:
                    parsed = read(args.strip())
                    if isinstance(parsed, list):
                        return parsed
                except (ValueError, SyntaxError, RecursionError, MemoryError):
                    pass  # no list in a text: words, as a shell splits them
            try:
                return list(split_words(args))
            except ValueError as error:
                raise EntryError(f"can't be split into words ({error}); give a list", "args") from error
        raise EntryError("expected a list of texts", "args")

    def _cwd(self, name: str, entry: Mapping[str, Any]) -> str:
        """Clients start a project's servers in the project; the daemon's own directory means nothing."""
        return self._path_of(self._text(name, entry, "cwd")) or self._root

    def _path_of(self, path: str) -> str:
        """`~` is the person's home; what is relative begins in the project, else at home."""
        path = self._at_home(path)
        return str(PurePosixPath(self._root or self._context.home, path)) if path else ""

    def _at_home(self, path: str) -> str:
        return self._context.home + path[1:] if path == "~" or path.startswith("~/") else path

    def _text(self, name: str, entry: Mapping[str, Any], key: str) -> str:
        value = entry.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise EntryError("expected a text", key)
        return self._expanded(name, value.strip() if key == "url" else value, key)

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
            if not field or "=" in field or _is_odd(field):
                raise EntryError("not a name that can be set", key, field)
            if not isinstance(text, str | int | float):
                raise EntryError("expected a text", key, field)
            shown = self._expanded(name, _as_text(text), key, field)
            if key == "headers" and ("\n" in shown or "\r" in shown):
                raise EntryError("a line break can't be part of a header", key, field)
            found[field] = shown
        return found

    def _enabled(self, entry: Mapping[str, Any]) -> bool:
        enabled, disabled = entry.get("enabled", True), entry.get("disabled", False)
        if self._strict:
            for key in ("enabled", "disabled"):
                if not isinstance(entry.get(key, True), bool):
                    raise EntryError("expected true or false", key)
        return _is_true(enabled) and not _is_true(disabled)

    def _seconds(self, entry: Mapping[str, Any], key: str, to: str) -> dict[str, float]:
        value = entry.get(key)
        if value is None:
            return {}
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise EntryError("expected a number of seconds", key)
        seconds = float(value) if abs(value) < 1e12 else math.inf
        if self._milliseconds and key != "idle_timeout":
            seconds /= 1000  # the client's own unit
        if not 0 <= seconds <= 1e9 or (seconds == 0 and key != "idle_timeout"):
            raise EntryError("expected a number of seconds above 0", key)
        return {to: seconds}

    def _filter(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        tools = entry.get("tools")
        if self._strict and tools is not None:
            if not isinstance(tools, Mapping):
                raise EntryError("expected {include: […], exclude: […]}", "tools")
            self._check_keys(tools, ("include", "exclude"), ("tools",))
        if not isinstance(tools, Mapping):
            return {}
        found: dict[str, Any] = {}
        for key in ("include", "exclude"):
            value = tools.get(key)
            if value is None:
                continue
            names = [value] if isinstance(value, str) else value
            if not isinstance(names, list) or not all(isinstance(item, str) for item in names):
                raise EntryError("expected a list of tool names or globs", "tools", key)
            found[key] = tuple(names)
        return found

    def _expanded(self, name: str, text: str, *field: str | int) -> str:
        value, unset = expand(text, self._rule, self._context)
        literal = unset[0] if unset else placeholder_in(value, sent=field[0] in ("url", "headers"))
        if literal:
            need = need_of(literal)
            self._need(
                need,
                UNSET if need.startswith("variable") else "only its client has it",
                name,
                *field,
            )
        if _is_odd(value):
            raise EntryError("holds a character that can't be passed on (NUL, or half of a pair)", *field)
        return value

    def _need(self, need: str, why: str, *at: str | int) -> None:
        """Something is not there: the entry is not to be started."""
        self._needs = self._needs or need
        path = (*self._path, *at)
        message = f"{why}; the server needs {need} and {NOT_STARTED}"
        self.problems.append(
            problem_at("warning", message, self._file, path, self._place(path), mend=mend_of(need))
        )

    def _report(self, level: Literal["error", "warning"], message: str, *at: str | int) -> None:
        path = (*self._path, *(part for part in at if part != ""))
        self.problems.append(problem_at(level, message, self._file, path, self._place(path)))


def _as_text(value: str | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_true(value: object) -> bool:
    return value.strip().lower() not in _FALSE if isinstance(value, str) else bool(value)


def _is_odd(text: str) -> bool:
    """NUL ends a C string, and a lone surrogate has no bytes: no process could be given either."""
    return "\0" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text))


def is_own_door(command: tuple[str, ...]) -> bool:
    """Would this command start `toolsearchctl mcp`? Then the entry is the daemon itself."""
    words = [word for part in command for word in ([part] if "toolsearch" not in part else part.split())]
    if "mcp" not in words:
        return False
    before = words[: len(words) - 1 - words[::-1].index("mcp")]
    return any(PurePosixPath(word).name == "toolsearchctl" or word == "toolsearchd.ctl" for word in before)
