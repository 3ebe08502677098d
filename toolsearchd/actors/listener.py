"""Accepts connections on one socket, at most so many at a time, and gives each to `serve` in its own task.

Whatever happens in a connection ends that connection only. Running out of descriptors is survived with one
kept in reserve: the newcomer is accepted on it and closed, instead of the loop spinning on EMFILE.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Awaitable, Callable

import trio

from toolsearchd import guard
from toolsearchd.actors.peer import Peer, identify
from toolsearchd.actors.runtime_dir import RuntimeDir
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.connection import error_frame

log = logging.getLogger(__name__)

Serve = Callable[[socket.socket, Peer], Awaitable[None]]
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_CHECK_BOUND_S = 5.0


class Listener:
    """`name`: the socket's file name in `runtime_dir`; `most`: connections served at once."""

    def __init__(
        self, name: str, runtime_dir: RuntimeDir, sock: socket.socket, serve: Serve, most: int
    ) -> None:
        self.name = name
        self._runtime_dir = runtime_dir
        self._sock = sock
        self._serve = serve
        self._most = most
        self._reserve_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._closed = False
        self.open = 0
        self.refused = 0
        self.failed = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled. The connections are cancelled with it."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_bound)
                task_status.started()
                while not self._closed:
                    sock = await self._accept()
                    if sock is not None:
                        self._admit(sock, nursery)
                        await trio.lowlevel.checkpoint()
                await trio.sleep_forever()
        finally:
            self._sock.close()
            os.close(self._reserve_fd)

    def close(self) -> None:
        """Accepts nothing more; what is connected stays."""
        self._closed = True
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()

    async def _accept(self) -> socket.socket | None:
        try:
            return self._sock.accept()[0]
        except BlockingIOError:
            try:
                await trio.lowlevel.wait_readable(self._sock)
            except trio.ClosedResourceError:
                pass  # closed, or bound anew, meanwhile
        except OSError as error:
            if error.errno in _EXHAUSTED:
                self._shed()
            await trio.sleep(0.1)
        return None

    def _shed(self) -> None:
        """No descriptor is left: take the waiting connection on the reserve and close it."""
        os.close(self._reserve_fd)
        try:
            self._sock.accept()[0].close()
            self.refused += 1
        except OSError:
            pass  # it went by itself
        finally:
            self._reserve_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _admit(self, sock: socket.socket, nursery: trio.Nursery) -> None:
        peer = identify(sock)
        if peer.refusal:
            log.warning("refused pid %d on %s: %s", peer.pid, self.name, peer.refusal)
            error = ToolsearchdError("NOT_ALLOWED", f"no session for {peer.refusal}")
        elif self.open >= self._most:
            error = ToolsearchdError("BUSY", f"{self.open} connections are open already; try again later")
        else:
            self.open += 1
            what = f"serving a connection on {self.name}"
            guard.start(nursery, what, self._serve_one, sock, peer)
            return
        self.refused += 1
        sock.setblocking(False)
        try:
            sock.send(error_frame(None, error))
        except OSError:
            pass  # it gets the close instead
        sock.close()

    async def _serve_one(self, sock: socket.socket, peer: Peer) -> None:
        try:
            await self._serve(sock, peer)
        except Exception:
            self.failed += 1
            raise
        finally:
            self.open -= 1
            sock.close()

    async def _keep_bound(self) -> None:
        while True:
            await trio.sleep(_CHECK_BOUND_S)
            if self._closed or self._runtime_dir.holds(self.name):
                continue
            log.warning("%s was removed; binding it again", self._runtime_dir.path / self.name)
            old, self._sock = self._sock, self._runtime_dir.bind(self.name)
            trio.lowlevel.notify_closing(old)
            old.close()
