"""Variables in entries, each client by its own rules (none of them copies another).

A rule is a pattern and what an unset name becomes. Values are never in a message: only the field's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath

import msgspec


class ExpandContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where variables come from. `workspace`: the project's root, for a project's config. Never shown."""

    environ: Mapping[str, str]
    home: str
    workspace: str = ""


Replace = Callable[[re.Match[str], ExpandContext], str | None]
"""What a match becomes; None: the variable is unset (it stays literal and is reported)."""


class Rule(msgspec.Struct, frozen=True):
    """`bare`: finds those that need no closing brace."""

    pattern: re.Pattern[str]
    replace: Replace
    bare: re.Pattern[str] | None = None


def _shell(match: re.Match[str], context: ExpandContext) -> str | None:
    """`${VAR}` and `${VAR:-default}`: set but empty counts as set."""
    return context.environ.get(match["name"], match["default"])


def _env(match: re.Match[str], context: ExpandContext) -> str | None:
    return context.environ.get(match["name"])


def _env_or_empty(match: re.Match[str], context: ExpandContext) -> str | None:
    return context.environ.get(match["name"], "")


def _editor(match: re.Match[str], context: ExpandContext) -> str | None:
    """`${env:VAR}` and the editor's places; what the editor would ask a person for stays unset."""
    if match["env"] is not None:
        return context.environ.get(match["env"])
    return _places(context).get(match["name"] or "")


def _hermes(match: re.Match[str], context: ExpandContext) -> str | None:
    """`${VAR}`, `${env:VAR}` and the places; unset or empty stays literal."""
    if match["env"] is not None:
        return context.environ.get(match["env"]) or None
    return _places(context).get(match["name"]) or context.environ.get(match["name"]) or None


def _places(context: ExpandContext) -> dict[str, str]:
    """A user's file belongs to no folder: there, the workspace stays unset."""
    places = {"userHome": context.home, "pathSeparator": "/", "/": "/"}
    if context.workspace:
        places["workspaceFolder"] = context.workspace
        places["workspaceFolderBasename"] = PurePath(context.workspace).name
    return places


_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
RULES: dict[str, Rule | None] = {
    "none": None,
    "shell": Rule(re.compile(rf"\$\{{(?P<name>{_NAME})(?::-(?P<default>[^}}]*))?\}}"), _shell),
    "braces": Rule(
        re.compile(rf"\$\{{(?P<name>{_NAME})(?::-(?P<default>[^}}]*))?\}}|\$(?P<bare>{_NAME})"),
        lambda m, c: c.environ.get(m["name"] or m["bare"], m["default"]),
        re.compile(rf"\$(?P<bare>{_NAME})(?P<name>)(?P<default>(?!))?"),
    ),
    "plain": Rule(re.compile(r"\$\{(?P<name>[A-Z_][A-Z0-9_]*)\}"), _env),
    # Codex expands nothing; what it takes from variables by name, its format writes like this.
    "codex": Rule(re.compile(r"\$\{env_var:(?P<name>[^}]+)\}"), _env),
    "opencode": Rule(re.compile(r"\{env:(?P<name>[^}]+)\}"), _env_or_empty),
    "editor": Rule(
        re.compile(
            r"\$\{(?:env:(?P<env>[^}]+)|(?:input|config|command):[^}]+"
            r"|(?P<name>userHome|workspaceFolderBasename|workspaceFolder|pathSeparator|/))\}"
        ),
        _editor,
    ),
    "hermes": Rule(re.compile(rf"\$\{{(?:env:(?P<env>[^}}]+)|(?P<name>{_NAME}|/))\}}"), _hermes),
}


def expand(text: str, rule: Rule | None, context: ExpandContext) -> tuple[str, tuple[str, ...]]:
    """The expanded text, and the variables in it that are unset (they stay as they are written)."""
    if rule is None or ("$" not in text and "{env:" not in text):
        return text, ()
    unset: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        value = rule.replace(match, context)
        if value is None:
            unset.append(match[0])
            return match[0]
        return value

    # Behind the last brace no other form ends, and each beginning of one would look for its end in vain.
    closed = text.rfind("}") + 1
    rest = text[closed:] if rule.bare is None else rule.bare.sub(replaced, text[closed:])
    return rule.pattern.sub(replaced, text[:closed]) + rest, tuple(unset)
