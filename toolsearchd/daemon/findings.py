"""What `doctor` finds odd: about servers, the journal, configs side by side, and where the daemon runs."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from toolsearchd.catalog.model import Source
from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.protocol.control_replies import JournalReply, ServerStatus, UnansweredCall
from toolsearchd.records import Finding
from toolsearchd.system.guard import bugs
from toolsearchd.upstream.evidence import Evidence, read_evidence
from toolsearchd.upstream.login_shell import login_environment

_SHOWN = 20  # of findings of one kind: a screen or two
_CANT_START = "can't be started"


def evidence_findings(status: ServerStatus, specs: Mapping[str, ServerSpec]) -> list[Finding]:
    """What a server's last words, its exit and its breaker say."""
    spec = specs.get(status.name)
    found = read_evidence(
        Evidence(
            name=status.name,
            is_failed=status.state in ("failed", "parked"),
            reason=status.reason,
            command=spec.command if spec is not None else (),
            stderr=status.stderr_tail,
            junk=status.junk_lines,
            first_junk=status.first_junk,
        )
    )
    if status.breaker_open_s:
        found.append(
            Finding(
                level="warning",
                about=status.name,
                message=f"its last calls failed: it is left alone for {status.breaker_open_s:.0f} s",
                mend=f"see what it does; `toolsearchctl restart {status.name}` starts it again now",
                kind="breaker-open",
                fix=["restart", status.name],
            )
        )
    if status.state == "ready" and status.last_error:
        found.append(
            Finding(
                level="warning",
                about=status.name,
                message=f"it is ready, but: {status.last_error}",
                mend=f"`toolsearchctl servers {status.name}` shows it while it lasts",
                kind="refused",
            )
        )
    return found


async def only_login_shell_findings(
    statuses: Iterable[ServerStatus], specs: Iterable[ServerSpec], environ: Mapping[str, str]
) -> list[Finding]:
    """Commands that the daemon does not find and the login shell does. Asks it only where one lacks."""
    commands = {spec.name: spec.command[0] for spec in specs if spec.command and "/" not in spec.command[0]}
    lacking = [status.name for status in statuses if status.name in commands and _CANT_START in status.reason]
    if not lacking:
        return []
    path = (await login_environment(environ)).get("PATH", "")
    found = []
    for name in lacking:
        place = shutil.which(commands[name], path=path)
        if place is not None:
            found.append(
                Finding(
                    level="warning",
                    about=name,
                    message=f"only your login shell finds {commands[name]}: it is {place}",
                    mend=f"write {place} as its command, or your shell's PATH into environment.file",
                    kind="only-login-shell",
                )
            )
    return found


def run_twice_findings(specs: Collection[ServerSpec], own_files: Collection[str]) -> list[Finding]:
    """Servers that the daemon runs and a client still starts by itself. `own_files`: where clients keep their
    entries."""
    found = []
    for client in CLIENTS.values():
        names = sorted(
            spec.name
            for spec in specs
            if spec.enabled
            and not spec.idle
            and any(
                origin.format == client.format.name and origin.file in own_files and not origin.kept_in
                for origin in spec.origins
            )
        )
        if names:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            found.append(
                Finding(
                    level="info",
                    about=client.name,
                    message=f"{client.title} starts these itself as well: {shown}",
                    mend=f"`toolsearchctl install {client.name}` moves them here (--dry-run shows it first)",
                    kind="run-twice",
                )
            )
    return found


def no_server_findings(specs: Collection[str], files: Sequence[str]) -> list[Finding]:
    if specs:
        return []
    places = ", ".join(files)
    return [
        Finding(
            level="warning",
            about="servers",
            message=f"there is no server; looked for in {places or 'no file'}",
            mend="add one to a client, or under `servers:` of the daemon's config",
            kind="no-server",
        )
    ]


def surroundings_findings(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """What the daemon would use and is not there."""
    found = []
    if settings.approval.notify and shutil.which("notify-send", path=environ.get("PATH")) is None:
        found.append(
            Finding(
                level="info",
                about="approval.notify",
                message="there is no notify-send: approvals are not shown on the desktop",
                mend="install libnotify's tools, or set approval.notify: false",
                kind="notify-send-missing",
            )
        )
    home = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
    places = (Path(home, "systemd/user"), Path("/etc/systemd/user"), Path("/usr/lib/systemd/user"))
    if not any((place / "toolsearchd.socket").exists() for place in places):
        found.append(
            Finding(
                level="info",
                about="systemd",
                message="the units are not installed: nothing starts the daemon at login",
                mend="`make install-units` where it was installed from",
                kind="units-missing",
            )
        )
    return found


def journal_findings(journal: JournalReply) -> list[Finding]:
    about, found = journal.files[-1], []
    if journal.error:
        found.append(
            Finding(
                level="error",
                about=about,
                message=f"the journal can't be written ({journal.error}): calls that need an approval "
                f"are refused",
                mend="make room, or mend the directory; it is tried again with the next record",
                kind="journal-not-written",
            )
        )
    found += [
        Finding(
            level="warning",
            about=call.tool or call.call,
            message=f"{_words_of(call)} by an earlier daemon, and its end is not known",
            mend="it may have happened: look at its effect before it is called again; nothing was resent",
            kind="end-unknown",
        )
        for call in journal.unanswered[-_SHOWN:]
    ]
    if (more := len(journal.unanswered) - _SHOWN) > 0:
        found.append(
            Finding(
                level="warning",
                about=about,
                message=f"{more} more calls were sent by an earlier daemon, and their ends are not known",
                mend="`toolsearchctl journal --step unanswered --limit 0` has them all",
                kind="end-unknown",
            )
        )
    if journal.dropped:
        found.append(
            Finding(
                level="warning",
                about=about,
                message=f"{journal.dropped} records of the journal were dropped",
                mend="the disk is full or slow; limits.journal_records says how many may wait",
                kind="journal-dropped",
            )
        )
    return found


def bug_findings() -> list[Finding]:
    return [
        Finding(
            level="error",
            about=what,
            message=f"{what} failed by a bug in the daemon, {times} times; the rest went on",
            mend="please report it, with what the log says where it first happened",
            kind="bug",
        )
        for what, times in sorted(bugs.items())
    ]


def _words_of(call: UnansweredCall) -> str:
    how = "was sent" if call.sent else "was approved, and perhaps sent,"
    return f"{call.tool} of {call.client} {how} at {call.sent_at}"


def _not_started_findings(source: Source, specs: Mapping[str, ServerSpec]) -> list[Finding]:
    """None for a lazy server whose tools are known: it waits for a call, as it is meant to."""
    level, kind, mend = (
        "warning",
        "over-limit",
        "set `enabled: false` for others, or raise limits.started_servers and start the daemon again",
    )
    if source.reason.startswith("needs "):
        return []  # the config's own problem says it, with the place
    if source.reason.startswith("kept by "):
        spec = specs.get(source.name)
        level, kind = "info", "kept-by-client"
        mend = (spec.mend if spec is not None else "") or mend
    elif not source.reason.startswith("limit:"):
        if source.definitions or source.withheld:
            return []
        level, kind = "info", "never-started"
        mend = (
            "none of its tools is known yet, so nothing calls it: "
            f"`toolsearchctl restart {source.name}` starts it once"
        )
    message = f"{source.state}: {source.reason}"
    return [Finding(level=level, about=source.name, message=message, mend=mend, kind=kind)]


def source_findings(source: Source, specs: Mapping[str, ServerSpec]) -> list[Finding]:
    found = []
    tries = f"`toolsearchctl servers {source.name}` shows its last words; "
    tries += f"`toolsearchctl restart {source.name}` tries it now"
    if source.state == "not_started":
        found += _not_started_findings(source, specs)
    elif source.state not in ("ready", "starting", "disabled"):
        message = f"{source.state}: {source.reason}"
        found.append(
            Finding(
                level="warning",
                about=source.name,
                message=message,
                mend=tries,
                kind="failed",
                fix=["restart", source.name],
            )
        )
    found += [
        Finding(
            level="warning",
            about=source.name,
            message=f"tool left out: {reason}",
            mend="the server's author has to mend the definition; its other tools work",
            kind="tool-left-out",
        )
        for reason in source.rejected
    ]
    found += [
        Finding(
            level="warning",
            about=source.name,
            message=f"tool mended: {what}",
            mend="the server's author has to mend the definition; the tool can be called as it is",
            kind="tool-mended",
        )
        for what in source.mended
    ]
    if source.truncated:
        found.append(
            Finding(
                level="warning",
                about=source.name,
                message=f"{source.truncated} tools left out over the limit",
                mend="raise limits.tools_per_server, and start the daemon again",
                kind="too-many-tools",
            )
        )
    found += [
        Finding(
            level="info",
            about=f"{source.name}/{definition.name}",
            message=f"arguments are not validated: {definition.unvalidatable}",
            mend="set `unvalidatable: refuse` for the server if that is not acceptable",
            kind="not-validated",
        )
        for definition in source.definitions
        if definition.unvalidatable
    ]
    return found
