"""Which entries of a client's config can the daemon serve in the client's place?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from toolsearchd.config.document import dotted
from toolsearchd.config.entry import LEFT_OUT, UNSET
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.install.clients import InstallTarget
from toolsearchd.config.install.door import is_door
from toolsearchd.config.model import Problem, ServerSpec

# Answers of a person, or a window's own folder: only the client has them.
_ASKS_CLIENT = re.compile(r"\$\{(?:(?:input|config|command):|workspaceFolder)")
_CREDENTIAL = re.compile(r"auth|token|key|secret|cookie|session|password", re.IGNORECASE)
_LOCAL = re.compile(r"localhost|127\.[\d.]+|::1|.*\.localhost")


class InstallChoice(NamedTuple):
    """`moved`: name → entry. `kept`: name → why it stays. `doors`: entries that are the daemon already.
    `variables`: places in moved entries that hold a variable, which the daemon must know."""

    moved: dict[str, Mapping[str, Any]]
    kept: dict[str, str]
    doors: dict[str, Mapping[str, Any]]
    variables: list[str]


def choose(
    client: InstallTarget,
    text: str,
    file: str,
    entries: Mapping[str, Any],
    keep: Collection[str],
    move: Collection[str],
) -> InstallChoice:
    """`keep`, `move`: names that a person decided on; what the daemon can't read stays all the same."""
    specs, problems = specs_of(client, text, file)
    faults = _faults(problems)
    found = InstallChoice({}, {}, {}, [])
    for name, entry in entries.items():
        spec = specs.get(name)
        if is_door(entry):
            found.doors[name] = entry
        elif spec is None or not isinstance(entry, Mapping):
            found.kept[name] = _why_unreadable(client, name, faults)
        elif name in keep:
            found.kept[name] = "you said so"
        elif name not in move and (reason := _why_not(client, spec, entry)):
            found.kept[name] = reason
        else:
            found.moved[name] = entry
    moved = {dotted((*client.section, name)) for name in found.moved}
    found.variables.extend(
        problem.path
        for problem in problems
        if problem.message.startswith(UNSET) and not moved.isdisjoint(_above(problem.path))
    )
    return found


def _above(path: str) -> list[str]:
    """What a dotted path may stand below: it, up to each of its dots."""
    return [path[:at] for at, character in enumerate(path) if character == "."]


def _faults(problems: Collection[Problem]) -> dict[str, str]:
    """Path, and what it stands below → the first error there."""
    found: dict[str, str] = {}
    for problem in problems:
        if problem.level == "error":
            for path in (problem.path, *_above(problem.path)):
                found.setdefault(path, problem.message)
    return found


def specs_of(
    client: InstallTarget, text: str, file: str
) -> tuple[dict[str, ServerSpec], tuple[Problem, ...]]:
    """What the daemon makes of a text's user-level entries, variables left as they are written."""
    context = ExpandContext(environ={}, home="/")
    parsed = client.format.parse(text, file, context, projects=False)
    return {spec.name: spec for spec in parsed.servers}, parsed.problems


def _why_unreadable(client: InstallTarget, name: str, faults: Mapping[str, str]) -> str:
    said = faults.get(dotted((*client.section, name)), "no entry")
    return f"the daemon can't read it: {said.removesuffix(f'; {LEFT_OUT}')}"


def _why_not(client: InstallTarget, spec: ServerSpec, entry: Mapping[str, Any]) -> str | None:
    """Why an entry works in its client only; None where it doesn't."""
    if any(_ASKS_CLIENT.search(text) for text in _texts(entry)):
        return f"it takes a value that only {client.title} has"
    if entry.get("envFile"):
        return "it takes variables from an envFile, which the daemon does not read"
    if spec.transport == "stdio":
        return None
    if any(entry.get(key) for key in client.login):
        return f"{client.title} logs in to it"
    if any(_CREDENTIAL.search(header) for header in spec.headers) or _needs_none(spec.url):
        return None
    return f"it may need the login that {client.title} keeps for it"


def _needs_none(address: str) -> bool:
    """An address of this machine, or one that holds its credential."""
    try:
        url = urlsplit(address)
        host = url.hostname or ""
    except ValueError:
        return False
    return bool(url.username or _CREDENTIAL.search(url.query) or _LOCAL.fullmatch(host))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
