"""A server process's pipes as the SDK's message streams, for a server of the stateless revision.

Ours and not the SDK's, because that one hangs on bytes that are no UTF-8, buffers without a cap in quadratic
time, and leaves a wrapper's children running. A line that answers a request but can't be used is turned into
an error answer, so that its caller hears at once.

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import msgspec
import trio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from toolsearchd.limits import Limits
from toolsearchd.upstream.answers import GIVEN_UP, note_sent, put_in_shape
from toolsearchd.upstream.lines import LineReader, Lost, Message
from toolsearchd.upstream.process import ServerProcess
from toolsearchd.upstream.progress import ProgressGate
from toolsearchd.upstream.unusable import error_answer
from toolsearchd.values import find_fault, representable

_CHUNK_BYTES = 1 << 16  # what a pipe holds
_LINES_AT_ONCE = 50  # then others have their turn: a chunk can hold 60,000 lines


class StdioStreams:
    """One session's pipes. `lost` is set when nothing more will come; `tools_changed` is called for each
    notification that says so, however many come."""

    def __init__(
        self,
        process: ServerProcess,
        reader: LineReader,
        limits: Limits,
        *,
        lost: trio.Event,
        tools_changed: Callable[[], None],
    ) -> None:
        self._process = process
        self._reader = reader
        self._limits = limits
        self._lost = lost
        self._tools_changed = tools_changed
        self._progress = ProgressGate(limits.progress_per_s)
        self._open_requests: dict[int | str, str] = {}  # id → method

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """The (read, write) streams of a session. Leaving closes them; the process is its owner's to stop."""
        to_session, from_server = anyio.create_memory_object_stream[Any](0)
        to_server, from_session = anyio.create_memory_object_stream[Any](0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read_until_exit, to_session)
            nursery.start_soon(self._write, from_session)
            try:
                yield from_server, to_server
            finally:
                from_server.close()
                to_server.close()
                nursery.cancel_scope.cancel()

    async def _read_until_exit(self, to_session: Any) -> None:
        try:
            await self._process.until_exit(partial(self._read, to_session))
        finally:
            self._lost.set()
            to_session.close()

    async def _read(self, to_session: Any) -> bool:
        """Did the output come to its end?"""
        try:
            while chunk := await self._process.stdout.receive_some(_CHUNK_BYTES):
                for at, item in enumerate(self._reader.feed(bytes(chunk))):
                    if at % _LINES_AT_ONCE == _LINES_AT_ONCE - 1:
                        await trio.lowlevel.checkpoint()
                    message = self._message(item) if item is not None else None
                    if message is not None:
                        await to_session.send(message)
                    item = message = None  # each may be 8 MiB, and the next one may be long in coming
                if self._reader.complaint:
                    return False
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # the session closed first
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the pipe closed: the same as its end
        return True

    def _message(self, item: Message | Lost) -> Any | None:
        """What the session is told, if anything."""
        if isinstance(item, Lost):
            fields = self._error_for(item)
        else:
            fields = item.fields
            if fields.get("method") == "notifications/tools/list_changed":
                self._tools_changed()
                return None
            if not self._progress.admits(fields, trio.current_time()):
                return None
            if "method" not in fields:
                shaped = put_in_shape(fields, self._open_requests)
                self._reader.junk += shaped is None
                fields = shaped
            elif find_fault(fields.get("id")) is not None:
                self._reader.junk += 1  # no answer can bear such an id
                return None
        return self._for_session(fields) if fields is not None else None

    def _for_session(self, fields: dict[str, Any]) -> Any | None:
        try:
            message = SessionMessage(jsonrpc_message_adapter.validate_python(fields, by_name=False))
        except ValueError:
            try:  # as far as it goes without what no text and no number is
                fields = representable(fields)
                message = SessionMessage(jsonrpc_message_adapter.validate_python(fields, by_name=False))
            except ValueError:
                self._reader.junk += 1
                return None
        request_id = fields.get("id")
        if "method" not in fields and isinstance(request_id, int | str):
            self._open_requests.pop(request_id, None)
            self._progress.forget(request_id)
        return message

    def _error_for(self, lost: Lost) -> dict[str, Any] | None:
        if lost.request_id is not None:
            return error_answer(lost.request_id, lost.reason, self._limits)
        waiting = [at for at, method in self._open_requests.items() if method != GIVEN_UP]
        if len(waiting) == 1:  # the line answers something, and nothing else is open
            return error_answer(waiting[0], lost.reason, self._limits)
        return None

    async def _write(self, from_session: Any) -> None:
        try:
            async with from_session:
                async for message in from_session:
                    fields = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                    note_sent(fields, self._open_requests)
                    await self._process.stdin.send_all(msgspec.json.encode(fields) + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._lost.set()  # it reads no more; nothing more can be asked of it
