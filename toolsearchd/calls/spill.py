"""What is too long for a reply, or for the memory that its session may take: kept whole in files of the state
directory, and read on from there.

Owns `spilled/SESSION/`, 0700, with files 0600; each has a handle that only its session may use. A session's
files stay within a quota, the oldest go first; all of them expire, go with their session, and none outlives
the daemon. A file that waits to be delivered stays until then: over the quota, the newest is not taken.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import trio
from msgspec import UNSET

from toolsearchd.calls.account import EntryAccount
from toolsearchd.disclosure.gate import clean_message
from toolsearchd.disclosure.sanitise import clean_result
from toolsearchd.dispatch.entry import Outcome, Parked
from toolsearchd.dispatch.results import clipped, text_bytes, whole_text
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.framing import ENCODING_ERRORS, is_serialisable
from toolsearchd.protocol.replies import ResultPiece
from toolsearchd.system.files import open_private, read_private
from toolsearchd.values import representable

log = logging.getLogger(__name__)

_INLINE_BYTES = 100_000  # a larger result is looked through in a thread
_SWEEP_S = 60.0
_LARGE_AT_ONCE = 1
_FRAME_REST = 64 * 1024  # of a frame, for what stands around the slots

_REPAIRED = {
    "type": "text",
    "text": "[toolsearchd: parts of this result can't be represented: numbers past 64 bits stand as text, "
    "half characters as \N{REPLACEMENT CHARACTER}]",
}

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]
IsGone = Callable[[], bool]
"""Has the session ended, for which a file is to be kept?"""


def _never() -> bool:
    return False


class _Kept(msgspec.Struct):
    handle: str
    path: Path
    size: int
    kept_at: float  # trio's clock
    is_parked: bool = False  # it waits to be delivered


class Spill:
    def __init__(
        self, state_dir: Path, *, limits: Limits, in_thread: InThread = trio.to_thread.run_sync
    ) -> None:
        self._root = state_dir / "spilled"
        self._limits = limits
        self._in_thread = in_thread
        self._kept: dict[str, list[_Kept]] = {}  # by session, oldest first
        self._large = trio.CapacityLimiter(_LARGE_AT_ONCE)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Removes what an earlier daemon left, then what expires; at the end, all."""
        shutil.rmtree(self._root, ignore_errors=True)
        task_status.started()
        try:
            while True:
                await trio.sleep(_SWEEP_S)
                self._expire()
        finally:
            shutil.rmtree(self._root, ignore_errors=True)

    # --- results ----------------------------------------------------------------------------------

    async def fitted(self, session: str, outcome: Outcome, claim: EntryAccount | None = None) -> Outcome:
        """The outcome as it may be told: its texts clean, and within bounds. What no frame can carry costs
        that value, and a note says so: the call was carried out.

        `claim`: what its session may have in memory; a result beyond that is parked in a file.
        """
        result = outcome.response if outcome.error is None else outcome.error.get("response")
        if not isinstance(result, dict):
            return outcome
        try:
            _size(result)
        except ENCODING_ERRORS:
            result = _plain_result(result)
        return await self._fitted(session, outcome, result, claim)

    async def _fitted(
        self, session: str, outcome: Outcome, result: dict[str, Any], claim: EntryAccount | None
    ) -> Outcome:
        """What is kept in a file is as clean as what is told: who reads on there may be a model, too."""
        size, where = _size(result), None
        is_gone = claim.is_gone if claim is not None else _never
        if claim is not None:
            claim.came(size)
        if size <= _INLINE_BYTES:
            result = clean_message(result)
        else:
            async with self._large:
                result = await self._in_thread(partial(clean_message, result))
                text_size = text_bytes(result)
                if text_size > self._limits.result_text_bytes:
                    text = whole_text(result).encode("utf-8", "replace")
                    where = await self._keep(session, text, is_gone)
                    marker = partial(_marker, text_size, where)
                    result = clipped(result, self._limits.result_text_bytes, marker)
                size = _size(result)
        if claim is None or claim.keeps(size):
            return _with(outcome, result, where)
        async with self._large:
            return await self._parked(session, outcome, result, where, claim)

    async def _parked(
        self,
        session: str,
        outcome: Outcome,
        result: dict[str, Any],
        where: dict[str, Any] | None,
        claim: EntryAccount,
    ) -> Outcome:
        """The outcome, its clean result in a file until it is delivered."""
        data = await self._in_thread(partial(msgspec.json.encode, result))
        size = await self._in_thread(partial(_size, result))
        kept = await self._keep(session, data, claim.is_gone, parks=True)
        short = _with(outcome, _in_file(len(data), kept, outcome.error is not None), kept)
        if "lost" in kept:
            return short
        claim.keeps_in_file(size)
        parked = Parked(handle=kept["handle"], bytes=size, spilled=where)
        return msgspec.structs.replace(short, parked=parked)

    async def fit_frame(
        self,
        session: str,
        reply: dict[str, Any],
        parked: Mapping[int, Parked] | None = None,
        is_gone: IsGone = _never,
    ) -> dict[str, Any]:
        """The reply to a `call`, its largest results in files where all would not fit a frame; what was
        `parked` (by slot) and fits is put back."""
        slots: list[dict[str, Any]] = reply["results"]
        parked = parked or {}
        for at, slot in enumerate(slots):
            if not is_serialisable(slot):  # its name, as a model wrote it
                slots[at] = representable(slot)
        sizes = [_size(slot) for slot in slots]
        whole = [parked[at].bytes if at in parked else size for at, size in enumerate(sizes)]
        budget = self._limits.frame_bytes - _FRAME_REST
        for at in sorted(range(len(slots)), key=lambda at: -whole[at]):
            has_result = _result_of(slots[at]) is not None
            if has_result and sum(whole) > budget:
                if at not in parked:
                    slots[at] = await self._slot_in_file(session, slots[at], is_gone)
                whole[at] = _size(slots[at])
            elif at in parked:
                slots[at] = await self._put_back(session, slots[at], parked[at])
        for one in parked.values():
            self._delivered(session, one.handle)
        return reply

    async def _slot_in_file(self, session: str, slot: dict[str, Any], is_gone: IsGone) -> dict[str, Any]:
        error = slot.get("error")
        data = msgspec.json.encode(_result_of(slot))
        where = await self._keep(session, data, is_gone)
        short = _in_file(len(data), where, error is not None)
        head = {key: slot[key] for key in ("index", "name")}
        if error is not None:
            return head | {"error": error | {"response": short}, "spilled": where}
        return head | {"response": short, "spilled": where}

    async def _put_back(self, session: str, slot: dict[str, Any], parked: Parked) -> dict[str, Any]:
        """The slot with its result as it was; as it stands where the file has gone."""
        kept = self._find(session, parked.handle)
        if kept is None:
            return slot
        try:
            async with self._large:
                data = await self._in_thread(partial(read_private, kept.path, kept.size))
                result = msgspec.json.decode(data or b"")
        except (OSError, msgspec.DecodeError) as error:
            log.warning("%s can't be read: %s", kept.path, error)
            return slot
        self._discard(session, kept)
        slot = {key: value for key, value in slot.items() if key != "spilled"}
        if parked.spilled is not None:
            slot["spilled"] = parked.spilled
        if "error" in slot:
            return slot | {"error": slot["error"] | {"response": result}}
        return slot | {"response": result}

    def _delivered(self, session: str, handle: str) -> None:
        """Its session was told of the file: it counts as any other from now on."""
        if (kept := self._find(session, handle)) is not None:
            kept.is_parked = False

    def drop(self, session: str, outcome: Outcome) -> None:
        """The outcome will not be delivered."""
        parked = outcome.parked
        if parked is not None and (kept := self._find(session, parked.handle)) is not None:
            self._discard(session, kept)

    # --- files ------------------------------------------------------------------------------------

    async def _keep(
        self, session: str, data: bytes, is_gone: IsGone, *, parks: bool = False
    ) -> dict[str, Any]:
        """`{handle, path, bytes}`, or `{lost}`: why it could not be kept. `parks`: till it is delivered."""
        self._expire()
        handle = f"r{secrets.token_hex(8)}"
        path = self._root / session / handle
        if is_gone():
            return {"lost": "its session has ended"}
        if not self._make_room(session, len(data)):
            return {
                "lost": f"results that wait take all of the session's {self._limits.spill_bytes >> 20} MiB"
            }
        kept = _Kept(handle, path, len(data), trio.current_time(), parks)
        self._kept.setdefault(session, []).append(kept)  # it counts while it is written, too
        try:
            await self._in_thread(partial(_write, path, data))
        except trio.Cancelled:  # before it was begun: nobody will be told of it
            self._discard(session, kept)
            raise
        except OSError as error:
            log.warning("a long result could not be kept: %s", error)
            self._discard(session, kept)
            return {"lost": error.strerror or str(error)}
        if self._find(session, handle) is None:  # the session has ended meanwhile
            _remove(kept)
            return {"lost": "its session has ended"}
        return {"handle": handle, "path": str(path), "bytes": len(data)}

    def _make_room(self, session: str, size: int) -> bool:
        """Within the quota, by removing the oldest that were delivered. False: those that wait take it all;
        a single file over the quota is taken where nothing waits."""
        kept = self._kept.get(session, [])
        waiting = sum(file.size for file in kept if file.is_parked)
        if waiting and waiting + size > self._limits.spill_bytes:
            return False
        total = sum(file.size for file in kept)
        for file in [file for file in kept if not file.is_parked]:
            if total + size <= self._limits.spill_bytes:
                break
            total -= file.size
            self._discard(session, file)
        return True

    def _find(self, session: str, handle: str) -> _Kept | None:
        return next((kept for kept in self._kept.get(session, ()) if kept.handle == handle), None)

    def _discard(self, session: str, kept: _Kept) -> None:
        _remove(kept)
        if kept in self._kept.get(session, ()):
            self._kept[session].remove(kept)

    def resolve(self, session: str, handle: str, offset: int = 0, limit: int | None = None) -> ResultPiece:
        """Offsets are in bytes. Raises UNKNOWN_HANDLE and BAD_ARGUMENTS."""
        self._expire()
        found = self._find(session, handle)
        if found is None:
            raise _unknown(handle)
        most = self._limits.resolve_bytes
        count = min(most, most if limit is None else limit)
        if offset < 0 or count < 4:  # a character takes up to four
            raise ToolsearchdError(
                "BAD_ARGUMENTS", "`offset` counts bytes from 0, `limit` takes 4 of them or more"
            )
        try:
            file = open_private(found.path)
            if file is None:
                raise FileNotFoundError("it is gone")
            with file:
                file.seek(offset)
                data = file.read(count)
        except OSError as error:
            log.warning("%s can't be read: %s", found.path, error)
            raise _unknown(handle) from error
        data, more = _whole_characters(data), offset + len(data) < found.size
        next_offset = offset + len(data) if more else UNSET
        try:
            return ResultPiece(total=found.size, text=clean_result(data.decode()), next_offset=next_offset)
        except UnicodeDecodeError:  # it begins within a character
            return ResultPiece(total=found.size, bytes=data, next_offset=next_offset)

    def forget(self, session: str) -> None:
        """The session has ended."""
        for kept in self._kept.pop(session, ()):
            _remove(kept)
        shutil.rmtree(self._root / session, ignore_errors=True)

    def _expire(self) -> None:
        now = trio.current_time()
        for session, kept in tuple(self._kept.items()):
            while kept and now - kept[0].kept_at > self._limits.spill_s:
                _remove(kept.pop(0))
            if not kept:
                del self._kept[session]


def _plain_result(result: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = representable(result)
    content = shown.get("content")
    return shown | {"content": [*(content if isinstance(content, list) else ()), _REPAIRED]}


def _size(value: Any) -> int:
    """Bytes that it takes in a frame."""
    return len(msgspec.msgpack.encode(value))


def _result_of(slot: dict[str, Any]) -> Any:
    """The tool's own result; None where there is none."""
    return slot["error"].get("response") if "error" in slot else slot["response"]


def _with(outcome: Outcome, result: dict[str, Any], spilled: dict[str, Any] | None) -> Outcome:
    if outcome.error is None:
        return Outcome(response=result, spilled=spilled)
    return Outcome(error=outcome.error | {"response": result}, spilled=spilled)


def _in_file(size: int, where: dict[str, Any], is_error: bool) -> dict[str, Any]:
    """What stands for a result that is in a file."""
    words = _marker(size, where, size, what="result, as JSON,")
    short: dict[str, Any] = {"content": [{"type": "text", "text": words}]}
    return short | {"isError": True} if is_error else short


def _marker(total: int, where: dict[str, Any], left_out: int, what: str = "text") -> str:
    if "lost" in where:
        return (
            f"[… {left_out:,} of {total:,} bytes of the {what} left out; "
            f"they could not be kept: {where['lost']} …]"
        )
    return (
        f"[… {left_out:,} of {total:,} bytes of the {what} left out; the whole is in {where['path']} "
        f"(handle {where['handle']}) …]"
    )


def _unknown(handle: str) -> ToolsearchdError:
    return ToolsearchdError(
        "UNKNOWN_HANDLE",
        f"nothing is kept under {handle[:80]!r} in this session; results are kept for some time "
        "and not beyond their session: call the tool again",
    )


def _whole_characters(data: bytes) -> bytes:
    """Without the beginning of a character at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needs = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if needs > back and len(data) > back else data
        if byte < 0x80:
            break
    return data


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def _remove(kept: _Kept) -> None:
    try:
        kept.path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s can't be removed: %s", kept.path, error)
