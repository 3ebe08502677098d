"""The relay's way to a daemon: find one or start one, and greet it. Standard library only."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import toolsearchd.endpoint as endpoint
from toolsearchd.dialects.disclosures import disclosure_in
from toolsearchd.places import runtime_dir as default_runtime_dir
from toolsearchd.places import state_dir

if TYPE_CHECKING:
    import subprocess

Connect = Callable[[bool], "socket.socket | None"]
"""Called with True where there was a daemon before."""

_CONNECT_S = endpoint.GREETING_S
_RESTART_S = 3.0  # a daemon that went may be coming back by whatever started it: that one is let go first
_LEAST_S = 0.001  # a time limit of 0 means none to a socket that is not to block
_MAX_FRAME = 1 << 20  # a welcome takes a few hundred bytes
_LOG_BYTES = 1 << 20  # the log of a daemon that we start begins anew beyond
_BAD_CONFIG = 2  # exit status of a daemon that can't begin; 75 says that another one was faster
_TRY_AGAIN = ("BUSY", "SHUTTING_DOWN")
_NOBODY = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)
_UNIT = "toolsearchd.socket"
_UNIT_DIRS = (
    "/etc/systemd/user",
    "/usr/local/lib/systemd/user",
    "/usr/lib/systemd/user",
    "/lib/systemd/user",
)


class RelayError(Exception):
    """Why there is nothing to talk to; `status` is the process's exit status, `code` one of the table's."""

    def __init__(self, message: str, *, status: int, code: str = "NO_DAEMON") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def connect(directory: str, more: dict[str, str], again: bool) -> socket.socket:
    """A greeted, non-blocking connection; a daemon is started where none runs and no unit would start one.

    Raises RelayError: status 1 where the daemon refuses, or is not this user's; 3 where none answered within
    10 s.
    """
    path = f"{directory}/agent.sock"
    began, pause_s = time.monotonic(), 0.02
    deadline, start_at = began + _CONNECT_S, began + (_RESTART_S if again else 0)
    by_systemd = directory == str(default_runtime_dir()) and unit_installed()
    started: subprocess.Popen[bytes] | None = None
    while True:
        try:
            found = _greeted(path, more, deadline)
        except OSError as error:
            found = f"{error.strerror or error}"
            waited = not by_systemd and time.monotonic() >= start_at
            if waited and started is None and isinstance(error, _NOBODY):
                started = _start_daemon(directory)
        if isinstance(found, socket.socket):
            return found
        if started is not None and started.poll() == _BAD_CONFIG:
            raise RelayError(f"the daemon can't start; {_log_file()} says why", status=3)
        if time.monotonic() > deadline:
            hint = "; start it with `systemctl --user start toolsearchd.socket`" if by_systemd else ""
            raise RelayError(f"no daemon answers at {path} ({found}){hint}", status=3)
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.5)


def _greeted(path: str, more: dict[str, str], deadline: float) -> socket.socket | str:
    """The connection, or what to say where another try may help. Raises RelayError where none will, OSError
    where nobody listens."""
    listener = 0
    try:
        sock = endpoint.connect(path, deadline - time.monotonic())
        try:
            listener = endpoint.peer_pid(sock)
            refusal = _greet(sock, more, deadline)
        except BaseException:
            sock.close()
            raise
    except endpoint.RefusedError as error:
        raise _not_ours(error) from error
    except TimeoutError as error:
        raise RelayError(endpoint.silence(path, listener, _CONNECT_S)[0], status=3) from error
    if refusal is not None:
        sock.close()
        return refusal
    sock.setblocking(False)
    return sock


def _greet(sock: socket.socket, more: dict[str, str], deadline: float) -> str | None:
    """None when welcome, else as `_greeted`. Raises TimeoutError, too."""
    hello: dict[str, str | int | bool] = {"op": "hello", "protocol": 1, "client": "mcp", "mcp": True}
    try:
        hello["cwd"] = os.getcwd()
    except OSError:
        pass  # the directory was deleted: a session without a place
    disclosure, _ = disclosure_in(os.environ)
    if disclosure is not None:
        hello["disclosure"] = disclosure
    payload = packed({**hello, **more})
    sock.settimeout(max(deadline - time.monotonic(), _LEAST_S))
    sock.sendall(struct.pack(">I", len(payload)) + payload)
    (size,) = struct.unpack(">I", _exactly(sock, 4, deadline))
    if size > _MAX_FRAME:
        raise RelayError("what listens there is no toolsearchd", status=1)
    reply = first_texts(_exactly(sock, size, deadline))
    if reply.get("op") == "welcome":
        return None
    code = reply.get("code", "no code")
    said = f"{code}: {reply.get('message', 'no reason given')}"
    if code in _TRY_AGAIN:
        return said
    raise RelayError(f"the daemon refuses: {said}", status=1, code=code)


def _exactly(sock: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(max(deadline - time.monotonic(), _LEAST_S))
        chunk = sock.recv(size - len(data))
        if not chunk:
            raise ConnectionResetError("the daemon closed the connection")
        data += chunk
    return data


def _not_ours(error: endpoint.RefusedError) -> RelayError:
    return RelayError(f"NOT_ALLOWED: {error}", status=1, code="NOT_ALLOWED")


def unit_installed() -> bool:
    """Does systemd know how to start a daemon of this user?"""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    places = (f"{config}/systemd/user", *_UNIT_DIRS)
    return any(os.path.exists(f"{place}/{_UNIT}") for place in places)


def _log_file() -> str:
    return str(state_dir() / "daemon.log")


def _start_daemon(directory: str) -> subprocess.Popen[bytes]:
    """Detached: it outlives this client, for the others. Raises RelayError where the place is another's."""
    import subprocess

    try:
        endpoint.check_home_of(directory)
    except endpoint.RefusedError as error:
        raise _not_ours(error) from error
    log_file = _log_file()
    try:
        os.makedirs(os.path.dirname(log_file), mode=0o700, exist_ok=True)
        begin = os.O_TRUNC if os.path.exists(log_file) and os.path.getsize(log_file) > _LOG_BYTES else 0
        no_trap = os.O_NOFOLLOW | os.O_NONBLOCK  # a link would have us write elsewhere, a FIFO wait
        log = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | no_trap | begin, 0o600)
    except OSError:
        log = os.open(os.devnull, os.O_WRONLY)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "toolsearchd", "--runtime-dir", directory],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    finally:
        os.close(log)


# --- a little MessagePack: not worth a library's import ------------------------------------------------


def packed(fields: dict[str, str | int | bool]) -> bytes:
    """A map of at most 15 texts, integers up to 127 and booleans."""
    out = bytes([0x80 | len(fields)])
    for key, value in fields.items():
        out += _packed_text(key)
        if isinstance(value, bool):
            out += b"\xc3" if value else b"\xc2"
        else:
            out += bytes([value]) if isinstance(value, int) else _packed_text(value)
    return out


def _packed_text(text: str) -> bytes:
    # A file name may hold bytes that are no UTF-8; on the wire it must be text.
    data = os.fsencode(text).decode("utf-8", "replace").encode()
    return (b"\xda" + struct.pack(">H", len(data)) if len(data) > 31 else bytes([0xA0 | len(data)])) + data


def first_texts(payload: bytes) -> dict[str, str]:
    """The pairs at the head of a map whose values are texts: `op`, `code` and `message` stand there."""
    found: dict[str, str] = {}
    at, pair = 1, []
    while at < len(payload):
        kind = payload[at]
        width = {0xD9: 1, 0xDA: 2, 0xDB: 4}.get(kind, 0)
        if not width and not 0xA0 <= kind <= 0xBF:
            break
        size = int.from_bytes(payload[at + 1 : at + 1 + width], "big") if width else kind & 0x1F
        at += 1 + width + size
        pair.append(payload[at - size : at].decode("utf-8", "replace"))
        if len(pair) == 2:
            found[pair[0]] = pair[1]
            pair.clear()
    return found
