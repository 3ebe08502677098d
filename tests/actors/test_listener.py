"""The listener: who is let in, how many, what a connection's end and a lack of descriptors cost."""

import errno
import os
import socket

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.actors.upstream_world import until
from toolsearchd.protocol.framing import FrameDecoder
from toolsearchd.sockets import listener as listeners
from toolsearchd.sockets.listener import Listener
from toolsearchd.sockets.runtime_dir import RuntimeDir
from toolsearchd.system.peer import Peer


class Served:
    """What `serve` of a test does: waits for the peer's end, or fails."""

    def __init__(self):
        self.peers, self.fails = [], None

    async def __call__(self, sock, peer):
        self.peers.append(peer)
        if self.fails is not None:
            raise self.fails
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock.dup()))
        async with stream:
            while await stream.receive_some(100):
                pass


@pytest.fixture
async def world(tmp_path, nursery):
    directory = RuntimeDir(tmp_path / "run")
    directory.acquire()
    world = Served()
    world.path = directory.path / "agent.sock"
    world.listener = Listener("agent.sock", directory, directory.bind("agent.sock"), world, 2)
    await nursery.start(world.listener.run)
    yield world
    directory.release()


async def refusal(path):
    """What a newcomer is told, and then the end of the stream."""
    async with await trio.open_unix_socket(str(path)) as stream:
        frames, found = FrameDecoder(1 << 20), b""
        with trio.fail_after(20):
            while data := await stream.receive_some(1000):
                found += data
        frames.feed(found)
        return frames.next_payload()


async def test_so_many_at_once_and_one_more_when_one_has_gone(world):
    first, second = [await trio.open_unix_socket(str(world.path)) for _ in range(2)]
    await until(lambda: world.listener.open == 2)
    assert b"BUSY" in await refusal(world.path)
    assert world.listener.refused == 1
    await first.aclose()
    await until(lambda: world.listener.open == 1)
    async with await trio.open_unix_socket(str(world.path)):
        await until(lambda: world.listener.open == 2)
    await second.aclose()
    await until(lambda: world.listener.open == 0)
    assert [peer.pid for peer in world.peers] == [os.getpid()] * 3


async def test_a_bug_in_one_connection_is_counted_and_ends_that_one(world):
    world.fails = RuntimeError("planted")
    assert await refusal(world.path) is None
    world.fails = None
    async with await trio.open_unix_socket(str(world.path)):
        await until(lambda: world.listener.open == 1)
    assert world.listener.failed == 1


@pytest.mark.parametrize(
    ("found", "code"),
    [(Peer(1, 1, "a server's child"), b"NOT_ALLOWED"), (OSError(errno.EMFILE, "no descriptor"), b"BUSY")],
)
async def test_who_may_not_be_served_or_looked_at_is_told_so(world, monkeypatch, found, code):
    def identify(_sock):
        if isinstance(found, OSError):
            raise found
        return found

    monkeypatch.setattr(listeners, "identify", identify)
    assert code in await refusal(world.path)
    assert world.peers == []
    assert world.listener.open == 0


async def test_without_a_descriptor_the_newcomer_is_told_and_the_reserve_is_kept(world, monkeypatch):
    sock, calls = world.listener._sock, []

    class Scarce:
        """The first accept finds no descriptor."""

        def accept(self):
            calls.append(None)
            if len(calls) == 1:
                raise OSError(errno.EMFILE, "too many open files")
            return sock.accept()

        def fileno(self):
            return sock.fileno()

        def close(self):
            sock.close()

    monkeypatch.setattr(world.listener, "_sock", Scarce())
    assert b"BUSY" in await refusal(world.path)
    assert len(world.listener._reserve) == listeners._RESERVED
    async with await trio.open_unix_socket(str(world.path)):
        await until(lambda: world.listener.open == 1)


async def test_closed_it_takes_nobody_and_keeps_who_is_there(world):
    async with await trio.open_unix_socket(str(world.path)) as stream:
        await until(lambda: world.listener.open == 1)
        world.listener.close()
        await wait_all_tasks_blocked()
        with pytest.raises(OSError):
            await trio.open_unix_socket(str(world.path))
        await stream.send_all(b"still here")
        assert world.listener.open == 1


async def test_bound_anew_it_serves_the_new_path_and_who_is_there(world):
    async with await trio.open_unix_socket(str(world.path)):
        await until(lambda: world.listener.open == 1)
        world.path.unlink()
        world.listener.rebind()
        async with await trio.open_unix_socket(str(world.path)):
            await until(lambda: world.listener.open == 2)


async def test_cancelled_it_leaves_no_descriptor(tmp_path):
    directory = RuntimeDir(tmp_path / "run")
    directory.acquire()
    before = len(os.listdir("/proc/self/fd"))
    async with trio.open_nursery() as nursery:
        listener = Listener("agent.sock", directory, directory.bind("agent.sock"), Served(), 2)
        await nursery.start(listener.run)
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(directory.path / "agent.sock"))
            await until(lambda: listener.open == 1)
            nursery.cancel_scope.cancel()
    assert listener.open == 0
    assert len(os.listdir("/proc/self/fd")) == before
    directory.release()
