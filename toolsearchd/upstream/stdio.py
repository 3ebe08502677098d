"""A stdio server's process and its session: the pipes are read and written here, what they carry is `rpc`'s.

The session is of the revisions with a handshake. A server that refuses it may be one of the stateless
revision, which the SDK speaks with over the same pipes (`sdk_peer`): what was read by then was taken here.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from toolsearchd import __version__
from toolsearchd.disclosure.sanitise import clipped
from toolsearchd.errors import RpcError, ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.system.signal import Signal
from toolsearchd.upstream.cleaning import clean_at_once, wait_clean
from toolsearchd.upstream.elicitation import ASKED, TOLD
from toolsearchd.upstream.handshake import usable_handshake
from toolsearchd.upstream.lines import LineReader
from toolsearchd.upstream.listeners import CAPABILITIES, TOOLS_CHANGED, Listeners
from toolsearchd.upstream.process import ServerProcess
from toolsearchd.upstream.rpc import (
    CLOSED_WORDS,
    CONNECTION_CLOSED,
    Asked,
    OnProgress,
    RpcClient,
    Told,
    Withdrawn,
    error_line,
    notification,
    result_line,
)
from toolsearchd.upstream.sendable import check_sendable
from toolsearchd.upstream.words import words_of_end

log = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 16  # what a pipe holds
_LINES_AT_ONCE = 50  # then others have their turn: a chunk can hold 60,000 lines
_CHUNKS_AT_ONCE = 8
_OUTBOX_BYTES = 1 << 20  # of a server that reads no more: what it sends is left in its pipe then
_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_METHOD_NOT_FOUND, _INVALID_REQUEST, _INTERNAL_ERROR = -32_601, -32_600, -32_603


class StdioTransport:
    """One process's pipes. `lost` is set when nothing more will come, `first_byte` with the first output."""

    def __init__(
        self,
        process: ServerProcess,
        reader: LineReader,
        limits: Limits,
        *,
        lost: trio.Event,
        first_byte: trio.Event,
    ) -> None:
        self.process = process
        self.reader = reader
        self.limits = limits
        self.lost = lost
        self.first_byte = first_byte

    def explain(self, failure: str) -> str:
        """What is known of the end of the output, where that is what happened."""
        if self.reader.complaint:
            return self.reader.complaint
        if failure and not failure.startswith(CLOSED_WORDS):
            return failure
        return words_of_end(self.process.returncode)


class StdioSession:
    """Made by `open_session`; `initialize` first. Every request ends: with its answer, or closed."""

    def __init__(self, transport: StdioTransport, listeners: Listeners, nursery: trio.Nursery) -> None:
        self._process = transport.process
        self._reader = transport.reader
        self._limits = transport.limits
        self._transport = transport
        self._listeners = listeners
        self._nursery = nursery
        self._rpc = RpcClient(transport.limits)
        self._pipe = _Pipe(transport.process)
        self._asked: dict[int | str, trio.CancelScope] = {}
        self._wait = trio.CancelScope()
        self._leaving = False
        self._stopped = trio.Event()  # nothing is read any more
        self.protocol = ""
        self.server_info = ""
        self.capabilities: frozenset[str] = frozenset()
        self.instructions = ""
        self.changes = None

    def new_param_headers(self) -> None:
        return None

    async def initialize(self) -> None:
        """The handshake. Raises `RpcError` as the server refuses it, BAD_RESULT, and RuntimeError for a
        revision that is none."""
        asked = {
            "protocolVersion": _REVISIONS[-1],
            "capabilities": CAPABILITIES,
            "clientInfo": {"name": "toolsearchd", "version": __version__},
        }
        said = usable_handshake("initialize", await self.request("initialize", asked))
        if said["protocolVersion"] not in _REVISIONS:
            raise RuntimeError(f"Unsupported protocol version from the server: {said['protocolVersion']}")
        most = self._limits.own_name_chars
        info = said["serverInfo"]
        self.protocol = said["protocolVersion"]
        self.server_info = f"{clipped(info['name'], most)} {clipped(info['version'], most)}"
        self.capabilities = frozenset(said["capabilities"])
        self.instructions = clipped(said.get("instructions", ""), self._limits.instructions_chars)
        self._pipe.send(notification("notifications/initialized"))

    async def request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> dict[str, Any]:
        """The result as it came. Raises `RpcError`: the server's, or CONNECTION_CLOSED. Cancelled, the
        server is told so, and a late answer is dropped."""
        if self._rpc.ended:
            raise RpcError(CONNECTION_CLOSED, CLOSED_WORDS)
        waiting = _Waiting()
        number, line = self._rpc.ask(method, params, waiting.done, on_progress)
        self._pipe.send(line)
        try:
            await waiting.answered.wait()
        except trio.Cancelled:
            self._pipe.send(self._rpc.give_up(number, "the caller waits no longer"))
            raise
        if waiting.error is not None:
            raise waiting.error
        assert waiting.result is not None
        return waiting.result

    async def run(self) -> None:
        """Reads until the output ends, or the process and what it had written."""
        try:
            await self._process.until_exit(self._read)
        finally:
            self._stopped.set()
            self._end()

    async def flush(self) -> None:
        """Writes what the pipe did not take at once."""
        await self._pipe.run()
        self._end()  # it reads no more; nothing more can be asked of it

    async def leave(self) -> None:
        """Takes what was read and reads no more: the pipes are left to another session."""
        self._leaving = True
        self._wait.cancel()
        await self._stopped.wait()

    def _end(self) -> None:
        if not self._leaving:
            self._transport.lost.set()
        self._rpc.end()

    async def _read(self) -> bool:
        """Did the output come to its end?"""
        at_once = 0
        while not self._leaving:
            await self._pipe.wait_room()
            chunk = await self._chunk()
            if not chunk:
                return not self._leaving
            self._transport.first_byte.set()
            for at, item in enumerate(self._reader.feed(chunk)):
                if at % _LINES_AT_ONCE == _LINES_AT_ONCE - 1:
                    await trio.lowlevel.checkpoint()
                if item is not None:
                    self._act(self._rpc.take(item, trio.current_time()))
                item = None  # it may be 8 MiB, and the next one may be long in coming
            self._reader.junk += self._rpc.junk
            self._rpc.junk = 0
            if self._reader.complaint:
                return False
            at_once += 1
            if at_once % _CHUNKS_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        return False

    async def _chunk(self) -> bytes:
        """Some of the output; empty at its end, and when the session is left."""
        out = self._process.output
        while True:
            try:
                return os.read(out, _CHUNK_BYTES)
            except BlockingIOError:
                with trio.CancelScope() as self._wait:
                    if self._leaving:
                        return b""
                    await trio.lowlevel.wait_readable(out)
                if self._leaving:
                    return b""
            except (OSError, trio.ClosedResourceError):
                return b""  # closed: the same as its end

    def _act(self, wanted: Asked | Told | Withdrawn | None) -> None:
        if isinstance(wanted, Told):
            if wanted.method == TOOLS_CHANGED:
                self._listeners.tools_changed()
            elif wanted.method in TOLD:
                self._listeners.on_told(wanted.method, clean_at_once(dict(wanted.params)))
        elif isinstance(wanted, Withdrawn):
            if wanted.request_id in self._asked:
                self._asked[wanted.request_id].cancel()
        elif wanted is None:
            return
        elif wanted.method == "ping":
            self._pipe.send(result_line(wanted.request_id, {}))
        elif wanted.method in ASKED:
            self._nursery.start_soon(self._answer, wanted)
        else:
            refused = RpcError(_METHOD_NOT_FOUND, "Method not found", wanted.method)
            self._pipe.send(error_line(wanted.request_id, refused))

    async def _answer(self, asked: Asked) -> None:
        with trio.CancelScope() as scope:
            self._asked[asked.request_id] = scope
            try:
                line = await self._answer_to(asked)
            finally:
                if self._asked.get(asked.request_id) is scope:
                    del self._asked[asked.request_id]
            self._pipe.send(line)

    async def _answer_to(self, asked: Asked) -> bytes:
        try:
            answer = await self._listeners.on_asked(asked.method, await wait_clean(dict(asked.params)))
            check_sendable(answer)
            return result_line(asked.request_id, answer)
        except RpcError as refused:
            return error_line(asked.request_id, refused)
        except ToolsearchdError as error:
            return error_line(asked.request_id, RpcError(_INVALID_REQUEST, error.message, error.as_fields()))


class _Waiting:
    """Who awaits one answer."""

    __slots__ = ("answered", "error", "result")

    def __init__(self) -> None:
        self.answered = trio.Event()
        self.result: dict[str, Any] | None = None
        self.error: RpcError | None = None

    def done(self, result: dict[str, Any] | None, error: RpcError | None) -> None:
        self.result, self.error = result, error
        self.answered.set()


class _Pipe:
    """A server's input: what it does not take at once is kept, and flushed by `run`."""

    def __init__(self, process: ServerProcess) -> None:
        self._in = process.input
        self._outbox = bytearray()
        self._work = Signal()
        self._drained = Signal()
        self._drained.set()
        self._is_broken = False

    def send(self, line: bytes) -> None:
        if self._is_broken or not line:
            return
        sent = 0 if self._outbox else self._write(line)
        if sent < len(line):
            self._outbox += line[sent:]
            self._work.set()
            if len(self._outbox) > _OUTBOX_BYTES:
                self._drained.clear()

    async def wait_room(self) -> None:
        """A server that asks and does not read is not read either."""
        if len(self._outbox) > _OUTBOX_BYTES:
            await self._drained.wait()

    async def run(self) -> None:
        """Until the server takes no more."""
        while not self._is_broken:
            if not self._outbox:
                await self._work.wait_and_clear()
                continue
            try:
                await trio.lowlevel.wait_writable(self._in)
            except trio.ClosedResourceError:
                return
            with memoryview(self._outbox) as view:
                sent = self._write(view[:_CHUNK_BYTES])
            del self._outbox[:sent]
            if len(self._outbox) <= _OUTBOX_BYTES // 2:
                self._drained.set()

    def _write(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self._in, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._is_broken = True
            self._work.set()
            self._drained.set()
            return len(data)


@asynccontextmanager
async def open_session(transport: StdioTransport, listeners: Listeners) -> AsyncIterator[StdioSession]:
    """A session before its handshake. Leaving ends it, and whoever waits for an answer; the process is its
    owner's to stop."""
    async with trio.open_nursery() as nursery:
        session = StdioSession(transport, listeners, nursery)
        nursery.start_soon(session.run)
        nursery.start_soon(session.flush)
        try:
            yield session
        finally:
            session._rpc.end()
            nursery.cancel_scope.cancel()
