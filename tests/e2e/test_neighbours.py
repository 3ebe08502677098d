"""A client that sends without pause, or reads nothing, costs itself and not its neighbours."""

import threading

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import Wire, agent

REQUESTS = 1000
BUDGET = 256 << 10


@pytest.fixture
def daemon(tmp_path):
    config = {"limits": {"outstanding_bytes": BUDGET}}
    with DaemonProcess(tmp_path, servers={"one": zoo("steady")}, config=config) as daemon:
        daemon.wait_servers("one")
        yield daemon


def searches(*queries):
    return [{"op": "search", "id": number, "queries": list(queries)} for number in range(REQUESTS)]


def session_of(control, client):
    (found,) = [s for s in control.ask({"op": "sessions", "id": 1})["sessions"] if s["client"] == client]
    return found


def test_a_segment_full_of_requests_gives_others_their_turns(daemon):
    with agent(daemon, client="floods") as flood, Wire(daemon.runtime_dir / "control.sock") as control:
        flood.sock.settimeout(60)
        answered = threading.Thread(target=lambda: [flood.recv() for _ in range(REQUESTS)])
        answered.start()
        flood.send(*searches(*(f"zq{n} xv{n}" for n in range(16))))
        done = wait_until(lambda: session_of(control, "floods")["searches"], what="the first search")
        assert done < REQUESTS
        answered.join(60)
        assert session_of(control, "floods")["searches"] == REQUESTS


def test_what_waits_for_a_client_that_does_not_read_is_bounded(daemon):
    with agent(daemon, client="deaf") as deaf, Wire(daemon.runtime_dir / "control.sock") as control:
        deaf.sock.settimeout(60)
        deaf.send(*searches("echo text", "sleep seconds"))  # replies of 1 kB and more, in one segment
        wait_until(lambda: session_of(control, "deaf")["unread_bytes"] > BUDGET, what="a full budget")
        for _ in range(20):
            assert session_of(control, "deaf")["unread_bytes"] < BUDGET + (64 << 10)
        assert [deaf.recv()["id"] for _ in range(REQUESTS)] == list(range(REQUESTS))
