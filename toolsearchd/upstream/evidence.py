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
    """`{0}` in the texts is the first group that matched; ` ({0})` is left out where none did."""

    def told(text: str) -> Callable[[re.Match[str]], str]:
        def fill(match: re.Match[str]) -> str:
            shown = next(filter(None, match.groups()), "")
            return (text if shown else text.replace(" ({0})", "")).format(shown)

        return fill

    return _Rule(kind, re.compile(pattern), told(message), told(mend))


_WORD = r"['\"`]?([\w@./+-]{1,200})['\"`]?"
_NAME = r"\b(?!(?:HTTPS?|NO|ALL|FTP)_PROXY)([A-Z][A-Z0-9]*_[A-Z0-9_]{2,60})\b"
_RULES = (
    _rule(
        "missing-module",
        rf"No module named {_WORD}",
        "its Python has no module {0}",
        "install it for the Python that the entry names, or start the server by uvx or pipx",
    ),
    _rule(
        "missing-file",
        r"Cannot find module ['\"]([./][^'\"\n]{1,200})['\"]|(?:can't open file|ENOENT[^'\"]{0,80}"
        r"|No such file or directory:?) ['\"]([^'\"\n]{1,200})['\"]",
        "there is no file {0}",
        "see the paths in the entry's args, or install the server anew",
    ),
    _rule(
        "missing-module",
        rf"Cannot find (?:module|package) {_WORD}",
        "Node finds no module {0}",
        "run `npm install` in the server's folder, or start it by npx",
    ),
    _rule(
        "missing-package",
        r"404\s+['\"]?([^'\"\s]{1,200})['\"]? is not in this registry|404 Not Found - GET \S+/(\S{1,200})"
        r"|npm (?:ERR!|error) code (?:E404|ETARGET)|No matching version found for (\S{1,200})",
        "there is no such package in the registry ({0})",
        "see the package's name and version in the entry's args",
    ),
    _rule(
        "missing-package",
        rf"(?:No matching distribution found for|a version that satisfies the requirement) {_WORD}"
        rf"|Because {_WORD} was not found in the package registry",
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
        "no-docker",
        r"Cannot connect to the Docker daemon|Is the docker daemon running",
        "Docker does not run",
        "start Docker, or see that you may use it (`docker ps`)",
    ),
    _rule(
        "no-network",
        r"\b(ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|Temporary failure in name resolution)\b",
        "it reached no network ({0})",
        "see the network, and HTTPS_PROXY where there is a proxy; servers get the daemon's",
    ),
    _rule(
        "nobody-listens",
        r"\b(ECONNREFUSED|[Cc]onnection refused)\b",
        "nothing listens where it connects ({0})",
        "start what it connects to, or see the address in its entry",
    ),
    _rule(
        "port-in-use",
        r"(EADDRINUSE|[Aa]ddress already in use)",
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
        rf"{_WORD}: (?:command )?not found\s*$|command not found: {_WORD}|spawn {_WORD} ENOENT"
        rf"|env: {_WORD}: No such file|exec: {_WORD}: executable file not found|Failed to spawn: {_WORD}"
        rf"|^{_WORD}: No such file or directory \(os error 2\)",
        "it starts {0}, which is not on its PATH",
        "install {0}, or write its directory into PATH of environment.file",
    ),
    _rule(
        "missing-variable",
        rf"(?i:\b(?:missing|required|must set|please set|provide|KeyError:)[^\n]{{0,80}}?){_NAME}"
        rf"|{_NAME}[^\n]{{0,40}}?(?i:\b(?:is|are|was|must be|environment variable)?\s?"
        r"(?:required|not set|missing|undefined|not provided|not found|must be (?:set|provided)|unset)\b)",
        "it wants the variable {0}",
        "put {0} into the entry's env, or into environment.file",
    ),
    _rule(
        "missing-key",
        r"(?i:\b(api[ _-]?key|access token|auth(?:entication)? token)\b[^\n]{0,40}"
        r"(?:required|missing|not set|not provided|must be))",
        "it wants an {0}",
        "see its documentation for the variable or argument, and put it into the entry",
    ),
    _rule(
        "bad-argument",
        r"(?i:(?:unknown|unrecognized|unexpected|invalid) (?:option|argument|flag)s?:?\s+)(\S{1,100})",
        "it knows no argument {0}",
        "see the entry's args against `--help` of that version",
    ),
    _rule(
        "wrong-version",
        r"(EBADENGINE|Unsupported engine|requires (?:a different )?(?:Node|Python)[^\n]{0,60}"
        r"|SyntaxError: [^\n]{0,80}|cannot import name \S{1,80})",
        "it is written for another version ({0})",
        "see which Node, Python or library its documentation asks for, and name that one in the entry",
    ),
    _rule(
        "out-of-memory",
        r"(heap out of memory|MemoryError|Cannot allocate memory)",
        "it ran out of memory ({0})",
        "see what it was asked for, and how much memory is free",
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
    """(kind, message, mend) of the last line that a rule knows: what came last decides."""
    lines = [line[-_LINE_CHARS:] for line in (found.first_junk, *found.stderr) if line]
    for line in reversed(lines):
        for rule in _RULES:
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
