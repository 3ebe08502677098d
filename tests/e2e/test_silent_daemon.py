"""A daemon that takes connections and says nothing: every client gives it up in time, and says what to do."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from tests.actors.test_client import WELCOME
from tests.daemon import DaemonProcess, wait_until
from tests.e2e.other_ends import INITIALIZE, endings
from tests.e2e.test_relay import INITIALIZED, Door, RelayProcess, answer, call
from toolsearchd.client import Client, ControlClient
from toolsearchd.endpoint import GREETING_S
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.framing import encode_frame
from toolsearchd.protocol.replies import CallReply

REPLY = CallReply(
    results=[], success_count=0, error_count=0, total_count=0, generation=1, listing_stale=False
)

SOCKETS = ("agent.sock", "control.sock")
_SLACK_S = 15  # a busy machine; without a bound it would be for ever


def given_up(runtime_dir, *words):
    began = time.monotonic()
    found = endings(runtime_dir)
    assert time.monotonic() - began < GREETING_S + _SLACK_S
    for name, ending in found.items():
        assert ending.code == "NO_DAEMON", (name, ending)
        assert ending.status in (None, 3), (name, ending)
        for word in ("said nothing within", *words):
            assert word in ending.message, (name, ending)


def test_a_stopped_daemon(tmp_path):
    with DaemonProcess(tmp_path) as daemon:
        pid = daemon.process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            given_up(daemon.runtime_dir, f"(pid {pid}, stopped)", f"`kill -CONT {pid}` lets it go on")
        finally:
            os.kill(pid, signal.SIGCONT)
        assert daemon.ctl("status")[0] == 0


@contextmanager
def listeners(directory, backlog, serve):
    """Sockets whose connections `serve` gets, one after another in a thread of each socket."""
    socks, threads, taken = [], [], []
    directory.chmod(0o700)
    for name in SOCKETS:
        socks.append(socket.socket(socket.AF_UNIX))
        socks[-1].bind(str(directory / name))
        socks[-1].listen(backlog)

    def accept(sock):
        while True:
            try:
                taken.append(sock.accept()[0])
            except OSError:
                return  # the test is over
            serve(taken[-1])

    for sock in socks if serve else ():
        threads.append(threading.Thread(target=accept, args=(sock,)))
        threads[-1].start()
    try:
        yield
    finally:
        for sock in socks:
            sock.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for sock in (*socks, *taken):
            sock.close()


@pytest.mark.parametrize("said", [b"", b"\0\0\0\x20\x82\xa2op"])
def test_one_that_begins_and_says_no_more(tmp_path, said):
    with listeners(tmp_path, 16, lambda sock: sock.sendall(said)):
        given_up(tmp_path, f"(pid {os.getpid()}, not responding)", "`kill -KILL")


def test_a_full_queue_of_connections(tmp_path):
    (tmp_path / "lock").write_text(f"{os.getpid()}\n")
    waiting = []
    with listeners(tmp_path, 0, None):
        for name in SOCKETS:
            while True:
                waiting.append(socket.socket(socket.AF_UNIX))
                waiting[-1].setblocking(False)
                try:
                    waiting[-1].connect(str(tmp_path / name))
                except BlockingIOError:
                    break
        given_up(tmp_path, f"(pid {os.getpid()}, not responding)")
    for sock in waiting:
        sock.close()


def test_a_queue_that_empties_in_time_is_no_failure(tmp_path):
    with DaemonProcess(tmp_path) as daemon:
        daemon.process.send_signal(signal.SIGSTOP)
        waiting = []
        try:
            while len(waiting) < 1000:
                waiting.append(socket.socket(socket.AF_UNIX))
                waiting[-1].setblocking(False)
                waiting[-1].connect(str(daemon.runtime_dir / "control.sock"))
        except BlockingIOError:
            pass
        asking = threading.Timer(0.3, daemon.process.send_signal, (signal.SIGCONT,))
        asking.start()
        for sock in waiting:
            sock.close()
        with ControlClient(runtime_dir=daemon.runtime_dir) as control:
            assert "generation" in control.ping()
        asking.join()


def test_a_ping_is_answered_at_once_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr("toolsearchd.client_wire.GREETING_S", 0.5)
    with DaemonProcess(tmp_path) as daemon, Client(client="ends", runtime_dir=daemon.runtime_dir) as agent:
        assert "generation" in agent.ping()
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(ToolsearchdError, match=f"pid {daemon.process.pid}, stopped") as caught:
                agent.ping()
        finally:
            daemon.process.send_signal(signal.SIGCONT)
    assert caught.value.code == "NO_DAEMON"


def test_the_time_limit_of_the_greeting_is_not_that_of_a_call(tmp_path, monkeypatch):
    monkeypatch.setattr("toolsearchd.client_wire.GREETING_S", 0.3)

    def serve(sock):
        sock.recv(4096)
        sock.sendall(encode_frame(WELCOME))
        sock.recv(4096)
        time.sleep(1)
        sock.sendall(encode_frame({"op": "result", "id": 1, **REPLY.members()}))

    with listeners(tmp_path, 16, serve), Client(client="ends", runtime_dir=tmp_path) as agent:
        assert agent.call([{"name": "x"}]) == REPLY


# --- the relay, in the middle of a session ----------------------------------------------------------------


class QuickRelay(RelayProcess):
    """A relay that asks after 0.2 s of silence and waits `alive_s` for the answer."""

    def __init__(self, runtime_dir, alive_s=0.5):
        code = (
            "import sys, toolsearchd.ctl.relay as relay; "
            "relay._QUIET_S, relay._ALIVE_S = 0.2, float(sys.argv[2]); "
            "sys.exit(relay.run_relay(sys.argv[1], {}))"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, runtime_dir, str(alive_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


@pytest.fixture
def door(tmp_path):
    with Door(tmp_path) as door:
        yield door


def greeted(relay, daemon):
    relay.send(INITIALIZE, INITIALIZED)
    assert [daemon.recv(), daemon.recv()] == [INITIALIZE, INITIALIZED]
    daemon.send(answer(1))
    assert relay.recv() == answer(1)


def test_an_initialize_without_an_answer_is_given_up(door):
    with QuickRelay(door.runtime_dir) as relay, door.take() as daemon:
        relay.send(INITIALIZE)
        assert daemon.recv() == INITIALIZE
        assert daemon.recv()["method"] == "ping"
        refused = relay.recv()
        assert (refused["id"], refused["error"]["data"]["code"]) == (1, "NO_DAEMON")
        assert f"pid {os.getpid()}, not responding" in refused["error"]["message"]
        assert relay.process.wait(20) == 3


def test_a_call_of_a_daemon_that_is_silent_is_answered_and_the_next_daemon_greeted(door):
    with QuickRelay(door.runtime_dir) as relay:
        with door.take() as daemon:
            greeted(relay, daemon)
            relay.send(call(7))
            assert [daemon.recv()["method"], daemon.recv()["method"]] == ["tools/call", "ping"]
            gone = relay.recv()
            assert (gone["id"], gone["error"]["code"]) == (7, -32000)
        with door.take() as daemon:
            assert daemon.recv() == INITIALIZE


def test_a_long_call_of_a_daemon_that_answers_pings_is_waited_for(door):
    with QuickRelay(door.runtime_dir, alive_s=2) as relay, door.take() as daemon:
        greeted(relay, daemon)
        relay.send(call(7))
        assert daemon.recv() == call(7)
        for _ in range(12):  # longer than any of its time limits
            asked = daemon.recv()
            assert asked["method"] == "ping"
            daemon.send(answer(asked["id"]))
        daemon.send(answer(7))
        assert relay.recv() == answer(7)  # and the client saw no ping's answer


def test_the_daemon_answers_the_relays_ping_under_a_call(tmp_path):
    from tests.servers.zoo import zoo

    with DaemonProcess(tmp_path, servers={"steady": zoo("steady")}) as daemon:
        daemon.wait_servers("steady")
        wait_until(lambda: "warmed up" in daemon.log.read_text(), within_s=60)  # what a first client needs
        with QuickRelay(daemon.runtime_dir, alive_s=3) as relay:
            assert "result" in relay.ask(INITIALIZE)
            relay.send(INITIALIZED)
            slept = relay.ask(call(2, name="steady__sleep", arguments={"s": 4}))
            assert "result" in slept, json.dumps(slept)
