"""A peer's socket from the daemon's side: order, back pressure, and peers that do not read."""

import socket

import msgspec
import pytest
import trio

from toolsearchd.limits import Limits
from toolsearchd.system.stream import PeerStalledError, PeerStream


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    theirs.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def limits(**changes):
    return msgspec.structs.replace(Limits(), **changes)


async def read(sock, count):
    found = b""
    while len(found) < count:
        try:
            found += sock.recv(count - len(found))
        except BlockingIOError:
            await trio.lowlevel.wait_readable(sock)
    return found


async def test_bytes_keep_their_order_through_the_outbox(pair):
    stream = PeerStream(pair[0], limits())
    sent = b"".join(bytes([n]) * 100_000 for n in range(40))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run_writer)
        for at in range(0, len(sent), 100_000):
            stream.send_nowait(sent[at : at + 100_000])
        assert stream.outbox_bytes > 0
        with trio.fail_after(10):
            assert await read(pair[1], len(sent)) == sent
            await stream.drain()
        assert stream.outbox_bytes == 0
        nursery.cancel_scope.cancel()


async def test_a_peer_that_takes_nothing_is_cut(pair):
    stream = PeerStream(pair[0], limits(write_stall_s=0.05))
    stream.send_nowait(b"x" * (4 << 20))
    with trio.fail_after(10), pytest.raises(PeerStalledError):
        await stream.run_writer()


async def test_a_slow_reader_is_cut_in_the_end(pair):
    stream = PeerStream(pair[0], limits(write_stall_s=5, write_total_s=0.3))
    stream.send_nowait(b"x" * (16 << 20))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sip, pair[1])
        with trio.fail_after(10), pytest.raises(PeerStalledError):
            await stream.run_writer()
        nursery.cancel_scope.cancel()


async def sip(sock):
    while True:
        try:
            sock.recv(4096)
        except BlockingIOError:
            await trio.lowlevel.wait_readable(sock)
        await trio.sleep(0.001)


async def test_reading_waits_while_the_peer_leaves_too_much_unread(pair):
    stream = PeerStream(pair[0], limits(outstanding_bytes=1 << 20))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run_writer)
        stream.send_nowait(b"x" * (4 << 20))
        pair[1].send(b"more, please")
        with trio.move_on_after(0.1) as waited:
            await stream.receive()
        assert waited.cancelled_caught
        await read(pair[1], 4 << 20)
        with trio.fail_after(10):
            assert await stream.receive() == b"more, please"
        nursery.cancel_scope.cancel()


async def test_closing_ends_a_wait(pair):
    stream = PeerStream(pair[0], limits())
    async with trio.open_nursery() as nursery:
        found = []

        async def receive():
            found.append(await stream.receive())

        nursery.start_soon(receive)
        await trio.testing.wait_all_tasks_blocked()
        stream.close()
        stream.send_nowait(b"into the void")
    assert found == [b""]


def test_sockets_tell_a_half_close_from_a_close():
    ours, theirs = socket.socketpair()
    stream = PeerStream(ours, Limits())
    assert not stream.is_gone
    theirs.shutdown(socket.SHUT_WR)
    assert not stream.is_gone
    theirs.close()
    assert stream.is_gone
    ours.close()
