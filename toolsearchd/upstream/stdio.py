"""The stdio transport: a server process's pipes as the SDK's message streams.

Ours and not the SDK's, because that one hangs on bytes that are no UTF-8, buffers without a cap in quadratic
time, and leaves a wrapper's children running. A line that answers a request but can't be used is turned into
an error answer, so that its caller hears at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import trio

from toolsearchd.limits import Limits
from toolsearchd.upstream.lines import LineReader, Lost, Message
from toolsearchd.upstream.process import ServerProcess

TOO_LARGE_CODE = -32_090  # in errors made here; JSON-RPC leaves -32000 to -32099 to implementations
BAD_LINE_CODE = -32_091
_PROGRESS = "notifications/progress"
_LAST_WORDS_S = 0.2


@asynccontextmanager
async def stdio_streams(
    process: ServerProcess, reader: LineReader, limits: Limits, lost: trio.Event, first_byte: trio.Event
) -> AsyncIterator[tuple[Any, Any]]:
    """The (read, write) streams of a session. `lost` is set when the server's output ends; `first_byte` with
    its first output. Leaving closes the streams; the process is its owner's to stop."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)

    def decoded(item: Message | Lost) -> Any | None:
        fields = item.fields if isinstance(item, Message) else _error_for(item, limits)
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_python(fields, by_name=False))
        except ValueError:
            reader.junk += 1
            return None

    async def read() -> None:
        slots = _ProgressGate(limits.progress_per_s)
        try:
            async with to_session:
                while chunk := await process.stdout.receive_some(1 << 18):
                    first_byte.set()
                    for item in reader.feed(bytes(chunk)):
                        if isinstance(item, Message) and not slots.admits(item.fields, trio.current_time()):
                            continue
                        message = decoded(item)
                        if message is not None:
                            await to_session.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # the session closed first
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the pipe closed: the same as its end
        finally:
            lost.set()

    async def write() -> None:
        try:
            async with from_session:
                async for message in from_session:
                    fields = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                    await process.stdin.send_all(msgspec.json.encode(fields) + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            lost.set()  # it reads no more; nothing more can be asked of it

    async def watch_exit(reading: trio.CancelScope) -> None:
        # A grandchild may hold the pipe open for ever: what the server itself wrote is read by then.
        await process.wait()
        await trio.sleep(_LAST_WORDS_S)
        reading.cancel()

    async def read_until_exit() -> None:
        with trio.CancelScope() as reading:
            nursery.start_soon(watch_exit, reading)
            await read()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_until_exit)
        nursery.start_soon(write)
        nursery.start_soon(process.drain_stderr)
        try:
            yield from_server, to_server
        finally:
            from_server.close()
            to_server.close()
            nursery.cancel_scope.cancel()


def _error_for(lost: Lost, limits: Limits) -> dict[str, Any]:
    if lost.reason == "too large":
        error = {"code": TOO_LARGE_CODE, "message": f"the answer is longer than {limits.line_bytes} bytes"}
    else:
        error = {"code": BAD_LINE_CODE, "message": "the answer is not usable JSON"}
    return {"jsonrpc": "2.0", "id": lost.request_id, "error": error}


class _ProgressGate:
    """Lets so many progress notifications a second through for each token; the rest is dropped here, before
    it costs a validation. The last one of a call is its answer."""

    def __init__(self, per_s: float) -> None:
        self._pause = 1 / per_s
        self._next: dict[object, float] = {}

    def admits(self, fields: dict[str, Any], now: float) -> bool:
        if fields.get("method") != _PROGRESS:
            return True
        params = fields.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        if not isinstance(token, str | int):
            return False
        if now < self._next.get(token, 0.0):
            return False
        if len(self._next) > 1024:
            self._next.clear()
        self._next[token] = now + self._pause
        return True
