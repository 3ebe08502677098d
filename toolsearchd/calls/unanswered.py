"""What an earlier life of the daemon sent and never heard the end of: read off the journal's tail.

A call's start stands in the journal before its end, under one id. A start without an end, of a daemon that is
no more, may have happened: it is named, and nothing is sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from toolsearchd.system.files import UnreadableError, open_file

STARTED, APPROVED, ENDED, NAMED, DROPPED = "sent", "approved", "call", "unanswered", "dropped"
NAMED_FOR_S = 86400.0  # in `status` and `doctor`; the journal keeps it as long as all else


class Unanswered(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `sent` is False where it was approved and nobody knows whether it went out."""

    call: str = ""
    tool: str = ""
    server: str = ""
    session: str = ""
    client: str = ""
    sent_at: str = ""
    sent: bool = True
    digests: dict[str, str] = {}


class _Line(Unanswered, frozen=True, kw_only=True):
    at: str = ""
    step: str = ""
    life: str = ""  # of a daemon that dropped records:
    ended: list[str] = []  # calls whose ends are among them
    lost_ends: int = 0  # … and how many more, of which nobody knows


_decoder = msgspec.json.Decoder(_Line)


def read_unanswered(
    files: Iterable[Path], *, life: str, now: float, max_bytes: int
) -> tuple[list[Unanswered], list[Unanswered]]:
    """(calls that nothing is known of yet, those that were named within a day), oldest first.

    `files`: the journal's, oldest first; of all together the last `max_bytes` are read. `life`: the daemon's
    own, whose calls are still on their way. Raises OSError. Blocks: for a thread.
    """
    open_calls: dict[str, Unanswered] = {}
    named: dict[str, Unanswered] = {}
    since = (datetime.fromtimestamp(now, UTC) - timedelta(seconds=NAMED_FOR_S)).isoformat(
        timespec="milliseconds"
    )
    for line in _lines(list(files), max_bytes):
        if line.step == DROPPED:
            for call in line.ended:
                open_calls.pop(call, None)
            if line.lost_ends:  # any of the life's may have ended by then: nothing is claimed
                of_life = f"{line.life}-"
                open_calls = {call: its for call, its in open_calls.items() if not call.startswith(of_life)}
        if not line.call or line.call.startswith(f"{life}-"):
            continue
        if line.step in (STARTED, APPROVED):
            open_calls[line.call] = _as_call(line, sent=line.step == STARTED, sent_at=line.at)
        elif line.step == ENDED:
            open_calls.pop(line.call, None)
        elif line.step == NAMED:
            open_calls.pop(line.call, None)
            if line.at >= since:
                named[line.call] = _as_call(line, sent=line.sent, sent_at=line.sent_at)
    return list(open_calls.values()), list(named.values())


def _as_call(line: _Line, *, sent: bool, sent_at: str) -> Unanswered:
    fields: dict[str, Any] = {
        name: getattr(line, name) for name in ("call", "tool", "server", "session", "client", "digests")
    }
    return Unanswered(sent=sent, sent_at=sent_at, **fields)


def _lines(files: list[Path], max_bytes: int) -> Iterator[_Line]:
    """Those that are records: a crash tears the last one, and where the tail begins one is cut."""
    tails: list[tuple[Path, int]] = []
    for path in reversed(files):
        try:
            size = path.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
        tails.insert(0, (path, max(0, size - max_bytes)))
        max_bytes -= size
        if max_bytes <= 0:
            break
    for path, start in tails:
        for raw in _raw_lines(path, start):
            try:
                yield _decoder.decode(raw)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                continue


def _raw_lines(path: Path, start: int) -> Iterator[bytes]:
    try:
        with open_file(path, follow=False) as file:
            file.seek(start)
            yield from file
    except UnreadableError as error:
        raise OSError(f"{path} {error}") from error
