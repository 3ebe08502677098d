"""`journal`: the past, newest last; filters keep what fits all of them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.counts import count
from toolsearchd.ctl.documents import JournalDocument
from toolsearchd.ctl.output import coloured, complain, print_json
from toolsearchd.disclosure.sanitise import plain_line, visible
from toolsearchd.errors import ToolsearchdError
from toolsearchd.globs import matches_glob
from toolsearchd.system.files import UnreadableError, open_file

HELP = "what was called, by whom, by whose leave, with what outcome"

_GLOBS = {
    "session": "the name that `sessions` shows",
    "client": "whose call it was",
    "server": "the tool's server",
    "tool": "as the records name it: mcp__notes__delete_note",
    "step": "approval, approved, sent, call (its end), unanswered",
    "outcome": "of a call: ok, or an error code",
}
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def arguments(parser: ArgumentParser) -> None:
    for name, help_ in _GLOBS.items():
        parser.add_argument(f"--{name}", metavar="GLOB", help=help_)
    parser.add_argument("--since", metavar="AGE", help="30m, 2h, 7d, or a time as in the records")
    parser.add_argument("--limit", type=count(0), default=50, metavar="N", help="the newest N (0: all)")


def run(args: Namespace) -> int:
    since = _moment(args.since) if args.since else ""
    with control(args) as daemon:
        journal = daemon.journal()
    fitting = (record for record in _records(journal.files) if _fits(record, args, since))
    found = deque(fitting, maxlen=min(args.limit, sys.maxsize) or None)
    if args.json:
        print_json(JournalDocument(**journal.members(), records=list(found)))
        return 0
    for record in found:
        print(_line(record))
    if not found:
        complain("the journal has no such record")
    if journal.dropped:
        complain(f"{journal.dropped} records were dropped since the daemon started")
    if journal.error:
        complain(f"the journal can't be written: {journal.error}")
    return 0


def _records(files: list[str]) -> Iterator[dict[str, Any]]:
    """Oldest first. A line that is no record (a crash tore it) is left out."""
    for line in (line for path in files for line in _lines(path)):
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue
        if isinstance(record, dict):
            yield record


def _lines(path: str) -> Iterator[bytes]:
    try:
        with open_file(path, follow=False) as opened:
            yield from opened
    except FileNotFoundError:
        pass  # rotated away meanwhile, or nothing was written yet
    except UnreadableError as error:
        raise ToolsearchdError("AUDIT_UNAVAILABLE", f"{path} can't be read: it {error}") from error
    except OSError as error:
        raise ToolsearchdError("AUDIT_UNAVAILABLE", f"{path} can't be read: {error.strerror}") from error


def _fits(record: dict[str, Any], args: Namespace, since: str) -> bool:
    if str(record.get("at", "")) < since:
        return False
    wanted = {name: glob for name in _GLOBS if (glob := getattr(args, name)) is not None}
    return all(matches_glob(str(record.get(name, "")), glob) for name, glob in wanted.items())


def _moment(text: str) -> str:
    """As the records write it, so that texts compare. Raises BAD_ARGUMENTS."""
    try:
        if text[-1:] in _UNITS_S and text[:-1].isdecimal():
            moment = datetime.now(UTC) - timedelta(seconds=int(text[:-1]) * _UNITS_S[text[-1]])
        else:
            moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"--since {text}: 30m, 2h, 7d or 2026-01-31T12:00 are accepted"
        ) from error
    return moment.isoformat(timespec="milliseconds")


def _line(record: dict[str, Any]) -> str:
    rest = dict(record)
    head = " ".join(str(rest.pop(name, "")) for name in ("at", "session", "client", "step", "tool"))
    outcome = rest.pop("outcome", None)
    for name in ("digests", "profile", "pid", "server", "call"):
        rest.pop(name, None)
    sent = rest.pop("arguments", None)
    line = plain_line(f"{head}  {' '.join(f'{key}={value}' for key, value in rest.items())}")
    if sent is not None:
        line += " " + visible(msgspec.json.encode(sent).decode())
    if outcome is not None:
        line += " " + coloured(plain_line(str(outcome)), "ok" if outcome == "ok" else "error")
    return line
