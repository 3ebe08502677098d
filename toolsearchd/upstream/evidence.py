"""What a server left behind when it failed, and what that means: the decisive line, its mend. Pure.

The lines come without the server's secrets. Of each server the first rule that fits its last words counts,
then what its exit status says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from toolsearchd.records import Finding

_LINE_CHARS = 300


class Evidence(NamedTuple):
    """`stderr`: its last lines; `junk`: how many lines on its stdout were no messages."""

    name: str
    is_failed: bool
    reason: str
    command: tuple[str, ...] = ()
    stderr: Sequence[str] = ()
    junk: int = 0
    first_junk: str = ""


class _Rule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    message: Callable[[re.Match[str]], str]
    mend: Callable[[re.Match[str]], str]


def _rule(kind: str, pattern: str, message: str, mend: str) -> _Rule:
    """`{0}` in the texts is the first group that matched."""

    def told(text: str) -> Callable[[re.Match[str]], str]:
        return lambda match: text.format(next(filter(None, match.groups()), ""))

    return _Rule(kind, re.compile(pattern), told(message), told(mend))


_WORD = r"['\"`]?([\w@./+-]{1,200})['\"`]?"
_RULES = (
    _rule(
        "missing-module",
        rf"ModuleNotFoundError: No module named {_WORD}",
        "its Python has no module {0}",
        "install it for the Python that the entry names, or start the server by uvx or pipx",
    ),
    _rule(
        "missing-module",
        rf"Cannot find (?:module|package) {_WORD}",
        "Node finds no module {0}",
        "run `npm install` in the server's folder, or start it by npx",
    ),
    _rule(
        "missing-package",
        rf"(?:npm (?:ERR!|error) (?:code E)?404\b(?:.*?- GET \S+/(\S{{1,200}}))?|404 Not Found.*?{_WORD})",
        "there is no such package in the registry ({0})",
        "see the package's name and version in the entry's args",
    ),
    _rule(
        "missing-package",
        rf"(?:No matching distribution found for|Because) {_WORD}(?: was not found in the package registry)?",
        "there is no package {0} in the registry",
        "see the package's name and version in the entry's args",
    ),
    _rule(
        "certificate",
        r"(CERTIFICATE_VERIFY_FAILED|SELF_SIGNED_CERT\w*|UNABLE_TO_GET_ISSUER\w*|local issuer certificate)",
        "it does not trust a certificate ({0})",
        "name your authority's file in SSL_CERT_FILE, REQUESTS_CA_BUNDLE or NODE_EXTRA_CA_CERTS",
    ),
    _rule(
        "no-network",
        r"\b(ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|Temporary failure in name resolution)\b",
        "it reached no network ({0})",
        "see the network, and HTTPS_PROXY where there is a proxy; servers get the daemon's",
    ),
    _rule(
        "port-in-use",
        r"(EADDRINUSE|[Aa]ddress already in use)(?:.*?:\d+)?",
        "another program has its port ({0})",
        "end that program, or give the server another port in its entry",
    ),
    _rule(
        "no-permission",
        r"\b(EACCES|EPERM|[Pp]ermission denied|PermissionError)\b",
        "something is not allowed to it ({0})",
        "see who owns the file that its last words name",
    ),
    _rule(
        "missing-command",
        rf"(?:{_WORD}: (?:command )?not found\s*$|spawn {_WORD} ENOENT|env: {_WORD}: No such file)",
        "it starts {0}, which is not on its PATH",
        "install {0}, or write its directory into PATH of environment.file",
    ),
    _rule(
        "missing-variable",
        r"(?i:(?:missing|required|not set|not found|must set|please set|undefined|provide)\b[^\n]{0,80}?)"
        r"\b([A-Z][A-Z0-9]*_[A-Z0-9_]{2,60})\b",
        "it wants the variable {0}",
        "put {0} into the entry's env, or into environment.file",
    ),
    _rule(
        "missing-variable",
        r"\b([A-Z][A-Z0-9]*_[A-Z0-9_]{2,60})\b[^\n]{0,40}?"
        r"(?i:is required|is not set|not set|is missing|must be set|is undefined|not provided)",
        "it wants the variable {0}",
        "put {0} into the entry's env, or into environment.file",
    ),
    _rule(
        "wrong-version",
        r"(EBADENGINE|Unsupported engine|requires (?:a different )?(?:Node|Python)[^\n]{0,60}"
        r"|SyntaxError: [^\n]{0,80})",
        "it is written for another version ({0})",
        "see which Node or Python its documentation asks for, and name that one in the entry",
    ),
    _rule(
        "out-of-memory",
        r"(heap out of memory|MemoryError|Cannot allocate memory)",
        "it ran out of memory ({0})",
        "see what it was asked for, and how much memory is free",
    ),
    _rule(
        "missing-file",
        r"(?:can't open file|ENOENT[^'\"]{0,80}|No such file or directory:?) ['\"]([^'\"\n]{1,200})['\"]",
        "there is no file {0}",
        "see the paths in the entry's args",
    ),
)
_STATUS = re.compile(r"exited with status (\d+)|ended by signal (\d+)")
_STATUSES = {
    126: ("not-executable", "its program can't be run", "make it executable (`chmod +x`), or name its shell"),
    127: ("missing-command", "a command that it starts is not on its PATH", "see PATH in environment.file"),
    137: ("killed", "it was killed, mostly for want of memory", "see `dmesg`, and how much memory is free"),
    139: ("crashed", "it crashed (a bad memory access)", "update the server, or what it is built on"),
    159: ("forbidden-call", "a system call is forbidden to it", "see the sandbox or unit that it runs in"),
}


def read_evidence(found: Evidence) -> list[Finding]:
    findings = []
    if found.is_failed:
        findings += _told(found, _decisive(found) or _by_status(found))
        findings += _tildes(found)
    if found.junk:
        shown = f", the first: {found.first_junk[:_LINE_CHARS]}" if found.first_junk else ""
        findings.append(
            Finding(
                level="warning" if found.is_failed else "info",
                about=found.name,
                message=f"{found.junk} lines on its stdout are no messages{shown}",
                mend="its log belongs on stderr: see its options, or tell its author",
                kind="text-on-stdout",
            )
        )
    return findings


def _decisive(found: Evidence) -> tuple[str, str, str] | None:
    """(kind, message, mend) of the last words that a rule knows; what came last mostly decides."""
    lines = [line[-_LINE_CHARS:] for line in (*found.stderr, found.first_junk) if line]
    for rule in _RULES:
        for line in reversed(lines):
            match = rule.pattern.search(line)
            if match is not None:
                return rule.kind, rule.message(match), rule.mend(match)
    return None


def _by_status(found: Evidence) -> tuple[str, str, str] | None:
    match = _STATUS.search(found.reason)
    if match is None:
        return None
    return _STATUSES.get(int(match[1]) if match[1] else 128 + int(match[2]))  # as a shell has it


def _told(found: Evidence, known: tuple[str, str, str] | None) -> list[Finding]:
    if known is None:
        return []
    kind, message, mend = known
    return [Finding(level="warning", about=found.name, message=message, mend=mend, kind=kind)]


def _tildes(found: Evidence) -> Iterable[Finding]:
    for arg in found.command[1:]:
        if arg.startswith("~/"):
            yield Finding(
                level="warning",
                about=found.name,
                message=f"no shell expands the tilde of {arg} in its args",
                mend="write the whole path, or start it by `sh -c`",
                kind="tilde",
            )
