"""What is too long for a reply: kept whole in files of the state directory, and read on from there.

Owns `spilled/SESSION/`, 0700, with files 0600; each has a handle that only its session may use. A session's
files stay within a quota, the oldest go first; all of them expire, go with their session, and none outlives
the daemon.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import trio

from toolsearchd.actors.private_file import open_private
from toolsearchd.disclosure.sanitise import clean_result
from toolsearchd.dispatch.entry import Outcome
from toolsearchd.dispatch.results import cleaned, clipped, text_bytes, whole_text
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.plain import ENCODING_ERRORS, is_carried, plain

log = logging.getLogger(__name__)

_INLINE_BYTES = 100_000  # a larger result is looked through in a thread
_SWEEP_S = 60.0
_FRAME_REST = 64 * 1024  # of a frame, for what stands around the slots

_REPAIRED = {
    "type": "text",
    "text": "[toolsearchd: parts of this result can't be represented: numbers past 64 bits stand as text, "
    "half characters as \N{REPLACEMENT CHARACTER}]",
}

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


class _Kept(msgspec.Struct):
    handle: str
    path: Path
    size: int
    kept_at: float  # trio's clock


class Spill:
    def __init__(
        self, state_dir: Path, *, limits: Limits, in_thread: InThread = trio.to_thread.run_sync
    ) -> None:
        self._root = state_dir / "spilled"
        self._limits = limits
        self._in_thread = in_thread
        self._kept: dict[str, list[_Kept]] = {}  # by session, oldest first

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

    async def fitted(self, session: str, outcome: Outcome) -> Outcome:
        """The outcome as it may be told: its texts clean, and within bounds. What no frame can carry costs
        that value, and a note says so: the call was carried out."""
        result = outcome.response if outcome.error is None else outcome.error.get("response")
        if not isinstance(result, dict):
            return outcome
        try:
            size = len(msgspec.msgpack.encode(result))
        except ENCODING_ERRORS:
            result = _plain_result(result)
            size = len(msgspec.msgpack.encode(result))
        return await self._fitted(session, outcome, result, size)

    async def _fitted(self, session: str, outcome: Outcome, result: dict[str, Any], size: int) -> Outcome:
        if size <= _INLINE_BYTES:
            return _with(outcome, cleaned(result, clean_result), None)
        text_size = text_bytes(result)
        if text_size <= self._limits.result_text_bytes:
            return _with(outcome, await self._in_thread(partial(cleaned, result, clean_result)), None)
        where = await self._keep(session, whole_text(result).encode("utf-8", "replace"))
        shown = clipped(result, self._limits.result_text_bytes, partial(_marker, text_size, where))
        return _with(outcome, await self._in_thread(partial(cleaned, shown, clean_result)), where)

    async def fit_frame(self, session: str, reply: dict[str, Any]) -> dict[str, Any]:
        """The reply to a `call`, its largest slots kept in files where all would not fit a frame."""
        slots: list[dict[str, Any]] = reply["results"]
        for at, slot in enumerate(slots):
            if not is_carried(slot):  # its name, as a model wrote it
                slots[at] = plain(slot)
        sizes = [len(msgspec.msgpack.encode(slot)) for slot in slots]
        budget = self._limits.frame_bytes - _FRAME_REST
        for at in sorted(range(len(slots)), key=lambda at: -sizes[at]):
            if sum(sizes) <= budget:
                break
            if _result_of(slots[at]) is None:
                continue
            slots[at] = await self._slot_in_file(session, slots[at])
            sizes[at] = len(msgspec.msgpack.encode(slots[at]))
        return reply

    async def _slot_in_file(self, session: str, slot: dict[str, Any]) -> dict[str, Any]:
        error = slot.get("error")
        data = msgspec.json.encode(_result_of(slot))
        where = await self._keep(session, data)
        words = _marker(len(data), where, len(data), what="result, as JSON,")
        short = {"content": [{"type": "text", "text": words}]}
        head = {key: slot[key] for key in ("index", "name")}
        if error is not None:
            return head | {"error": error | {"response": short | {"isError": True}}, "spilled": where}
        return head | {"response": short, "spilled": where}

    # --- files ------------------------------------------------------------------------------------

    async def _keep(self, session: str, data: bytes) -> dict[str, Any]:
        """`{handle, path, bytes}`, or `{lost}`: why it could not be kept."""
        self._expire()
        handle = f"r{secrets.token_hex(8)}"
        path = self._root / session / handle
        kept = self._kept.setdefault(session, [])
        while kept and sum(file.size for file in kept) + len(data) > self._limits.spill_bytes:
            _remove(kept.pop(0))
        try:
            await self._in_thread(partial(_write, path, data))
        except OSError as error:
            log.warning("a long result could not be kept: %s", error)
            return {"lost": error.strerror or str(error)}
        kept.append(_Kept(handle, path, len(data), trio.current_time()))
        return {"handle": handle, "path": str(path), "bytes": len(data)}

    def resolve(self, session: str, handle: str, offset: int = 0, limit: int | None = None) -> dict[str, Any]:
        """`{text, next_offset?, total}`, offsets in bytes. Raises UNKNOWN_HANDLE and BAD_ARGUMENTS."""
        self._expire()
        found = next((kept for kept in self._kept.get(session, ()) if kept.handle == handle), None)
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
        reply: dict[str, Any] = {"total": found.size}
        try:
            reply["text"] = clean_result(data.decode())
        except UnicodeDecodeError:  # it begins within a character
            reply["bytes"] = data
        return reply | ({"next_offset": offset + len(data)} if more else {})

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
    shown: dict[str, Any] = plain(result)
    content = shown.get("content")
    return shown | {"content": [*(content if isinstance(content, list) else ()), _REPAIRED]}


def _result_of(slot: dict[str, Any]) -> Any:
    """The tool's own result; None where there is none."""
    return slot["error"].get("response") if "error" in slot else slot["response"]


def _with(outcome: Outcome, result: dict[str, Any], spilled: dict[str, Any] | None) -> Outcome:
    if outcome.error is None:
        return Outcome(response=result, spilled=spilled)
    return Outcome(error=outcome.error | {"response": result}, spilled=spilled)


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
