"""The Python client against a peer that speaks frames on a real socket and does what each test asks."""

import socket
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import msgspec
import pytest
import trio

from toolsearchd.async_client import AsyncClient
from toolsearchd.client import Client, ControlClient
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.events import CatalogChanged, Drain
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.protocol.replies import AssembleReply, SessionLimits, Welcome
from toolsearchd.records import Open

LIMITS = Limits()
WELCOME = Welcome(
    session="s1",
    protocol=1,
    version="1",
    generation=1,
    profile="default",
    dialect="default",
    limits=SessionLimits(**{name: getattr(LIMITS, name) for name in SessionLimits.__struct_fields__}),
).as_map()
STAMP = {"generation": 1, "listing_stale": False}
ASSEMBLED = AssembleReply(
    tools=[],
    listing="",
    tier=0,
    listing_form="none",
    listing_tokens=0,
    budget_tokens=0,
    deferred_count=0,
    version="",
    **STAMP,
).as_map()


class Peer:
    """One accepted connection, as the daemon's side sees it."""

    def __init__(self, sock):
        self.sock = sock
        self._frames = FrameDecoder(1 << 20)

    async def recv(self):
        while (payload := self._frames.next_payload()) is None:
            data = await self.sock.recv(65536)
            if not data:
                return None
            self._frames.feed(data)
        return msgspec.msgpack.decode(payload)

    async def send(self, *messages):
        await trio.SocketStream(self.sock).send_all(b"".join(encode_frame(message) for message in messages))

    async def greet(self, **more):
        hello = await self.recv()
        await self.send(WELCOME | more)
        return hello

    async def serve(self, **more):
        """Answers each request with its own fields."""
        while (message := await self.recv()) is not None:
            await self.send({"op": "result", "id": message["id"], "echo": message, **STAMP, **more})


@asynccontextmanager
async def listening(folder, serve):
    """`serve(peer, number)` runs for each connection."""
    path = folder / "agent.sock"
    path.unlink(missing_ok=True)
    numbers = iter(range(1000))
    with trio.socket.socket(socket.AF_UNIX) as listener:
        await listener.bind(str(path))
        listener.listen(8)

        async def run_peer(sock):
            with sock:
                await serve(Peer(sock), next(numbers))

        async def accept(nursery):
            while True:
                nursery.start_soon(run_peer, (await listener.accept())[0])

        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(accept, nursery)
                yield
                nursery.cancel_scope.cancel()


def connected(folder, **more):
    return AsyncClient.connect(client="test", runtime_dir=folder, **more)


async def test_hello_carries_what_was_given(tmp_path):
    hellos = []

    async def serve(peer, number):
        hellos.append(await peer.greet())
        await peer.serve()

    async with listening(tmp_path, serve), connected(tmp_path, cwd=tmp_path, context_length=1000) as client:
        assert client.welcome["session"] == "s1"
    assert hellos == [
        {"op": "hello", "protocol": 1, "client": "test", "cwd": str(tmp_path), "context_length": 1000}
    ]


async def test_replies_find_their_requests_in_any_order_and_events_go_apart(tmp_path):
    async def serve(peer, number):
        await peer.greet()
        asked = [await peer.recv() for _ in range(8)]
        await peer.send({"op": "catalog_changed", "generation": 2})
        await peer.send(
            *({"op": "result", "id": m["id"], "for": m["queries"], **STAMP} for m in reversed(asked))
        )
        await peer.serve()

    async with listening(tmp_path, serve), connected(tmp_path) as client:
        got = {}

        async def ask(word):
            got[word] = (await client.search([word]))["for"]

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(ask, f"q{number}")
        assert got == {f"q{number}": [f"q{number}"] for number in range(8)}
        assert await client.events.receive() == CatalogChanged(generation=2)


async def test_an_error_has_its_code_and_fields_and_is_not_wrapped(tmp_path):
    async def serve(peer, number):
        await peer.greet()
        message = await peer.recv()
        await peer.send({"op": "error", "id": message["id"], "code": "TOO_MANY", "message": "17", "cap": 16})
        await peer.serve()

    async with listening(tmp_path, serve):
        with pytest.raises(ToolsearchdError) as caught:
            async with connected(tmp_path) as client:
                await client.describe(["x"])
    assert (caught.value.code, caught.value.message, caught.value.fields) == ("TOO_MANY", "17", {"cap": 16})


async def test_a_cancelled_wait_leaves_the_session_whole(tmp_path):
    async def serve(peer, number):
        await peer.greet()
        late = await peer.recv()
        second = await peer.recv()
        await peer.send(
            *(
                {"op": "result", "id": asked["id"], **STAMP, "generation": n}
                for n, asked in ((1, late), (2, second))
            )
        )
        await peer.serve()

    async with listening(tmp_path, serve), connected(tmp_path) as client:
        with trio.move_on_after(0.05):
            await client.ping()
        assert (await client.ping()).generation == 2
        with pytest.raises(trio.WouldBlock):
            client.events.receive_nowait()  # the late reply is no event


async def test_the_end_reaches_everybody_who_waits(tmp_path):
    async def serve(peer, number):
        await peer.greet()
        await peer.recv()
        await peer.recv()

    codes = {}

    async with listening(tmp_path, serve), connected(tmp_path) as client:

        async def ask(name, request):
            with pytest.raises(ToolsearchdError) as caught:
                await request
            codes[name] = caught.value.code

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "search", client.search(["x"]))
            nursery.start_soon(ask, "call", client.call([{"name": "x", "arguments": {}}]))
        await client.closed.wait()
        await ask("later", client.ping())
        assert [event async for event in client.events] == []
    # Only the call can have had an effect.
    assert codes == {"search": "NO_DAEMON", "call": "INDETERMINATE", "later": "NO_DAEMON"}


async def test_it_comes_back_says_the_same_hello_and_subscribes_again(tmp_path):
    said = []

    async def serve(peer, number):
        said.append(await peer.greet(session=f"s{number}"))
        said.append(subscribe := await peer.recv())
        subscribed = {"op": "result", "id": subscribe["id"], **STAMP, "events": subscribe["events"]}
        await peer.send(subscribed, {"op": "catalog_changed", "generation": number})
        if number:
            await peer.serve(**ASSEMBLED)

    async with listening(tmp_path, serve), connected(tmp_path, reconnect_s=10, cwd="/p") as client:
        await client.subscribe(["catalog_changed"])
        assert (await client.events.receive())["generation"] == 0
        assert (await client.events.receive())["generation"] == 1
        assert client.welcome["session"] == "s1"
        assert client.fresh
        await client.assemble()
        assert not client.fresh
    assert said[0] == said[2]
    assert said[1]["events"] == said[3]["events"] == ["catalog_changed"]


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_request_waits_for_the_daemon_to_come_back_but_not_for_ever(tmp_path, comes_back):
    async def serve(peer, number):
        if number == 0:
            await peer.greet()
            await peer.recv()
            return
        if not comes_back:
            await trio.sleep_forever()
        await peer.greet()
        await peer.serve()

    reconnect_s = 15 if comes_back else 0.1
    async with listening(tmp_path, serve), connected(tmp_path, reconnect_s=reconnect_s) as client:
        with pytest.raises(ToolsearchdError, match="closed the connection"):
            await client.ping()
        if comes_back:
            assert (await client.ping()).generation == 1
        else:
            with pytest.raises(ToolsearchdError, match="not back"):
                await client.ping()


async def test_no_daemon_within_the_time_is_said(tmp_path):
    with pytest.raises(ToolsearchdError) as caught:
        async with connected(tmp_path / "nothing", wait_s=0):
            pass
    assert caught.value.code == "NO_DAEMON"
    assert str(tmp_path / "nothing" / "agent.sock") in caught.value.message


async def test_a_refusal_that_lasts_ends_the_tries(tmp_path):
    async def serve(peer, number):
        if not number:
            await peer.greet()
            return
        await peer.recv()
        await peer.send({"op": "error", "code": "NOT_ALLOWED", "message": "not you"})

    async with listening(tmp_path, serve), connected(tmp_path, reconnect_s=15) as client:
        await client.closed.wait()
        with pytest.raises(ToolsearchdError, match="not you"):
            await client.ping()


# --- the blocking face ----------------------------------------------------------------------------------


@pytest.fixture
def blocking_peer(tmp_path):
    """`start(serve)`: a thread that serves one connection with plain sockets."""
    threads, listeners = [], []

    def start(serve, name="agent.sock"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / name))
        listener.listen(1)
        listeners.append(listener)

        def run():
            sock, _ = listener.accept()
            with sock:
                serve(sock.makefile("rwb"))

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return tmp_path

    yield start
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    for listener in listeners:
        listener.close()


def read(stream):
    size = stream.read(4)
    return msgspec.msgpack.decode(stream.read(int.from_bytes(size, "big"))) if size else None


def write(stream, *messages):
    stream.write(b"".join(encode_frame(message) for message in messages))
    stream.flush()


def test_blocking_requests_and_events(blocking_peer):
    def serve(stream):
        assert read(stream)["op"] == "hello"
        write(stream, WELCOME)
        asked = read(stream)
        write(stream, {"op": "later", "n": 1}, {"op": "result", "id": asked["id"], "queries": ["a"], **STAMP})
        write(stream, {"op": "drain"})

    with Client(client="test", runtime_dir=blocking_peer(serve)) as client:
        assert client.search(["a"]).as_map() == {"queries": ["a"], **STAMP}
        events = client.events()
        assert [next(events), next(events)] == [Open(fields={"op": "later", "n": 1}), Drain()]
        with pytest.raises(ToolsearchdError, match="closed"):
            next(events)


def test_a_refused_hello_closes_the_socket(blocking_peer):
    def serve(stream):
        read(stream)
        write(stream, {"op": "error", "code": "BUSY", "message": "64 sessions"})

    with pytest.raises(ToolsearchdError) as caught:
        Client(client="test", runtime_dir=blocking_peer(serve))
    assert caught.value.code == "BUSY"


@pytest.mark.parametrize(
    ("op", "code"), [("status", "NO_DAEMON"), ("call", "INDETERMINATE"), ("use", "INDETERMINATE")]
)
def test_a_silent_daemon_is_told_apart_from_none(blocking_peer, op, code):
    def serve(stream):
        read(stream)
        assert read(stream) is None  # the client closed

    directory = blocking_peer(serve, "control.sock")
    with ControlClient(runtime_dir=directory, timeout_s=0.1) as control:
        with pytest.raises(ToolsearchdError, match=r"within 0\.1 s") as caught:
            control.request(op)
    assert caught.value.code == code


def test_a_path_too_long_is_said(tmp_path):
    with pytest.raises(ToolsearchdError, match="too long"):
        ControlClient(runtime_dir=tmp_path / ("d" * 120))


def test_the_blocking_client_needs_no_trio():
    code = "import sys, toolsearchd.client as c; assert 'trio' not in sys.modules; c.AsyncClient; c.Client"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
