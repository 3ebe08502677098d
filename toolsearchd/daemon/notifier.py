"""Tells systemd how the daemon is: READY, RELOADING, STOPPING, STATUS, WATCHDOG (sd_notify(3)).

Without NOTIFY_SOCKET every word goes nowhere. The watchdog is fed by the loop itself, so a stalled loop
starves it.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable

import trio

log = logging.getLogger(__name__)


class Notifier:
    """Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of `environ`: no child may inherit them."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._address = environ.pop("NOTIFY_SOCKET", "")
        self._sock: socket.socket | None = None
        period_us = environ.pop("WATCHDOG_USEC", "")
        pid = environ.pop("WATCHDOG_PID", str(os.getpid()))
        ours = period_us.isdigit() and pid == str(os.getpid())
        self._watchdog_s = int(period_us) / 1e6 if ours else 0.0

    def send(self, *lines: str) -> None:
        """Lines such as `READY=1`. A notice that can't be delivered is logged, never raised."""
        if not self._address:
            return
        try:
            self._socket().send("\n".join(lines).encode())
        except OSError as error:
            self._close()
            log.warning("systemd can't be notified: %s", error)

    def _socket(self) -> socket.socket:
        """Kept open: the watchdog is to be fed even when no descriptor is left."""
        if self._sock is None:
            address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
            self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._sock.setblocking(False)
            self._sock.connect(address)
        return self._sock

    def _close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    def ready(self, status: str) -> None:
        self.send("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        self.send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self.send("STOPPING=1")

    async def run(
        self, status: Callable[[], str], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Feeds the watchdog at half its period and keeps STATUS current, until cancelled."""
        task_status.started()
        told = ""
        while True:
            await trio.sleep(self._watchdog_s / 2 if self._watchdog_s else 5.0)
            lines = ["WATCHDOG=1"] if self._watchdog_s else []
            if (now := status()) != told:
                told = now
                lines.append(f"STATUS={now}")
            if lines:
                self.send(*lines)
