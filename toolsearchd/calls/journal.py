"""The record of what was called: owns one append-only file of JSON lines, rotated by size.

Receives records: `record` never waits (what does not fit is counted, and the count stands in the journal as
soon as it can be written); `wait_recorded` returns when the record is on the disk, and raises where it is
not. A full disk or a lost directory costs records until it is mended, and the calls that have to be recorded
first. A line that a crash tore stays torn; the next one begins on a line of its own.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio

from toolsearchd.calls.unanswered import ENDED, NAMED, NAMED_FOR_S, STARTED, Unanswered, read_unanswered
from toolsearchd.config.settings import JournalSettings as JournalSettings
from toolsearchd.disclosure.gate import clean_told
from toolsearchd.disclosure.sanitise import visible
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.control_replies import JournalReply, UnansweredCall
from toolsearchd.protocol.framing import ENCODING_ERRORS
from toolsearchd.system.signal import Signal
from toolsearchd.values import representable

log = logging.getLogger(__name__)

Record = dict[str, Any]
FILE = "journal.jsonl"
_OLDER = re.compile(r"journal\.([1-9][0-9]{0,17})\.jsonl")
_LOOKED_THROUGH_BYTES = 64 * 1024  # of a record, some milliseconds
_EXACT = ("arguments",)  # as they were sent; what hides in them stands there as its escape


class _Record(NamedTuple):
    line: bytes
    starts: bool = False  # it tells a call's start: on the disk even where the power fails
    ends: str = ""  # the call whose end it tells


class _Awaited:
    """A record that somebody waits for: `error` is set before `done` where it could not be written."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.done = trio.Event()
        self.error = ""


class Journal:
    """`settings()`: the newest; `now()`: seconds since the epoch."""

    def __init__(
        self,
        state_dir: Path,
        *,
        settings: Callable[[], JournalSettings],
        limits: Limits,
        now: Callable[[], float],
        in_thread: Callable[[Callable[[], None]], Awaitable[None]] = trio.to_thread.run_sync,
    ) -> None:
        self._file = JournalFile(state_dir / FILE)
        self._settings = settings
        self._now = now
        self._in_thread = in_thread
        self._limits = limits
        self.life = secrets.token_hex(4)  # of this daemon: the calls of another one begin with another word
        self._unanswered: list[Unanswered] = []  # what earlier ones sent and never heard the end of
        self._named_at = now()
        self._urgent = Signal()  # somebody waits for a record, or there is little room left
        self._send, self._receive = trio.open_memory_channel[_Record | _Awaited](limits.journal_records)
        self._unsaid = 0  # dropped since the journal last said so
        self._unsaid_ends: list[str] = []  # calls whose ends are among them: nobody shall think they had none
        self._lost_ends = 0  # … how many more than can be told one by one
        self.dropped = 0
        self.error = ""  # why it can't be written; empty: it can

    def summary(self) -> JournalReply:
        """`files`, oldest first; how many records were dropped; why it can't be written, or empty; the calls
        of earlier daemons that never ended, of the last day."""
        return JournalReply(
            files=[str(path) for path in self._file.paths(self._settings().keep)],
            dropped=self.dropped,
            error=self.error,
            unanswered=msgspec.convert(self.unanswered, list[UnansweredCall], from_attributes=True),
        )

    @property
    def unanswered(self) -> list[Unanswered]:
        """What earlier daemons sent and never heard the end of: for a day, then the journal alone has it."""
        return self._unanswered if self._now() - self._named_at < NAMED_FOR_S else []

    @property
    def writes_arguments(self) -> bool:
        return self._settings().arguments

    def record(self, step: str, fields: Record) -> None:
        """Never waits."""
        record = _Record(
            self._line(step, fields), step == STARTED, fields.get("call", "") if step == ENDED else ""
        )
        try:
            self._send.send_nowait(record)
        except trio.WouldBlock:
            self._drop([record])
        if self._send.statistics().current_buffer_used * 2 >= self._limits.journal_records:
            self._urgent.set()

    async def wait_recorded(self, step: str, fields: Record) -> None:
        """Returns when the record is on the disk. Raises AUDIT_UNAVAILABLE; cancelled, the record may be
        written all the same."""
        awaited = _Awaited(self._line(step, fields))
        self._urgent.set()
        await self._send.send(awaited)
        await awaited.done.wait()
        if awaited.error:
            raise ToolsearchdError(
                "AUDIT_UNAVAILABLE",
                f"the call has to be in the journal first, and {self._file.path} can't be written "
                f"({awaited.error}); nothing was sent",
            )

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Writes, until cancelled; what was received by then is written."""
        task_status.started()
        try:
            await self._name_unanswered()
            while True:
                first = await self._receive.receive()
                if not isinstance(first, _Awaited):
                    with trio.CancelScope(shield=True), trio.move_on_after(self._limits.journal_gather_s):
                        await self._urgent.wait()
                self._urgent.clear()
                await self._write([first, *self._come()])
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(2):
                if rest := self._come():
                    await self._write(rest)
            self._file.close()

    async def _name_unanswered(self) -> None:
        """What earlier daemons sent and never heard the end of is a record of its own, once."""
        found: tuple[list[Unanswered], list[Unanswered]] = ([], [])

        def read() -> None:
            nonlocal found
            found = read_unanswered(
                self._file.paths(self._settings().keep),
                life=self.life,
                now=self._now(),
                max_bytes=self._limits.journal_tail_bytes,
            )

        try:
            await self._in_thread(read)
        except OSError as error:
            log.warning("the journal can't be read, calls without an end are not known: %s", error)
            return
        new, named = found
        for call in new:
            log.warning(
                "%s of %s was sent at %s by an earlier daemon and never answered: it may have happened",
                call.tool,
                call.session,
                call.sent_at,
            )
            self.record(NAMED, msgspec.to_builtins(call))
        self._unanswered, self._named_at = [*named, *new], self._now()

    def _come(self) -> list[_Record | _Awaited]:
        found: list[_Record | _Awaited] = []
        while True:
            try:
                found.append(self._receive.receive_nowait())
            except trio.WouldBlock:
                return found

    async def _write(self, batch: list[_Record | _Awaited]) -> None:
        unsaid, ends, lost_ends = self._unsaid, len(self._unsaid_ends), self._lost_ends
        lines = [item.line for item in batch]
        if unsaid:  # behind the starts of the calls that it names
            place = len(lines) if ends or lost_ends else 0
            lines.insert(place, self._line("dropped", self._dropped_fields()))
        awaited = [item for item in batch if isinstance(item, _Awaited)]
        records = [item for item in batch if isinstance(item, _Record)]
        sync = bool(awaited) or any(record.starts for record in records)
        settings = self._settings()
        try:
            with trio.CancelScope(shield=True):  # half a write is worth nothing to anybody
                data, append = b"".join(lines), self._file.append
                await self._in_thread(lambda: append(data, settings.max_bytes, settings.keep, sync=sync))
        except OSError as error:
            why = error.strerror or str(error)
            if why != self.error:
                log.error(
                    "the journal %s can't be written (%s): calls that need approval are refused",
                    self._file.path,
                    why,
                )
            self.error = why
            self._drop(records)
        else:
            if self.error:
                log.info("the journal %s is written again", self._file.path)
            self.error = ""
            self._unsaid -= unsaid
            del self._unsaid_ends[:ends]
            self._lost_ends -= lost_ends
        for item in awaited:
            item.error = self.error
            item.done.set()

    def _drop(self, records: list[_Record]) -> None:
        self.dropped += len(records)
        self._unsaid += len(records)
        self._unsaid_ends += [record.ends for record in records if record.ends]
        self._lost_ends += max(0, len(self._unsaid_ends) - self._limits.journal_records)
        del self._unsaid_ends[self._limits.journal_records :]

    def _dropped_fields(self) -> Record:
        fields: Record = {"count": self._unsaid, "life": self.life}
        if self._unsaid_ends:
            fields["ended"] = self._unsaid_ends
        if self._lost_ends:
            fields["lost_ends"] = self._lost_ends
        return fields

    def _line(self, step: str, fields: Record) -> bytes:
        at = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="milliseconds")
        record = {"at": at, "step": step, **fields}
        try:
            msgspec.json.encode(record)
        except ENCODING_ERRORS:  # a model or a server wrote what is no JSON
            return msgspec.json.encode({key: _written(value) for key, value in record.items()}) + b"\n"
        exact = {key: fields[key] for key in _EXACT if key in fields}
        told = clean_told({**record, **dict.fromkeys(exact)}) | exact
        line = msgspec.json.encode(told)
        if len(line) > _LOOKED_THROUGH_BYTES and not line.isascii():
            return json.dumps(told).encode() + b"\n"  # all that is not ASCII as escapes
        return visible(line.decode()).encode() + b"\n"


def _written(value: object) -> str:
    """As Python writes it, in ASCII: nothing is lost. Its nearest form where it has none."""
    try:
        return ascii(value)
    except (ValueError, RecursionError):
        return ascii(representable(value))


class JournalFile:
    """The file itself. Everything raises OSError; what was whole before stays whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def paths(self, keep: int) -> list[Path]:
        """Where records are, oldest first; the last one may not be there yet."""
        try:
            numbers = self._numbers()
        except OSError:
            numbers = []
        return [*(self._older(number) for number in numbers if number <= keep), self.path]

    def append(self, data: bytes, max_bytes: int, keep: int, *, sync: bool) -> None:
        """Whole lines, all or none of them. `keep` older files stay beside the one of `max_bytes`."""
        size = self._open()
        if size and size + len(data) > max_bytes:
            self._rotate(keep)
            size = self._open()
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            if sync:
                os.fsync(self._fd)
        except OSError:
            os.ftruncate(self._fd, size)
            self.close()
            raise

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _open(self) -> int:
        """Opens the file where it is not open, or not at its path any more; its size."""
        if self._fd >= 0 and not self._is_in_place():
            self.close()
        if self._fd < 0:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._fd = os.open(self.path, flags, 0o600)
            found = os.fstat(self._fd)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
                self.close()
                raise PermissionError(f"{self.path} is not a regular file of this user")
            os.fchmod(self._fd, 0o600)
            if found.st_size and os.pread(self._fd, 1, found.st_size - 1) != b"\n":
                os.write(self._fd, b"\n")  # behind a line that a crash tore
        return os.fstat(self._fd).st_size

    def _is_in_place(self) -> bool:
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return False
        ours = os.fstat(self._fd)
        return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)

    def _rotate(self, keep: int) -> None:
        """journal.jsonl → journal.1.jsonl → journal.2.jsonl …; the oldest goes."""
        self.close()
        for number in self._numbers():
            if number > keep:  # it was larger before
                self._older(number).unlink()
            elif number < keep:
                self._older(number).replace(self._older(number + 1))
        self.path.replace(self._older(1))

    def _numbers(self) -> list[int]:
        """Of the older files that there are, the oldest first: `keep` may be any number."""
        found = (_OLDER.fullmatch(name) for name in os.listdir(self.path.parent))
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def _older(self, number: int) -> Path:
        return self.path.with_suffix(f".{number}.jsonl")
