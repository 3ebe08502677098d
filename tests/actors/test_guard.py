"""A bug in what belongs to one session, entry, server or file is that one's end; one in a singleton is the
process's. The daemon is whole and in this process; the bugs are put into it."""

import json
import logging
import os

import msgspec
import pytest
import trio

from tests.actors.upstream_world import until
from tests.servers.zoo import zoo
from toolsearchd.daemon.app import Daemon, Places
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.events import CatalogChanged
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.system import guard
from toolsearchd.system.guard import guarded

ECHO = {"name": "mcp__steady__echo", "arguments": {"text": "hi"}}


class PlantedError(Exception):
    pass


def broken(*_, **__):
    raise PlantedError("planted")


async def broken_later(*_, **__):
    await trio.lowlevel.checkpoint()
    raise PlantedError("planted")


@pytest.fixture(autouse=True)
def fresh_counts():
    """What was counted and told by the tests before is not this one's."""
    guard.bugs.clear()
    guard._told.clear()


class Peer:
    def __init__(self, path):
        self._path = str(path)
        self._frames = FrameDecoder(64 << 20)

    async def __aenter__(self):
        self.stream = await trio.open_unix_socket(self._path)
        return self

    async def __aexit__(self, *_):
        await self.stream.aclose()

    async def recv(self):
        with trio.fail_after(20):
            while (payload := self._frames.next_payload()) is None:
                try:
                    data = await self.stream.receive_some(65536)
                except trio.BrokenResourceError:
                    return None
                if not data:
                    return None
                self._frames.feed(data)
        return msgspec.msgpack.decode(payload)

    async def ask(self, **message):
        await self.stream.send_all(encode_frame(message))
        while (reply := await self.recv()) is not None and reply.get("id") != message.get("id"):
            pass
        return reply


class World:
    def __init__(self, tmp_path, config=None):
        servers = tmp_path / "mcp.json"
        servers.write_text(json.dumps({"mcpServers": {"steady": zoo("steady")}}))
        document = {"sources": [{"path": str(servers), "format": "claude-desktop"}]} | (config or {})
        (tmp_path / "config.yaml").write_text(json.dumps(document))
        self.run_dir = tmp_path / "run"
        places = Places(
            config_file=tmp_path / "config.yaml", runtime_dir=self.run_dir, state_dir=tmp_path / "state"
        )
        self.daemon = Daemon(places, {"HOME": str(tmp_path), "PATH": os.environ["PATH"]})

    async def start(self, nursery):
        nursery.start_soon(self.daemon.run)
        await until(lambda: (self.run_dir / "control.sock").exists())
        await until(lambda: self.state() == "ready")
        await until(lambda: len(self.daemon.cataloger.snapshot))
        return self

    def state(self):
        return self.daemon.fleet.status()[0]["state"]

    def agent(self):
        return Peer(self.run_dir / "agent.sock")

    def person(self):
        return Peer(self.run_dir / "control.sock")


@pytest.fixture
async def world(tmp_path, nursery):
    return await World(tmp_path).start(nursery)


async def greet(peer, **hello):
    return await peer.ask(op="hello", protocol=1, client="x", **hello)


async def calls_well(world):
    async with world.agent() as peer:
        await greet(peer)
        assert (await peer.ask(op="call", id=1, calls=[ECHO]))["success_count"] == 1


# --- the guard itself ---------------------------------------------------------------------------


def test_a_bug_is_told_once_with_its_traceback_and_counted(caplog):
    caplog.set_level(logging.DEBUG)
    heard = []
    for _ in range(3):
        with guarded("a test", heard.append):
            broken()
    assert guard.bugs["a test"] == 3
    assert [record.levelname for record in caplog.records if record.exc_info] == ["ERROR"]
    assert {(error.code, "planted" in error.message) for error in heard} == {("INTERNAL", True)}


def test_an_expected_error_is_the_waiters():
    heard = []
    with guarded("a test", heard.append):
        raise ToolsearchdError("STALE", "m")
    assert heard[0].code == "STALE"
    assert not guard.bugs
    with guarded("a test"):
        raise ToolsearchdError("STALE", "nobody waits for it")
    assert guard.bugs["a test"] == 1


def test_who_can_not_be_told_is_counted_too():
    with guarded("a test", broken):
        broken()
    assert sorted(guard.bugs) == ["a test", "the error of a test"]


async def test_a_cancellation_goes_on_without_the_bug_that_comes_with_it():
    with trio.CancelScope() as scope:
        with guarded("a test"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(broken_later)
                try:
                    await trio.sleep_forever()
                finally:
                    scope.cancel()
                    await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        raise AssertionError("the cancellation was swallowed")
    assert guard.bugs["a test"] == 1


async def test_a_task_ends_alone(nursery):
    heard, others = [], []

    async def other():
        await trio.testing.wait_all_tasks_blocked()
        others.append("went on")

    guard.start(nursery, "a test", broken_later, tell=heard.append)
    guard.start(nursery, "another", other)
    await until(lambda: others)
    assert heard[0].code == "INTERNAL"


# --- a session ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "name", "request_"),
    [
        ("evaluator", "assembled", {"op": "assemble"}),
        ("evaluator", "lay", {"op": "tools", "tools": []}),
        ("evaluator", "view", {"op": "search", "queries": ["x"]}),
        ("dispatcher", "resolve", {"op": "resolve", "handle": "r1"}),
        ("dispatcher", "submit", {"op": "call", "calls": [ECHO]}),
        ("dispatcher", "submit", {"op": "use", "tool": "tool_call", "arguments": {"calls": [ECHO]}}),
    ],
)
async def test_an_answer(world, monkeypatch, owner, name, request_):
    async with world.agent() as peer:
        await greet(peer)
        is_async = name in ("assembled", "lay")
        monkeypatch.setattr(getattr(world.daemon, owner), name, broken_later if is_async else broken)
        assert (await peer.ask(id=1, **request_))["code"] == "INTERNAL"
        assert (await peer.ask(op="ping", id=2))["op"] == "result"
        monkeypatch.undo()
        assert (await peer.ask(op="call", id=3, calls=[ECHO]))["success_count"] == 1


@pytest.mark.parametrize(
    ("name", "request_"),
    [("assembled", {"op": "assemble"}), ("lay", {"op": "tools", "tools": []})],
)
async def test_an_answer_that_waits_ends_no_open_call(world, monkeypatch, name, request_):
    """The bug comes after the answer has waited, while a call of the same session is on its way."""
    sleep = {"name": "mcp__steady__sleep", "arguments": {"s": 1.0}}
    async with world.agent() as peer:
        await greet(peer)
        monkeypatch.setattr(world.daemon.evaluator, name, broken_later)
        for message in ({"op": "call", "id": 1, "calls": [sleep]}, {"id": 2, **request_}):
            await peer.stream.send_all(encode_frame(message))
        assert ((refused := await peer.recv())["id"], refused["code"]) == (2, "INTERNAL")
        assert ((reply := await peer.recv())["id"], reply["success_count"]) == (1, 1)
        assert sum(guard.bugs.values()) == 1


async def test_opening_a_session(world, monkeypatch):
    monkeypatch.setattr(world.daemon.evaluator, "prepare", broken_later)
    async with world.agent() as peer:
        assert (await greet(peer))["code"] == "INTERNAL"
        assert await peer.recv() is None
    monkeypatch.undo()
    await calls_well(world)


async def test_a_persons_answer(world, monkeypatch):
    async with world.person() as person:
        monkeypatch.setattr(world.daemon.journal, "summary", broken)
        assert (await person.ask(op="journal", id=1))["code"] == "INTERNAL"
        assert (await person.ask(op="ping", id=2))["op"] == "result"


async def test_telling_one_session_is_no_other_sessions(world, monkeypatch):
    async with world.agent() as odd, world.agent() as other:
        for peer in (odd, other):
            await greet(peer)
            await peer.ask(op="subscribe", id=1, events=["catalog_changed"])
        next(iter(world.daemon.sessions)).emit = broken
        world.daemon.sessions.broadcast(CatalogChanged(generation=7))
        assert (await other.recv())["generation"] == 7


async def test_who_watches_ends_no_call(world):
    world.daemon.activity.subscribe(broken)
    await calls_well(world)
    assert guard.bugs["telling the live feed"]


# --- an entry -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("admission", "footprint_before"),
        ("admission", "footprint_of"),
        ("admission", "wait_admitted"),
        ("admission", "check"),
        ("hooks", "run_post"),
        ("spill", "fitted"),
        ("fleet", "call"),
        ("journal", "record"),
    ],
)
async def test_an_entry(world, monkeypatch, part, name):
    """The second of three; the others are answered."""
    daemon, times = world.daemon, iter(range(100))
    original = getattr(getattr(daemon, part), name)

    def sometimes(*args, **options):
        if next(times) == 1:
            raise PlantedError("planted")
        return original(*args, **options)

    async with world.agent() as peer:
        await greet(peer)
        monkeypatch.setattr(getattr(daemon, part), name, sometimes)
        reply = await peer.ask(op="call", id=1, calls=[ECHO, ECHO, ECHO])
        codes = [slot.get("error", {}).get("code") for slot in reply["results"]]
        assert len(codes) == 3
        assert set(codes) <= {None, "INTERNAL"}
        assert codes.count("INTERNAL") <= 1
        assert sum(guard.bugs.values()) == 1
        monkeypatch.undo()
        assert (await peer.ask(op="call", id=2, calls=[ECHO]))["success_count"] == 1
        assert not next(iter(daemon.sessions)).queue.batches


async def test_what_was_sent_says_that_it_may_have_happened(world, monkeypatch):
    async with world.agent() as peer:
        await greet(peer)
        monkeypatch.setattr("toolsearchd.dispatch.failures.Failures.judged", broken)
        (slot,) = (await peer.ask(op="call", id=1, calls=[ECHO]))["results"]
        assert slot["error"]["code"] == "INTERNAL"
        assert "may have happened" in slot["error"]["message"]


@pytest.mark.parametrize("message", [{"op": "call"}, {"op": "use", "tool": "tool_call"}])
async def test_the_reply_of_a_batch(world, monkeypatch, message):
    calls = {"calls": [ECHO]}
    async with world.agent() as peer:
        await greet(peer)
        monkeypatch.setattr(world.daemon.spill, "fit_frame", broken_later)
        fields = calls if message["op"] == "call" else {"arguments": calls}
        assert (await peer.ask(id=1, **message, **fields))["code"] == "INTERNAL"
        assert (await peer.ask(op="ping", id=2))["op"] == "result"


async def test_the_runner_of_a_batch(world, monkeypatch):
    """What fails between the entries: every entry has its outcome all the same."""
    async with world.agent() as peer:
        await greet(peer)
        monkeypatch.setattr(world.daemon.dispatcher, "_wait_turn", broken_later)
        reply = await peer.ask(op="call", id=1, calls=[ECHO, ECHO])
        assert [slot.get("error", {}).get("code") for slot in reply["results"]] == [None, "INTERNAL"]


# --- a server, a file, a client of the door -------------------------------------------------------


@pytest.mark.parametrize("name", ["_live_once", "_fail", "_keep"])
async def test_keeping_a_server(world, monkeypatch, name):
    """It is tried again, whatever of keeping it failed."""
    (member,) = world.daemon.fleet._members.values()
    upstream, starts = member.upstream, member.upstream.starts
    monkeypatch.setattr(upstream, name, broken if name == "_fail" else broken_later)
    os.kill(upstream._process.pid, 9)
    await until(lambda: upstream.state != "ready")
    await until(lambda: guard.bugs["keeping a server"] or name == "_keep")
    monkeypatch.undo()
    await until(lambda: world.state() == "ready")
    assert upstream.starts > starts
    await calls_well(world)


async def test_reading_a_file(world, monkeypatch, tmp_path):
    """The last good state of that file stands, and the file is told of."""
    monkeypatch.setattr("toolsearchd.watching.client_file.ClientFile.parse", broken)
    file = tmp_path / "mcp.json"
    file.write_text(file.read_text() + "\n")
    world.daemon.watcher.load_now()
    assert any("can't be used" in str(problem) for problem in world.daemon.watcher.problems)
    await calls_well(world)
    async with world.person() as person:
        found = (await person.ask(op="doctor", id=1))["findings"]
        assert any("bug in the daemon" in finding["message"] for finding in found)


async def test_a_client_of_the_door(world, monkeypatch):
    async with world.agent() as peer:
        assert (await greet(peer, mcp=True))["op"] == "welcome"
        info = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        monkeypatch.setattr("toolsearchd.doors.listed.ListedTools.take_news", broken_later)
        monkeypatch.setattr(world.daemon.dispatcher, "submit", broken)
        messages = [
            {"id": 1, "method": "initialize", "params": info},
            {
                "id": 2,
                "method": "tools/call",
                "params": {"name": "tool_call", "arguments": {"calls": [ECHO]}},
            },
        ]
        for message in messages:
            await peer.stream.send_all(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        data = b""
        with trio.fail_after(20):
            while data.count(b"\n") < 2:
                data += await peer.stream.receive_some(65536)
        called = json.loads(data.splitlines()[1])["result"]
        assert called["structuredContent"]["code"] == "INTERNAL"
        world.daemon.sessions.broadcast(CatalogChanged(generation=7))
        await until(lambda: guard.bugs["telling an MCP client of the catalog's change"])
        monkeypatch.undo()
        await peer.stream.send_all(json.dumps({"jsonrpc": "2.0", **messages[1], "id": 3}).encode() + b"\n")
        with trio.fail_after(20):
            while b'"id":3' not in data:
                data += await peer.stream.receive_some(65536)
        assert b"hi" in data.splitlines()[-1]


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
async def test_what_a_client_of_the_door_asks_besides_calls(world, monkeypatch, method):
    """INTERNAL, in the client's words; the client is served on."""
    part = "instructions" if method == "initialize" else "page"
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    async with world.agent() as peer:
        assert (await greet(peer, mcp=True))["op"] == "welcome"
        data = b""

        async def ask(number, method):
            nonlocal data
            message = {"jsonrpc": "2.0", "id": number, "method": method}
            message["params"] = info if method == "initialize" else {}
            await peer.stream.send_all(json.dumps(message).encode() + b"\n")
            with trio.fail_after(20):
                while True:
                    *lines, data = data.split(b"\n")
                    for line in lines:
                        if (reply := json.loads(line)).get("id") == number:
                            return reply
                    data += await peer.stream.receive_some(65536)

        if method != "initialize":
            await ask(0, "initialize")
        with monkeypatch.context() as patch:
            patch.setattr(f"toolsearchd.doors.listed.ListedTools.{part}", broken_later)
            error = (await ask(1, method))["error"]
        assert (error["code"], error["data"]["code"]) == (-32603, "INTERNAL")
        assert guard.bugs["answering an MCP client"] == 1
        assert "result" in await ask(2, method)


async def test_a_connection(world, monkeypatch):
    monkeypatch.setattr("toolsearchd.sessions.agent_wire._Conversation.run", broken_later)
    async with world.agent() as peer:
        assert await greet(peer) is None
    monkeypatch.undo()
    await calls_well(world)


# --- a singleton ----------------------------------------------------------------------------------


async def test_a_singletons_own_bug_ends_the_process(tmp_path):
    world = World(tmp_path)

    async def run():
        async with trio.open_nursery() as nursery:
            await world.start(nursery)
            world.daemon.journal._file = None
            world.daemon.journal.record("x", {})
            await trio.sleep(20)

    with pytest.raises(BaseExceptionGroup) as caught:
        await run()
    assert caught.group_contains(AttributeError)
