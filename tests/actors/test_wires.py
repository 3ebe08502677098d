"""The two wires on a socket pair: order, windows, endings, what is told of bugs. Sessions are real here, what
people are answered is a function."""

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.actors.calls_world import LIMITS
from tests.actors.sessions_world import End, SessionsWorld
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol import requests as messages
from toolsearchd.protocol.events import CatalogChanged
from toolsearchd.records import Open
from toolsearchd.sessions.agent_wire import AgentWire
from toolsearchd.sessions.control_wire import ControlWire

HELLO = {"op": "hello", "protocol": 1, "client": "agent"}
LIST = {"name": "mcp__slack__list_channels", "arguments": {}}


@pytest.fixture
async def world(tmp_path, nursery):
    return await SessionsWorld(tmp_path).start(nursery)


@pytest.fixture
async def ends(nursery):
    """`ends(serve)`: a peer's end, closed with the test."""
    made = []
    yield lambda serve: made.append(End(nursery, serve)) or made[-1]
    for end in made:
        end.stream.socket.close()


@pytest.fixture
def connect(world, ends):
    return lambda **limits: ends(AgentWire(world.sessions, msgspec.structs.replace(LIMITS, **limits)).serve)


async def greeted(end, **fields):
    await end.send(HELLO | fields)
    welcome = await end.recv()
    assert welcome["op"] == "welcome"
    return welcome


async def test_requests_in_one_segment_with_the_hello_are_answered_in_order(connect):
    end = connect()
    await end.send(HELLO, *({"op": "ping", "id": n} for n in range(20)), {"op": "bye", "id": "bye"})
    frames = [await end.recv() for _ in range(22)]
    assert [frame.get("id") for frame in frames] == [None, *range(20), "bye"]
    assert await end.recv() is None


async def test_a_stop_is_answered_before_what_it_stops(world, connect):
    world.answer = trio.Event()
    end = connect()
    await greeted(end)
    await end.send({"op": "call", "id": "call", "calls": [LIST, LIST]}, {"op": "stop", "id": "stop"})
    stopped, called = await end.recv(), await end.recv()
    assert (stopped["id"], called["id"]) == ("stop", "call")
    assert {slot["error"]["code"] for slot in called["results"]} <= {"INTERRUPTED", "INDETERMINATE"}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"op": "ping", "id": 1}, "WRONG_STATE"),
        (HELLO | {"protocol": 2}, "UNSUPPORTED_PROTOCOL"),
        ({"op": "nothing", "id": 1}, "BAD_MESSAGE"),
        (HELLO | {"dialect": "nobody's"}, "BAD_ARGUMENTS"),
    ],
)
async def test_a_hello_that_is_none_is_told_so_and_let_go(world, connect, message, code):
    end = connect()
    await end.send(message)
    assert (await end.recv())["code"] == code
    assert await end.recv() is None
    await end.served.wait()
    assert len(world.sessions) == 0


async def test_who_says_nothing_is_let_go(world, connect, autojump_clock):
    end = connect()
    began = trio.current_time()
    assert await end.stream.receive_some(1) == b""
    assert trio.current_time() - began < LIMITS.hello_timeout_s + 2
    assert len(world.sessions) == 0


async def test_a_second_request_of_one_id_and_one_over_the_window_end_alone(world, connect):
    world.slot = trio.Event()
    end = connect(open_requests=2)
    await greeted(end)
    await end.send({"op": "call", "id": 1, "calls": [LIST]}, {"op": "ping", "id": 1})
    assert (await end.recv())["code"] == "DUPLICATE_ID"
    await end.send({"op": "call", "id": 2, "calls": [LIST]}, {"op": "call", "id": 3, "calls": [LIST]})
    assert (await end.recv())["code"] == "BUSY"
    world.slot.set()
    assert {(await end.recv())["id"], (await end.recv())["id"]} == {1, 2}


async def test_a_bug_in_one_answer_is_that_ones_end(world, connect, monkeypatch):
    end = connect()
    await greeted(end)
    (session,) = world.sessions
    monkeypatch.setattr(session, "search", lambda args: 1 / 0)
    assert (await end.ask("search", queries=["issue"]))["code"] == "INTERNAL"
    assert (await end.ask("ping"))["op"] == "result"


@pytest.mark.parametrize(
    ("op", "method", "fields"), [("assemble", "assemble", {}), ("tools", "set_tools", {"tools": []})]
)
async def test_a_bug_in_an_answer_that_comes_later_is_that_ones_end(
    world, connect, monkeypatch, op, method, fields
):
    end = connect()
    await greeted(end)
    (session,) = world.sessions

    async def broken(*_, **__):
        await trio.lowlevel.checkpoint()
        raise RuntimeError("planted")

    monkeypatch.setattr(session, method, broken)
    assert (await end.ask(op, **fields))["code"] == "INTERNAL"
    assert (await end.ask("ping"))["op"] == "result"


async def test_who_ends_its_sending_has_its_answers_first(world, connect):
    world.slot = trio.Event()
    end = connect()
    await greeted(end)
    await end.send({"op": "call", "id": 1, "calls": [LIST]})
    await end.stream.send_eof()
    await wait_all_tasks_blocked(0.01)
    assert len(world.sessions) == 1
    world.slot.set()
    assert (await end.recv())["success_count"] == 1
    assert await end.recv() is None
    assert len(world.sessions) == 0


async def test_who_is_gone_takes_its_session_along(world, connect):
    world.slot = trio.Event()
    end = connect()
    await greeted(end)
    await end.send({"op": "call", "id": 1, "calls": [LIST] * 3})
    await wait_all_tasks_blocked(0.01)
    await end.stream.aclose()
    with trio.fail_after(20):
        await end.served.wait()
    world.slot.set()
    await wait_all_tasks_blocked(0.01)
    assert len(world.sessions) == 0
    assert world.sent == []


async def test_unknown_events_are_refused_and_known_ones_come(world, connect):
    end = connect()
    await greeted(end)
    assert (await end.ask("subscribe", events=["no_such"]))["code"] == "BAD_ARGUMENTS"
    assert (await end.ask("subscribe", events=["catalog_changed"]))["events"] == ["catalog_changed"]
    world.sessions.broadcast(CatalogChanged(generation=9))
    assert (await end.recv())["op"] == "catalog_changed"


# --- people ------------------------------------------------------------------------------------------


WHO = {"session": "s1", "client": "test", "profile": "default"}


class People:
    """A control wire whose `status` is what the test says."""

    def __init__(self, world, ends):
        self.status = lambda request: Open(fields={"is": "well"})
        answers = {messages.StatusRequest: lambda request: self.status(request)}
        wire = ControlWire(answers, world.approver, world.activity, LIMITS)
        self.connect = lambda: ends(wire.serve)


@pytest.fixture
def people(world, ends):
    return People(world, ends)


async def test_a_slow_answer_holds_up_no_other(people):
    gate = trio.Event()

    async def slowly(request):
        if request.id == "slow":
            await gate.wait()
        return Open(fields={})

    people.status = slowly
    end = people.connect()
    await end.send({"op": "status", "id": "slow"}, {"op": "status", "id": "quick"})
    assert (await end.recv())["id"] == "quick"
    gate.set()
    assert (await end.recv())["id"] == "slow"


@pytest.mark.parametrize(
    ("error", "code"),
    [(ToolsearchdError("UNKNOWN_SERVER", "no"), "UNKNOWN_SERVER"), (KeyError("x"), "INTERNAL")],
)
async def test_an_answer_that_fails_is_told_and_the_rest_goes_on(people, error, code):
    def fails(_request):
        raise error

    end, people.status = people.connect(), fails
    assert (await end.ask("status"))["code"] == code
    people.status = lambda _request: Open(fields={"text": "hid\u202eden"})
    assert "\u202e" not in (await end.ask("status"))["text"]


async def test_a_watcher_hears_each_step_once_and_until_it_goes(world, people):
    end = people.connect()
    for number in range(2):
        assert (await end.ask("watch", id=number))["watching"] is True
    world.activity.publish("search", **WHO, found=1)
    assert (await end.recv())["step"] == "search"
    world.activity.publish("search", **WHO, found=2)
    assert (await end.recv())["found"] == 2
    await end.stream.aclose()
    with trio.fail_after(20):
        await end.served.wait()
    assert not world.activity._subscribers


async def test_a_person_who_goes_listens_no_more(world, people):
    end = people.connect()
    assert (await end.ask("approvals", watch=True))["approvals"] == []
    assert len(world.approver._people) == 1
    await end.stream.aclose()
    with trio.fail_after(20):
        await end.served.wait()
    assert not world.approver._people
    assert world.approver._approvals._subscribers.keys() == {world.caller.session_id}


async def test_what_is_no_request_ends_the_connection_behind_its_refusal(people):
    end = people.connect()
    await end.send({"op": "no such", "id": 1})
    assert (await end.recv())["code"] == "BAD_MESSAGE"
    assert await end.recv() is None
