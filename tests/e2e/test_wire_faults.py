"""Peers that misbehave on the socket end their own connection, and no one else notices."""

import os
import socket
import struct
import time
from pathlib import Path

import msgspec
import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import Wire, agent
from toolsearchd.protocol.framing import encode_frame


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {"steady": zoo("steady")}
    config = {"limits": {"hello_timeout_s": 1.0, "write_stall_s": 2.0, "sessions": 20}}
    with DaemonProcess(tmp_path_factory.mktemp("wire"), servers=servers, config=config) as daemon:
        daemon.wait_servers("steady")
        yield daemon


@pytest.fixture(autouse=True)
def others_unaffected(daemon):
    """A probe session works before, during and after whatever the test does."""
    with agent(daemon) as probe:
        assert probe.ask({"op": "search", "id": 1, "queries": ["echo"]})["results"][0]["matches"]
        yield
        assert probe.ask({"op": "search", "id": 2, "queries": ["echo"]})["results"][0]["matches"]
        reply = probe.ask(
            {"op": "call", "id": 3, "calls": [{"name": "mcp__steady__echo", "arguments": {"text": "hi"}}]}
        )
        assert reply["success_count"] == 1
    assert "Traceback" not in daemon.log.read_text()


def agent_socket(daemon):
    return daemon.runtime_dir / "agent.sock"


def test_silence_before_hello_is_closed(daemon):
    with Wire(agent_socket(daemon)) as wire:
        began = time.monotonic()
        assert wire.recv() is None
        assert time.monotonic() - began < 5


def test_half_a_frame_then_silence_or_close(daemon):
    with Wire(agent_socket(daemon)) as wire:
        wire.send_bytes(encode_frame({"op": "hello", "protocol": 1, "client": "x"})[:-3])
        assert wire.recv() is None
    with agent(daemon) as wire:
        wire.send_bytes(encode_frame({"op": "stop", "id": 1})[:-1])


@pytest.mark.parametrize("header", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\x01\0\x01"])
def test_impossible_lengths(daemon, header):
    before = daemon.rss_bytes()
    with Wire(agent_socket(daemon)) as wire:
        wire.send_bytes(header)
        assert wire.recv()["code"] == "FRAME_TOO_LARGE"
        assert wire.recv() is None
    assert daemon.rss_bytes() - before < 4 << 20


BAD_PAYLOADS = {
    "garbage": b"\xc1\xc1\xc1",
    "ext type": b"\xd4\x05\x00",
    "trailing bytes": msgspec.msgpack.encode({"op": "ping", "id": 1}) + b"\0",
    "bin where str": msgspec.msgpack.encode({"op": b"ping", "id": 1}),
    "four billion entries": b"\x82\xa2op\xa6search\xa7queries\xdd\xff\xff\xff\xff",
    "deep nesting": b"\x83\xa2op\xa6search\xa2id\x01\xa7queries" + b"\x91" * 100_000 + b"\x01",
    "unknown tag": msgspec.msgpack.encode({"op": "levitate", "id": 1}),
    "missing field": msgspec.msgpack.encode({"op": "subscribe", "id": 1}),
    "wrong type": msgspec.msgpack.encode({"op": "ping", "id": [1]}),
}


@pytest.mark.parametrize("payload", BAD_PAYLOADS.values(), ids=BAD_PAYLOADS.keys())
def test_what_is_no_message_is_answered_and_closed(daemon, payload):
    with agent(daemon) as wire:
        wire.send_bytes(struct.pack(">I", len(payload)) + payload)
        assert wire.recv()["code"] == "BAD_MESSAGE"
        assert wire.recv() is None


def test_an_unknown_field_is_ignored(daemon):
    with agent(daemon, invented="later") as wire:
        assert wire.ask({"op": "ping", "id": 1, "invented": 2})["op"] == "result"


def test_wrong_state(daemon):
    with Wire(agent_socket(daemon)) as wire:
        wire.send({"op": "ping", "id": 1})
        assert wire.recv()["code"] == "WRONG_STATE"
        assert wire.recv() is None
    with agent(daemon) as wire:
        wire.send({"op": "hello", "protocol": 1, "client": "again"})
        assert wire.recv()["code"] == "WRONG_STATE"


def test_duplicate_id_leaves_the_original_alone(daemon):
    call = {"op": "call", "id": 7, "calls": [{"name": "mcp__steady__sleep", "arguments": {"s": 0.5}}]}
    with agent(daemon) as wire:
        wire.send(call, call)
        assert wire.recv()["code"] == "DUPLICATE_ID"
        assert wire.recv()["success_count"] == 1
    with agent(daemon) as one, agent(daemon) as two:
        one.send(call)
        assert two.ask({"op": "ping", "id": 7})["op"] == "result"


def test_a_full_window_is_busy_and_a_stop_still_works(daemon):
    call = {"name": "mcp__steady__sleep", "arguments": {"s": 30}}
    with agent(daemon) as wire:
        wire.send(*({"op": "call", "id": n, "calls": [call, call]} for n in range(16)))
        assert wire.ask({"op": "ping", "id": 99})["code"] == "BUSY"
        wait_until(lambda: daemon.server("steady")["in_flight"] >= 8)
        began = time.monotonic()
        wire.send({"op": "stop", "id": 100})
        replies = [wire.recv() for _ in range(17)]
        assert time.monotonic() - began < 2
        (stopped,) = [reply for reply in replies if reply["id"] == 100]
        codes = {slot["error"]["code"] for r in replies if r is not stopped for slot in r["results"]}
        assert codes == {"INTERRUPTED", "INDETERMINATE"}
        assert stopped["interrupted"] + stopped["running"] == 32


def flood(wire, message):
    for number in range(2_000_000):
        wire.send(message | {"id": number})


def test_a_client_that_never_reads_is_cut(daemon):
    before = daemon.rss_bytes()
    with agent(daemon) as wire:
        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.sock.settimeout(15)
        big = {"op": "describe", "names": ["mcp__steady__echo"] * 32}
        with pytest.raises((ConnectionError, TimeoutError)):
            flood(wire, big)
    wait_until(lambda: daemon.rss_bytes() - before < 40 << 20, what="its memory given back")


def test_close_during_a_response(daemon):
    """Nobody else notices, nothing of it stays, and the log has no traceback."""
    open_before = len(daemon.ctl("sessions")[1]["sessions"])
    logged = daemon.log.stat().st_size
    for _ in range(20):
        wire = agent(daemon)
        wire.send(*({"op": "search", "id": n, "queries": ["echo"] * 16} for n in range(10)))
        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
    wait_until(lambda: len(daemon.ctl("sessions")[1]["sessions"]) == open_before, what="their ends")
    with agent(daemon) as wire:
        assert wire.ask({"op": "search", "id": 1, "queries": ["echo"]})["op"] == "result"
    assert b"Traceback" not in daemon.log.read_bytes()[logged:]


def test_too_many_clients_are_told_so(daemon):
    wires = [Wire(agent_socket(daemon)) for _ in range(60)]
    try:
        refused = [wire for wire in wires[30:] if (wire.recv() or {}).get("code") == "BUSY"]
        assert len(refused) == 30
    finally:
        for wire in wires:
            wire.close()


def test_connections_leak_nothing(daemon):
    def open_fds():
        return len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir()))

    def connect(times):
        for _ in range(times):
            agent(daemon).close()

    connect(50)
    fds, rss = open_fds(), daemon.rss_bytes()
    connect(1000)
    wait_until(lambda: open_fds() <= fds, what="descriptors given back")
    assert daemon.rss_bytes() - rss < 8 << 20


def test_passed_descriptors_are_not_taken(daemon):
    def open_fds():
        return len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir()))

    with agent(daemon) as wire:
        wire.ask({"op": "ping", "id": 0})
        before = open_fds()
        for number in range(1, 20):
            socket.send_fds(wire.sock, [encode_frame({"op": "ping", "id": number})], [0, 1, 2])
            assert wire.recv()["id"] == number
        assert open_fds() == before


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"queries": ["x"] * 10_000}, "TOO_MANY"),
        ({"queries": {"a": 1}}, "BAD_ARGUMENTS"),
        ({"queries": []}, "BAD_ARGUMENTS"),
        ({}, "BAD_ARGUMENTS"),
    ],
)
def test_search_arguments_out_of_bounds(daemon, args, code):
    with agent(daemon) as wire:
        reply = wire.ask({"op": "search", "id": 1, **args})
        assert (reply["op"], reply["code"]) == ("error", code)


@pytest.mark.parametrize("limit", [-1, 0, 10**9, "3", 2.0, None])
def test_a_limit_is_clamped(daemon, limit):
    with agent(daemon) as wire:
        reply = wire.ask({"op": "search", "id": 1, "queries": ["echo text"], "limit": limit})
        assert 1 <= len(reply["results"][0]["matches"]) <= 25


@pytest.mark.parametrize("query", ["", "   ", "the of and", "🎉🎉", "مرحبا", "何もない", "x" * 1_000_000])
def test_queries_that_find_nothing_name_the_sources(daemon, query):
    with agent(daemon) as wire:
        reply = wire.ask({"op": "search", "id": 1, "queries": [query, "zzzqqq"]})
        group = reply["results"][-1]
        assert group["matches"] == []
        assert group["available_sources"][0]["name"] == "steady"


def test_describe_unknown_duplicate_and_too_many(daemon):
    with agent(daemon) as wire:
        reply = wire.ask(
            {
                "op": "describe",
                "id": 1,
                "names": ["mcp__steady__echo", "mcp__steady__echo", "mcp__steady__ecko"],
            }
        )
        assert list(reply["tools"]) == ["mcp__steady__echo"]
        assert "mcp__steady__ecko" in str(reply["not_found"])
        assert (
            wire.ask({"op": "describe", "id": 2, "names": [f"n{i}" for i in range(33)]})["code"] == "TOO_MANY"
        )


def test_an_unknown_profile_is_granted_nothing(daemon):
    with agent(daemon, profile="does-not-exist") as wire:
        reply = wire.ask({"op": "search", "id": 1, "queries": ["echo"]})
        assert reply["total_available"] == 0
        assert reply["results"][0]["matches"] == []


def test_a_client_name_with_escapes_reaches_no_terminal(daemon):
    with agent(daemon, client="\x1b[31mred\x1b[0m" + "x" * 50_000) as wire:
        assert wire.ask({"op": "ping", "id": 1})
        status, reply = daemon.ctl("sessions")
        assert status == 0
        assert all("\x1b" not in s["client"] and len(s["client"]) <= 128 for s in reply["sessions"])


def test_a_descendant_of_a_server_gets_no_session(daemon):
    with agent(daemon) as wire:
        reply = wire.ask(
            {
                "op": "call",
                "id": 1,
                "calls": [{"name": "mcp__steady__connect", "arguments": {"path": str(agent_socket(daemon))}}],
            }
        )
        assert "NOT_ALLOWED" in str(reply["results"][0])


def test_sockets_are_the_users_own(daemon):
    assert os.stat(daemon.runtime_dir).st_mode & 0o777 == 0o700
    for name in ("agent.sock", "control.sock"):
        assert os.stat(daemon.runtime_dir / name).st_mode & 0o077 == 0
