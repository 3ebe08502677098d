"""`toolsearchctl mcp`: bytes both ways, whatever happens to the daemon behind it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo
from toolsearchd.protocol.framing import FrameDecoder, encode_frame

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "relay-test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def call(request_id, method="tools/call", **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def answer(request_id, **result):
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


class RelayProcess:
    """A relay and its client's side of the pipes."""

    def __init__(self, runtime_dir, *, env=None, **popen):
        self.process = subprocess.Popen(
            [BIN / "toolsearchctl", "--runtime-dir", runtime_dir, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env or os.environ,
            **popen,
        )

    def send(self, *messages):
        for message in messages:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def recv(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, message):
        self.send(message)
        while (reply := self.recv()).get("id") != message["id"]:
            pass
        return reply

    def end(self, within_s=20):
        """Closes stdin; the exit status, and what was still said on stdout and stderr."""
        out, err = self.process.communicate(timeout=within_s)
        return self.process.returncode, out, err.decode()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # what was not flushed has no reader any more


class Door:
    """A scripted daemon: a real socket, this test's words. `take` accepts and greets the next connection."""

    def __init__(self, root):
        self.runtime_dir = root
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(root / "agent.sock"))
        self.listener.listen(8)
        self.listener.settimeout(20)

    def accept(self):
        sock, _ = self.listener.accept()
        sock.settimeout(20)
        frames = FrameDecoder(1 << 20)
        while (payload := frames.next_payload()) is None:
            frames.feed(sock.recv(4096))
        return sock, msgspec.msgpack.decode(payload)

    def take(self):
        sock, hello = self.accept()
        sock.sendall(encode_frame({"op": "welcome", "session": "mcp", "protocol": 1}))
        return Conversation(sock, hello)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.listener.close()


class Conversation:
    def __init__(self, sock, hello):
        self.sock = sock
        self.hello = hello
        self.lines = sock.makefile("rb")

    def recv(self):
        return json.loads(self.lines.readline())

    def send(self, *messages):
        for message in messages:
            self.sock.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def close(self):
        self.lines.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


@pytest.fixture
def door(tmp_path):
    with Door(tmp_path) as door:
        yield door


def test_the_hello_tells_where_the_client_stands(door, tmp_path):
    place = tmp_path / ("a long directory name that takes more than thirty-one bytes" * 2)
    place.mkdir()
    with RelayProcess(door.runtime_dir, cwd=place), door.take() as daemon:
        assert daemon.hello == {
            "op": "hello",
            "protocol": 1,
            "client": "mcp",
            "mcp": True,
            "cwd": str(place),
        }


def test_bytes_pass_unchanged_both_ways_and_a_slow_reader_loses_none(door):
    big = "é" * 1_000_000
    with RelayProcess(door.runtime_dir) as relay, door.take() as daemon:
        sending = threading.Thread(target=lambda: [relay.send(call(n, text=big)) for n in range(4)])
        sending.start()
        for number in range(4):
            assert daemon.recv() == call(number, text=big)
        sending.join()
        replying = threading.Thread(target=lambda: [daemon.send(answer(n, text=big)) for n in range(4)])
        replying.start()
        for number in range(4):
            assert relay.recv() == answer(number, text=big)
        replying.join()


def test_a_line_over_every_limit_is_the_daemons_to_refuse(door):
    with RelayProcess(door.runtime_dir) as relay, door.take() as daemon:
        sending = threading.Thread(target=lambda: relay.send(call(1, text="x" * (20 << 20)), call(2)))
        sending.start()
        assert len(daemon.lines.readline()) > 20 << 20
        assert daemon.recv() == call(2)
        sending.join()


def test_the_end_of_input_waits_for_open_answers(door):
    with RelayProcess(door.runtime_dir) as relay, door.take() as daemon:
        relay.send(call(1), call("two"))
        assert [daemon.recv()["id"], daemon.recv()["id"]] == [1, "two"]
        relay.process.stdin.close()
        daemon.send(answer("two"), answer(1))
        assert [relay.recv(), relay.recv()] == [answer("two"), answer(1)]
        assert relay.process.wait(10) == 0


def test_open_requests_are_answered_at_once_when_the_daemon_goes(door):
    with RelayProcess(door.runtime_dir) as relay:
        with door.take() as daemon:
            relay.send(INITIALIZE, INITIALIZED, call(7), call("eight"), call(9))
            relay.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
            asked = [daemon.recv() for _ in range(6)]
            assert asked[0] == INITIALIZE
            daemon.send(answer(1))
            assert relay.recv() == answer(1)
        told = [relay.recv(), relay.recv()]  # nobody listens yet: these don't wait for the next daemon
        assert [message["id"] for message in told] == [7, "eight"]  # not 9: its answer is not owed
        assert all(message["error"]["code"] == -32000 for message in told)


def test_a_new_daemon_gets_the_same_session_and_the_client_hears_of_it(door):
    with RelayProcess(door.runtime_dir) as relay:
        with door.take() as daemon:
            relay.send(INITIALIZE, INITIALIZED)
            assert [daemon.recv(), daemon.recv()] == [INITIALIZE, INITIALIZED]
            daemon.send(answer(1))
            assert relay.recv() == answer(1)
        with door.take() as daemon:
            assert daemon.recv() == INITIALIZE
            relay.send(call(2))  # held until the session is there again
            daemon.send(answer(1))
            assert [daemon.recv(), daemon.recv()] == [INITIALIZED, call(2)]
            daemon.send(answer(2))
            assert [relay.recv(), relay.recv()] == [LIST_CHANGED, answer(2)]


def test_an_unanswered_initialize_is_asked_again(door):
    with RelayProcess(door.runtime_dir) as relay:
        with door.take() as daemon:
            relay.send(INITIALIZE)
            assert daemon.recv() == INITIALIZE
        with door.take() as daemon:
            assert daemon.recv() == INITIALIZE
            daemon.send(answer(1))
            assert relay.recv() == answer(1)


def test_a_daemon_that_ends_each_connection_is_given_up(door):
    with RelayProcess(door.runtime_dir) as relay:
        relay.send(INITIALIZE)
        for _ in range(6):
            with door.take() as daemon:
                assert daemon.recv() == INITIALIZE
        assert relay.process.wait(10) == 3
        assert "ends each connection" in relay.process.stderr.read().decode()


def test_a_refusal_is_told_in_words(door):
    with RelayProcess(door.runtime_dir) as relay:
        sock, _ = door.accept()
        sock.sendall(encode_frame({"op": "error", "code": "NOT_ALLOWED", "message": "not for you"}))
        status, out, err = relay.end()
        sock.close()
    assert (status, out) == (1, b"")
    assert "NOT_ALLOWED: not for you" in err


def test_a_busy_daemon_is_asked_again(door):
    with RelayProcess(door.runtime_dir) as relay:
        sock, _ = door.accept()
        sock.sendall(encode_frame({"op": "error", "code": "BUSY", "message": "64 are open"}))
        sock.close()
        with door.take() as daemon:
            relay.send(call(1))
            assert daemon.recv() == call(1)


# --- with a real daemon -------------------------------------------------------------------------------


def daemons_in(runtime_dir):
    """Pids of daemons of this runtime directory: the lock file names the one that runs."""
    try:
        pid = int((runtime_dir / "lock").read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return []
    return [pid]


@contextmanager
def stopped_at_the_end(runtime_dir):
    """What a relay started outlives it: this ends it."""
    try:
        yield
    finally:
        for pid in daemons_in(runtime_dir):
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not daemons_in(runtime_dir), what="the daemon's end")


def test_a_restarted_daemon_serves_the_open_session(tmp_path):
    with DaemonProcess(tmp_path, servers={"steady": zoo("steady")}) as daemon:
        daemon.wait_servers("steady")
        with RelayProcess(daemon.runtime_dir, env=daemon.env) as relay:
            assert "result" in relay.ask(INITIALIZE)
            relay.send(INITIALIZED)
            relay.send(call(2, name="steady__sleep", arguments={"s": 60}))
            wait_until(lambda: daemon.server("steady")["in_flight"], what="the call to run")
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.wait()
            daemon.start()
            gone = relay.recv()
            assert (gone["id"], gone["error"]["code"]) == (2, -32000)
            assert relay.recv() == LIST_CHANGED
            daemon.wait_servers("steady")
            called = relay.ask(call(3, name="steady__echo", arguments={"text": "again"}))
            assert called["result"]["content"][0]["text"] == "again"


def test_where_nobody_restarts_the_daemon_the_relay_does(tmp_path):
    with DaemonProcess(tmp_path) as daemon, stopped_at_the_end(daemon.runtime_dir):
        with RelayProcess(daemon.runtime_dir, env=daemon.env) as relay:
            assert "result" in relay.ask(INITIALIZE)
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.wait()
            assert relay.recv() == LIST_CHANGED
            assert "result" in relay.ask(call(2, "tools/list"))


def test_the_relay_is_small_and_imports_nothing_but_the_standard_library(tmp_path):
    with DaemonProcess(tmp_path) as daemon, RelayProcess(daemon.runtime_dir, env=daemon.env) as relay:
        assert "result" in relay.ask(INITIALIZE)
        pages = int(Path(f"/proc/{relay.process.pid}/statm").read_text().split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") < 15 * 1024 * 1024
        maps = Path(f"/proc/{relay.process.pid}/maps").read_text()
        assert "site-packages" not in maps  # no extension module of anybody's
    modules = "toolsearchd.ctl.__main__, toolsearchd.ctl.verbs.mcp, toolsearchd.ctl.relay"
    code = f"import sys, {modules}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"msgspec", "trio", "numpy", "pyroaring", "mcp"} & set(loaded.stdout.split())


def test_the_relay_starts_a_daemon_that_outlives_it(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    env["HOME"] = str(tmp_path)
    runtime_dir = tmp_path / "run"
    with stopped_at_the_end(runtime_dir):
        with RelayProcess(runtime_dir, env=env) as relay:
            assert relay.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "toolsearchd"
            assert relay.end()[0] == 0
        (pid,) = daemons_in(runtime_dir)
        with RelayProcess(runtime_dir, env=env) as relay:
            assert "result" in relay.ask(INITIALIZE)
        assert daemons_in(runtime_dir) == [pid]
        assert "ready" in (tmp_path / ".local/state/toolsearchd/daemon.log").read_text()


def test_a_daemon_that_can_not_start_is_said_so_at_once(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    env["HOME"] = str(tmp_path)
    (tmp_path / "file").touch()
    with RelayProcess(tmp_path / "file" / "run", env=env) as relay:
        status, _, err = relay.end()
    assert status == 3
    assert "daemon.log says why" in err
    assert "runtime directory" in (tmp_path / ".local/state/toolsearchd/daemon.log").read_text()
