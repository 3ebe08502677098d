"""A connected Unix socket, read and written without detours.

`trio.SocketStream` costs twice as much per message here, so this keeps the raw non-blocking socket: try the
system call first, wait only when it would block. Replies go out at once while the peer reads; what it does
not take is kept in an outbox, charged to it, and flushed by `run_writer`.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable

import trio

from toolsearchd.limits import Limits
from toolsearchd.system.signal import Signal

_READ_SIZE = 64 * 1024
_LOOK_S = 0.05  # between two looks whether a peer that ended its sending is still there
_TURNS = 32  # reads that found data without waiting, before other tasks get their turn


class PeerStalledError(Exception):
    """The peer stopped reading for longer than it may."""


class PeerStream:
    """One peer's socket. `receive` from one task, `send_nowait` from any, `run_writer` in its own."""

    def __init__(self, sock: socket.socket, limits: Limits) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._limits = limits
        self._outbox: deque[memoryview] = deque()
        self._work = Signal()
        self._drained = Signal()
        self._drained.set()
        self._turns = 0
        self._closed = False
        self.outbox_bytes = 0
        self.bytes_sent = 0
        self.on_taken: Callable[[], None] = lambda: None  # the peer has read on, or is gone

    async def receive(self) -> bytes:
        """Some bytes, or b"" at the peer's end of stream. A reset counts as the end."""
        while True:
            await self.wait_room()
            try:
                data = self._sock.recv(_READ_SIZE)
            except BlockingIOError:
                self._turns = 0
                try:
                    await trio.lowlevel.wait_readable(self._sock)
                except trio.ClosedResourceError:
                    return b""  # closed from this side meanwhile
                continue
            except OSError:
                return b""
            self._turns += 1
            if self._turns >= _TURNS:
                self._turns = 0
                await trio.lowlevel.checkpoint()
            return data

    async def wait_room(self) -> None:
        """Returns at once while the peer is within its budget; else when it has taken half of it, or is gone:
        it must take what it asked for before it may ask for more."""
        if self.outbox_bytes > self._limits.outstanding_bytes:
            await self._drained.wait()

    def send_nowait(self, data: bytes) -> None:
        """Sends, or queues in order. After the peer is gone this does nothing."""
        if self._closed:
            return
        view = memoryview(data)
        if not self._outbox:
            sent = self._try_send(view)
            if sent == len(view):
                return
            view = view[sent:]
        self._outbox.append(view)
        self.outbox_bytes += len(view)
        self._work.set()
        if self.outbox_bytes > self._limits.outstanding_bytes:
            self._drained.clear()

    async def run_writer(self) -> None:
        """Flushes the outbox until closed. Raises `PeerStalledError` when the peer takes too long."""
        while not self._closed:
            if not self._outbox:
                await self._work.wait_and_clear()
                continue
            with trio.move_on_after(self._limits.write_total_s) as total:
                await self._flush()
            if total.cancelled_caught:
                raise PeerStalledError(
                    f"{self.outbox_bytes} bytes not taken in {self._limits.write_total_s:g} s"
                )

    @property
    def is_gone(self) -> bool:
        """Nothing that is sent arrives any more. A peer that has ended its own sending alone may read on."""
        if self._closed:
            return True
        poll = select.poll()
        poll.register(self._sock, 0)  # no event is asked for: a hang-up and an error are told all the same
        return bool(poll.poll(0))

    async def wait_answered(self, is_answered: Callable[[], bool]) -> None:
        """After the end of what the peer sends: until what it asked for is answered, or it is gone."""
        while not is_answered() and not self.is_gone:
            await trio.sleep(_LOOK_S)

    async def drain(self) -> None:
        """Waits until all that was sent so far is out. Safe beside `run_writer`."""
        while self._outbox and not self._closed:
            await trio.sleep(0.005)

    def shutdown_read(self) -> None:
        """Ends `receive` with b"" while replies can still go out."""
        try:
            self._sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass  # the peer went first

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._outbox.clear()
        self.outbox_bytes = 0
        self._work.set()
        self._drained.set()
        self.on_taken()
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()

    async def _flush(self) -> None:
        while self._outbox:
            sent = self._try_send(self._outbox[0])
            if self._closed:
                return
            if sent == 0:
                with trio.move_on_after(self._limits.write_stall_s) as stall:
                    try:
                        await trio.lowlevel.wait_writable(self._sock)
                    except trio.ClosedResourceError:
                        return
                if stall.cancelled_caught:
                    raise PeerStalledError(f"nothing read for {self._limits.write_stall_s:g} s")
                continue
            self.outbox_bytes -= sent
            self.on_taken()
            if sent == len(self._outbox[0]):
                self._outbox.popleft()
            else:
                self._outbox[0] = self._outbox[0][sent:]
            if self.outbox_bytes <= self._limits.outstanding_bytes // 2:
                self._drained.set()

    def _try_send(self, view: memoryview) -> int:
        try:
            sent = self._sock.send(view)
        except BlockingIOError:
            return 0
        except OSError:
            self.close()
            return len(view)
        self.bytes_sent += sent
        return sent
