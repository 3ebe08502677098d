"""The relay behind `toolsearchctl mcp`: stdio ↔ agent.sock, standard library only, a few megabytes.

It reads just enough of each message to know which requests are open. When the daemon goes away it answers
those with an error, waits (bounded) for a daemon, replays the client's `initialize`, and tells the client
that the tool list may have changed. The MCP session itself lives in the daemon.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

from toolsearchd.places import runtime_dir as default_runtime_dir

_READ_SIZE = 1 << 16
_MOST_BUFFERED = 16 << 20  # one side is not read while the other leaves this much untaken
_CONNECT_S = 10.0
_DRAIN_S = 30.0  # after the client's end of input: for the answers still open
_GONE_CODE = -32000
_UNIT_DIRS = ("~/.config/systemd/user", "/etc/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user")


class RelayError(Exception):
    """Why there is no daemon to talk to."""


def run_relay(runtime_dir: str | None, profile: str | None) -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    relay = _Relay(str(runtime_dir or default_runtime_dir()), profile)
    try:
        relay.run()
    except RelayError as error:
        print(f"toolsearchctl: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    return 0


class _Relay:
    def __init__(self, runtime_dir: str, profile: str | None) -> None:
        self._runtime_dir = runtime_dir
        self._path = f"{runtime_dir}/agent.sock"
        self._profile = profile
        self._sock: socket.socket | None = None
        self._to_daemon = bytearray()
        self._to_client = bytearray()
        self._from_client = bytearray()  # a line not complete yet
        self._from_daemon = bytearray()
        self._open: dict[str, object] = {}  # JSON of the id → the id
        self._initialize: dict[str, object] | None = None
        self._initialized = b""
        self._swallow: str | None = None  # the replayed initialize: its answer is not for the client
        self._input_open = True
        self._drain_until = float("inf")

    def run(self) -> None:
        self._connect(start=True)
        os.set_blocking(0, False)
        os.set_blocking(1, False)
        while self._goes_on():
            self._turn()

    def _goes_on(self) -> bool:
        if self._to_client:
            return True
        if self._input_open:
            return True
        return bool(self._open or self._to_daemon) and time.monotonic() < self._drain_until

    def _turn(self) -> None:
        assert self._sock is not None
        poll = select.poll()
        daemon, events = self._sock.fileno(), 0
        if len(self._to_client) < _MOST_BUFFERED:
            events |= select.POLLIN
        if self._to_daemon:
            events |= select.POLLOUT
        poll.register(daemon, events)
        if self._input_open and len(self._to_daemon) < _MOST_BUFFERED:
            poll.register(0, select.POLLIN)
        if self._to_client:
            poll.register(1, select.POLLOUT)
        for fd, what in poll.poll(1000):
            if fd == 0:
                self._read_client()
            elif fd == 1:
                self._write_client()
            else:
                self._serve_daemon(what)

    # --- the client's side --------------------------------------------------------------------------

    def _read_client(self) -> None:
        try:
            data = os.read(0, _READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self._input_open = False
            self._drain_until = time.monotonic() + _DRAIN_S
            return
        self._from_client += data
        while (end := self._from_client.find(b"\n")) >= 0:
            line = bytes(self._from_client[: end + 1])
            del self._from_client[: end + 1]
            self._note_client(line)
            self._to_daemon += line

    def _note_client(self, line: bytes) -> None:
        message = _parsed(line)
        method, request_id = message.get("method"), message.get("id")
        if method is None:
            return
        if request_id is not None:
            self._open[json.dumps(request_id)] = request_id
        if method == "initialize":
            self._initialize = message
        elif method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            if isinstance(params, dict):
                self._open.pop(json.dumps(params.get("requestId")), None)

    def _write_client(self) -> None:
        try:
            sent = os.write(1, self._to_client[:_READ_SIZE])
        except BlockingIOError:
            return
        except OSError:
            raise SystemExit(0) from None  # the client is gone
        del self._to_client[:sent]

    # --- the daemon's side --------------------------------------------------------------------------

    def _serve_daemon(self, what: int) -> None:
        assert self._sock is not None
        try:
            if what & select.POLLOUT and self._to_daemon:
                del self._to_daemon[: self._sock.send(self._to_daemon[:_READ_SIZE])]
            if what & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = self._sock.recv(_READ_SIZE)
                if not data:
                    self._reconnect()
                    return
                self._take_daemon(data)
        except BlockingIOError:
            return
        except OSError:
            self._reconnect()

    def _take_daemon(self, data: bytes) -> None:
        self._from_daemon += data
        while (end := self._from_daemon.find(b"\n")) >= 0:
            line = bytes(self._from_daemon[: end + 1])
            del self._from_daemon[: end + 1]
            message = _parsed(line)
            if "method" not in message and "id" in message:
                key = json.dumps(message["id"])
                if key == self._swallow:
                    self._swallow = None
                    self._after_replay()
                    continue
                self._open.pop(key, None)
            self._to_client += line

    def _reconnect(self) -> None:
        """The daemon is gone: open requests are answered, then a daemon is waited for."""
        assert self._sock is not None
        self._sock.close()
        self._from_daemon.clear()
        self._to_daemon.clear()
        for request_id in self._open.values():
            self._say_client(
                {
                    "id": request_id,
                    "error": {
                        "code": _GONE_CODE,
                        "message": "toolsearchd went away; the call may have happened",
                    },
                }
            )
        self._open.clear()
        if not self._input_open:
            raise SystemExit(0)
        self._connect(start=True)
        if self._initialize is not None:
            self._swallow = json.dumps(self._initialize.get("id"))
            self._to_daemon += json.dumps(self._initialize).encode() + b"\n"

    def _after_replay(self) -> None:
        self._to_daemon += self._initialized
        self._say_client({"method": "notifications/tools/list_changed"})

    def _say_client(self, message: dict[str, object]) -> None:
        self._to_client += json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"

    # --- getting a daemon ---------------------------------------------------------------------------

    def _connect(self, *, start: bool) -> None:
        deadline, pause_s, started = time.monotonic() + _CONNECT_S, 0.02, not start
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.settimeout(_CONNECT_S)
                sock.connect(self._path)
                self._greet(sock)
            except OSError as error:
                sock.close()
                if time.monotonic() > deadline:
                    raise RelayError(f"no daemon answers at {self._path} ({error})") from None
                if not started and isinstance(error, FileNotFoundError | ConnectionRefusedError):
                    started = True
                    if not _unit_installed():
                        _start_daemon(self._runtime_dir)
                time.sleep(pause_s)
                pause_s = min(pause_s * 1.5, 0.5)
                continue
            sock.setblocking(False)
            self._sock = sock
            return

    def _greet(self, sock: socket.socket) -> None:
        hello: list[tuple[str, object]] = [
            ("op", "hello"),
            ("protocol", 1),
            ("client", "mcp"),
            ("mcp", True),
            ("cwd", os.getcwd()),
        ]
        if self._profile:
            hello.append(("profile", self._profile))
        payload = _packed(hello)
        sock.sendall(struct.pack(">I", len(payload)) + payload)
        head = _exactly(sock, 4)
        reply = _exactly(sock, struct.unpack(">I", head)[0])
        # The welcome's first pair is its `op`; anything else is a refusal, told in its own words.
        if b"\xa7welcome" not in reply[:32]:
            raise RelayError(f"the daemon refused: {reply[1:].decode('utf-8', 'replace')}")


def _parsed(line: bytes) -> dict[str, object]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = sock.recv(size - len(data))
        if not chunk:
            raise ConnectionResetError("the daemon closed the connection")
        data += chunk
    return data


def _packed(pairs: list[tuple[str, object]]) -> bytes:
    """A small MessagePack map of texts, a small integer and a boolean: not worth a library's import."""
    out = bytes([0x80 | len(pairs)])
    for key, value in pairs:
        out += _packed_text(key)
        if value is True:
            out += b"\xc3"
        elif isinstance(value, int):
            out += bytes([value])
        else:
            out += _packed_text(str(value))
    return out


def _packed_text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").encode()
    return (b"\xda" + struct.pack(">H", len(data)) if len(data) > 31 else bytes([0xA0 | len(data)])) + data


def _unit_installed() -> bool:
    return any(os.path.exists(f"{os.path.expanduser(place)}/toolsearchd.socket") for place in _UNIT_DIRS)


def _start_daemon(runtime_dir: str) -> None:
    """Detached: it outlives this client, for the others."""
    subprocess.Popen(
        [sys.executable, "-m", "toolsearchd", "--runtime-dir", runtime_dir],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
