"""Accepts connections on one socket, at most so many at a time, and gives each to `serve` in its own task.

Whatever happens in a connection ends that connection only. Running out of descriptors is survived with a few
kept in reserve: the newcomer is accepted on one and told BUSY, instead of the loop spinning on EMFILE.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Awaitable, Callable

import trio

from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.connection import error_frame
from toolsearchd.sockets.runtime_dir import RuntimeDir
from toolsearchd.system import guard
from toolsearchd.system.peer import Peer, identify

log = logging.getLogger(__name__)

Serve = Callable[[socket.socket, Peer], Awaitable[None]]
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_RESERVED = 3  # one takes the newcomer, the others look at who it is (/proc)


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
        self._reserve: list[int] = []
        self._told_scarce = False
        self._keep_reserve()
        self.is_closed = False
        self.open = 0
        self.refused = 0
        self.failed = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled. The connections are cancelled with it."""
        try:
            async with trio.open_nursery() as nursery:
                task_status.started()
                while not self.is_closed:
                    sock = await self._accept()
                    if sock is not None:
                        self._admit(sock, nursery)
                        await trio.lowlevel.checkpoint()
                await trio.sleep_forever()
        finally:
            self._sock.close()
            self._lend_reserve()

    def close(self) -> None:
        """Accepts nothing more; what is connected stays."""
        self.is_closed = True
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()

    def rebind(self) -> None:
        """Listens at the path anew; what is connected stays. Raises as `RuntimeDir.bind`, and is as before
        then."""
        old, self._sock = self._sock, self._runtime_dir.bind(self.name)
        trio.lowlevel.notify_closing(old)
        old.close()

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
        """No descriptor is left: take the waiting connection on the reserve and send it away."""
        self._lend_reserve()
        try:
            sock = self._sock.accept()[0]
        except OSError:
            pass  # it went by itself
        else:
            self._refuse(sock, ToolsearchdError("BUSY", "no file descriptor is left; try again later"))
        finally:
            self._keep_reserve()

    def _lend_reserve(self) -> None:
        while self._reserve:
            os.close(self._reserve.pop())

    def _keep_reserve(self) -> None:
        """As much of it as there is room for: another may have taken what was lent."""
        try:
            while len(self._reserve) < _RESERVED:
                self._reserve.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            if not self._told_scarce:
                log.warning("file descriptors are scarce: connections may be refused")
            self._told_scarce = True
        else:
            self._told_scarce = False

    def _admit(self, sock: socket.socket, nursery: trio.Nursery) -> None:
        self._lend_reserve()
        try:
            peer = identify(sock)
        except OSError as error:
            why = f"nobody can be looked at now ({error.strerror}); try again later"
            self._refuse(sock, ToolsearchdError("BUSY", why))
            return
        finally:
            self._keep_reserve()
        if peer.refusal:
            log.warning("refused pid %d on %s: %s", peer.pid, self.name, peer.refusal)
            self._refuse(sock, ToolsearchdError("NOT_ALLOWED", f"no session for {peer.refusal}"))
        elif self.open >= self._most:
            why = f"{self.open} connections are open already; try again later"
            self._refuse(sock, ToolsearchdError("BUSY", why))
        else:
            self.open += 1
            what = f"serving a connection on {self.name}"
            guard.start(nursery, what, self._serve_one, sock, peer)

    def _refuse(self, sock: socket.socket, error: ToolsearchdError) -> None:
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
