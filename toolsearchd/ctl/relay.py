"""The relay behind `toolsearchctl mcp`: stdio ↔ agent.sock, standard library only, about 10 MB.

It reads just enough of each message to know which requests are open. When the daemon goes away it answers
those with an error, waits (bounded) for a daemon, replays the client's `initialize`, and tells the client
that the tool list may have changed. A daemon that leaves requests open and is silent is asked whether it
lives. The MCP session itself lives in the daemon.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import sys
import time
from typing import NamedTuple

from toolsearchd.ctl.relay_daemon import Connect, RelayError, connect
from toolsearchd.endpoint import peer_pid, silence
from toolsearchd.places import runtime_dir as default_runtime_dir
from toolsearchd.system.lines import LineSplitter, Piece

_READ_SIZE = 1 << 16
_MOST_BUFFERED = 16 << 20  # one side is not read while the other leaves this much untaken; twice a line's cap
_DRAIN_S = 30.0  # after the client's end of input: for the answers still open
_LAST_WORDS_S = 3.0  # where there is no daemon: for what the client asks, to tell it why
_QUIET_S = 5.0  # with a request open, then the daemon is sent a ping …
_ALIVE_S = 15.0  # … whose answer takes seconds while it reads a large catalog; a call's takes what it takes
_SILENT_ENDS = 5  # connections in a row that ended before the daemon said anything
_PING = "toolsearchd-relay-ping"
_GONE = {
    "code": -32000,
    "message": "toolsearchd went away: the call may have happened; check before repeating",
}
# How an answer of the daemon begins: large ones are not decoded for their id.
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?(?:0|[1-9]\d{0,17})|"[^"\\]{0,200}"),"(?:result|error)":')

Message = dict[str, object]


def run_relay(runtime_dir: str | None, more: dict[str, str]) -> int:
    """`more`: further fields of the hello. Exit status: 0 at the client's end, 1 where the daemon
    refuses, 3 where there is none."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    directory = str(runtime_dir or default_runtime_dir())
    relay = Relay(lambda again: connect(directory, more, again))
    try:
        relay.run()
    except RelayError as error:
        print(f"toolsearchctl: {error}", file=sys.stderr, flush=True)
        relay.refuse(error)
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0  # the client is gone
    return 0


class _Asked(NamedTuple):
    request_id: object
    size: int  # bytes of the line


class Relay:
    """`connect` gives a greeted connection, or raises RelayError; it may take its (bounded) time.

    Owns file descriptors 0 and 1.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._sock: socket.socket | None = None
        self._to_daemon = bytearray()
        self._to_client = bytearray()
        self._from_client = LineSplitter(_MOST_BUFFERED)
        self._from_daemon = LineSplitter(sys.maxsize)  # a line is as long as the daemon makes it
        self._open: dict[str, _Asked] = {}  # by the id's JSON
        self._initialize: Message | None = None
        self._initialized = b""
        self._replayed: str | None = None  # the replayed initialize: its answer is not for the client
        self._silent_ends = 0
        self._input_open = True
        self._drain_until = float("inf")
        self._quiet_since = 0.0  # the daemon, or since it was asked whether it lives
        self._pinged = False

    def run(self) -> None:
        """Until the client's end. Raises RelayError; `refuse` tells the client."""
        for fd in (0, 1):
            if not os.isatty(fd):  # a terminal is shared with the shell
                os.set_blocking(fd, False)
        self._sock = self._connect(False)
        while self._goes_on():
            if self._sock is None and not self._to_client:
                self._reconnect()
            self._turn()
            self._look_for_life()

    def refuse(self, error: RelayError) -> None:
        """Answers what the client asks now with the error; a bounded time."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        told: Message = {"code": -32000, "message": f"toolsearchd: {error}", "data": {"code": error.code}}
        until = time.monotonic() + (0 if os.isatty(0) else _LAST_WORDS_S)
        while (left_s := until - time.monotonic()) > 0:
            for asked in self._open.values():
                self._say_client({"id": asked.request_id, "error": told})
                self._input_open = False  # told once is enough
            self._open.clear()
            if not self._input_open and not self._to_client:
                break
            poll = select.poll()
            if self._input_open:
                poll.register(0, select.POLLIN)
            if self._to_client:
                poll.register(1, select.POLLOUT)
            for fd, _ in poll.poll(left_s * 1000):
                self._write_client() if fd == 1 else self._read_client()

    def _goes_on(self) -> bool:
        if self._input_open:
            return True
        left = self._to_client or (self._sock is not None and (self._open or self._to_daemon))
        return bool(left) and time.monotonic() < self._drain_until

    def _turn(self) -> None:
        """Waits until something can move, and moves it. A side that does not take its bytes holds up the
        other's reading."""
        poll = select.poll()
        if self._sock is not None:
            events = select.POLLOUT if self._to_daemon else 0
            if len(self._to_client) < _MOST_BUFFERED:
                events |= select.POLLIN
            poll.register(self._sock, events)
            # Nothing new before the replayed initialize was answered: a server may refuse it.
            if self._input_open and self._replayed is None and len(self._to_daemon) < _MOST_BUFFERED:
                poll.register(0, select.POLLIN)
        if self._to_client:
            poll.register(1, select.POLLOUT)
        for fd, what in poll.poll(1000):
            if fd == 1:
                self._write_client()
            elif fd != 0:
                self._serve_daemon(what)
            elif self._sock is not None:  # it may have gone a moment ago: what comes now is for the next one
                self._read_client()

    # --- the client's side --------------------------------------------------------------------------

    def _read_client(self) -> None:
        try:
            data = os.read(0, _READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            # The connection stays whole: the daemon would take its end for the session's.
            self._input_open = False
            self._drain_until = time.monotonic() + _DRAIN_S
            return
        for line in self._from_client.feed(data):
            if isinstance(line, Piece):  # over every limit: for the daemon to refuse in its own words
                self._to_daemon += line.data + b"\n" * line.ends
            else:
                self._note_client(line + b"\n")
                self._to_daemon += line + b"\n"

    def _note_client(self, line: bytes) -> None:
        message = _parsed(line)
        method, request_id = message.get("method"), message.get("id")
        if method is None:
            return
        if request_id is not None:
            self._open[json.dumps(request_id)] = _Asked(request_id, len(line))
        if method == "initialize":
            self._initialize = message
        elif method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            if isinstance(params, dict):  # no answer is owed any more
                self._open.pop(json.dumps(params.get("requestId")), None)

    def _write_client(self) -> None:
        try:
            sent = os.write(1, self._to_client[: select.PIPE_BUF if os.isatty(1) else _READ_SIZE])
        except BlockingIOError:
            return
        del self._to_client[:sent]

    def _say_client(self, message: Message) -> None:
        self._to_client += _line({"jsonrpc": "2.0", **message})

    # --- the daemon's side --------------------------------------------------------------------------

    def _serve_daemon(self, what: int) -> None:
        assert self._sock is not None
        if what & select.POLLOUT and self._to_daemon:
            try:
                del self._to_daemon[: self._sock.send(self._to_daemon[:_READ_SIZE])]
            except BlockingIOError:
                pass
            except OSError:
                self._to_daemon.clear()  # it went; what it said before that is still to be read
        if not what & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return
        try:
            data = self._sock.recv(_READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._daemon_went()
        self._quiet_since, self._pinged = time.monotonic(), False
        for line in self._from_daemon.feed(data):
            assert isinstance(line, bytes)
            self._silent_ends = 0
            self._take_daemon(line + b"\n")

    def _take_daemon(self, line: bytes) -> None:
        key = _answered(line)
        if key is not None and key == self._replayed:
            self._replayed = None
            if "error" in _parsed(line):
                raise RelayError("the daemon that came back refuses the session", status=1)
            self._to_daemon += self._initialized
            self._say_client({"method": "notifications/tools/list_changed"})
            return
        if key == json.dumps(_PING):
            return
        if key is not None:
            self._open.pop(key, None)
        self._to_client += line

    def _look_for_life(self) -> None:
        """A daemon that owes answers and is silent is asked; where it does not answer that, it is gone.

        One that has more to hold than it takes from one peer does not read the question: it is left alone.
        """
        now = time.monotonic()
        held = sum(asked.size for asked in self._open.values())
        is_held_up = self._to_daemon or max(held, len(self._to_client)) >= _MOST_BUFFERED // 2
        if self._sock is None or is_held_up or not (self._open or self._replayed):
            self._quiet_since = now
        elif not self._pinged and now - self._quiet_since > _QUIET_S:
            self._to_daemon += _line({"jsonrpc": "2.0", "id": _PING, "method": "ping"})
            self._quiet_since, self._pinged = now, True
        elif self._pinged and now - self._quiet_since > _ALIVE_S:
            if self._replayed or self._initialize_key() in self._open:  # asking again would go on for ever
                words, _ = silence(self._sock.getpeername(), peer_pid(self._sock), _QUIET_S + _ALIVE_S)
                raise RelayError(words, status=3)
            self._daemon_went()

    def _daemon_went(self) -> None:
        """Whatever was sent or waited to be sent has no answer any more; the client is told at once."""
        assert self._sock is not None
        self._sock.close()
        self._sock = None
        self._silent_ends += 1
        self._from_daemon.take_rest()
        self._to_daemon.clear()
        self._replayed, self._pinged = None, False
        unanswered = self._initialize_key()
        for key, asked in self._open.items():
            if key != unanswered or not self._input_open:
                self._say_client({"id": asked.request_id, "error": _GONE})
        # An initialize has no effect that could happen twice: it is asked again instead.
        self._open = {key: self._open[key] for key in self._open if key == unanswered}

    def _reconnect(self) -> None:
        if self._silent_ends > _SILENT_ENDS:
            raise RelayError("the daemon ends each connection at once; see its log", status=3)
        self._sock = self._connect(True)
        if self._initialize is None:
            return
        self._to_daemon += _line(self._initialize)
        if self._initialize_key() not in self._open:
            self._replayed = self._initialize_key()

    def _initialize_key(self) -> str | None:
        return None if self._initialize is None else json.dumps(self._initialize.get("id"))


def _line(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _answered(line: bytes) -> str | None:
    """JSON of the id that this line answers, if it is an answer."""
    head = _ANSWER.match(line)
    if head is not None:
        return json.dumps(json.loads(head[1]))
    message = _parsed(line)
    return json.dumps(message["id"]) if "method" not in message and "id" in message else None


def _parsed(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
