"""Owns a worker process: started on demand, one request at a time, ended after idling.

Callers wait in order. If the process dies under a request, it is started again and the request repeated
once; then `WorkerError`. Cancelling a caller ends the process (its answer would be read as the next one's).
"""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import trio

from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.system import children
from toolsearchd.system.signal import Signal
from toolsearchd.worker import MAX_FRAME_BYTES, WorkerRequest

log = logging.getLogger(__name__)


class WorkerError(Exception):
    """The worker process could not answer."""


class Worker:
    def __init__(self, idle_s: float, environ: Mapping[str, str]) -> None:
        self._idle_s = idle_s
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: trio.SocketStream | None = None
        self._frames = FrameDecoder(MAX_FRAME_BYTES)
        self._turn = trio.CapacityLimiter(1)
        self._used = Signal()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Ends the process when it idles, and when cancelled."""
        task_status.started()
        try:
            while True:
                self._used.clear()
                with trio.move_on_after(self._idle_s):
                    await self._used.wait()
                    continue
                if self._process is not None and self._turn.borrowed_tokens == 0:
                    self._kill()
        finally:
            self._kill()

    async def ask(self, request: WorkerRequest, answer_type: Any) -> Any:
        """The worker's answer, decoded as `answer_type`. Raises `WorkerError`."""
        async with self._turn:
            self._used.set()
            for last_try in (False, True):
                try:
                    payload = await self._exchange(encode_frame(request))
                    return msgspec.msgpack.decode(payload, type=answer_type)
                except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                    self._kill()
                    if last_try:
                        raise WorkerError(f"the worker process ended under a request: {error}") from error
                    log.warning("worker process ended under a request; starting it again")
                finally:
                    self._used.set()
        raise AssertionError("unreachable")

    async def _exchange(self, frame: bytes) -> bytes:
        stream = self._stream or self._start()
        answered = False
        try:
            await stream.send_all(frame)
            while (payload := self._frames.next_payload()) is None:
                chunk = await stream.receive_some(1 << 20)
                if not chunk:
                    raise trio.BrokenResourceError("end of its output")
                self._frames.feed(chunk)
            answered = True
            return payload
        finally:
            if not answered:
                self._kill()

    def _start(self) -> trio.SocketStream:
        ours, theirs = socket.socketpair()
        with theirs:
            # -I: neither PYTHON* variables nor the working directory decide what is imported.
            with children.starting():
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-m", "toolsearchd.worker"],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    env=self._environ,
                )
                children.adopt(self._process)
        self._frames = FrameDecoder(MAX_FRAME_BYTES)
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        log.debug("worker process %d started", self._process.pid)
        return self._stream

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()  # after SIGKILL on our own child there is nothing to wait for
            self._process = None
        if self._stream is not None:
            self._stream.socket.close()
            self._stream = None
