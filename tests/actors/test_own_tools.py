"""A session's own tools: the last list stands, a refused one leaves the one before, calls come back once."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.actors.sessions_world import SessionsWorld
from toolsearchd.errors import ToolsearchdError
from toolsearchd.sessions.call_backs import CallBacks


def own(*names):
    return [{"name": name, "description": f"Do {name}", "parameters": {}, "core": False} for name in names]


@pytest.fixture
async def world(tmp_path, nursery):
    return await SessionsWorld(tmp_path).start(nursery)


def seen(session):
    return [tool.name for tool in session.view.granted_tools() if tool.kind == "plugin"]


async def test_the_last_list_stands_and_is_counted(world):
    session, other = await world.open(), await world.open()
    assert (await session.set_tools(own("a", "b")))["added"] == 2
    reply = await session.set_tools(own("b", "c"))
    assert (reply["added"], reply["removed"]) == (1, 1)
    assert seen(session) == ["b", "c"]
    assert seen(other) == []
    await session.set_tools([])
    assert seen(session) == []
    assert session.key.owner == ""


async def test_two_lists_at_once_leave_the_later_one(world):
    session = await world.open()
    async with trio.open_nursery() as nursery:
        for names in (("a",), ("b", "c")):
            nursery.start_soon(session.set_tools, own(*names))
            await trio.lowlevel.checkpoint()
    assert seen(session) == ["b", "c"]


async def test_a_list_that_is_refused_leaves_the_one_before(world):
    session = await world.open(tools=own("a"))
    many = own(*(f"t{n}" for n in range(session._limits.tools_per_server + 1)))
    with pytest.raises(ToolsearchdError) as refused:
        await session.set_tools(many)
    assert refused.value.code == "BAD_ARGUMENTS"
    assert seen(session) == ["a"]
    assert (await session.set_tools(own("a")))["added"] == 0


async def test_a_session_that_goes_while_its_tools_are_laid_leaves_none(world):
    session = await world.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.set_tools, own(*(f"t{n}" for n in range(50))))
        await trio.lowlevel.checkpoint()
        world.sessions.close(session)
    assert not world.evaluator._overlays._of
    assert not world.evaluator._own_texts


class Agent:
    """The agent's end of its call-backs."""

    def __init__(self):
        self.told, self.listens = [], True
        self.calls = CallBacks(self._send)

    def _send(self, event):
        self.told.append((event.op, event.call))
        return self.listens

    def ask(self, nursery, ended, timeout_s=5):
        async def run():
            try:
                ended.append(await self.calls.call("mine", {"n": 1}, timeout_s=timeout_s))
            except ToolsearchdError as error:
                ended.append(error.code)

        nursery.start_soon(run)


@pytest.mark.parametrize(
    ("response", "error", "expected"),
    [
        ("text", None, {"content": [{"type": "text", "text": "text"}]}),
        ({"a": 1}, None, {"content": [{"type": "text", "text": '{"a":1}'}], "structuredContent": {"a": 1}}),
        (None, "went wrong", "TOOL_ERROR"),
        (None, {"code": 3}, "TOOL_ERROR"),
        ({"a": "\ud800"}, None, "BAD_RESULT"),
    ],
)
async def test_an_answer_ends_its_call_once(nursery, response, error, expected):
    agent, ended = Agent(), []
    agent.ask(nursery, ended)
    await wait_all_tasks_blocked()
    assert agent.calls.answer("c1", response, error)
    assert not agent.calls.answer("c1", "again", None)
    await wait_all_tasks_blocked()
    assert not agent.calls.answer("c1", "late", None)
    assert ended == [expected]
    assert agent.calls.late_answers == 2
    assert agent.told == [("call_requested", "c1")]


async def test_an_agent_that_does_not_answer_is_told_that_nobody_waits(nursery, autojump_clock):
    agent, ended = Agent(), []
    agent.ask(nursery, ended)
    await trio.sleep(6)
    assert ended == ["INDETERMINATE"]
    assert agent.told == [("call_requested", "c1"), ("call_cancelled", "c1")]


async def test_an_agent_that_goes_ends_its_calls_and_one_that_is_gone_is_not_asked(nursery):
    agent, ended = Agent(), []
    agent.ask(nursery, ended)
    await wait_all_tasks_blocked()
    agent.calls.close()
    await wait_all_tasks_blocked()
    agent.ask(nursery, ended)
    await wait_all_tasks_blocked()
    assert ended == ["INDETERMINATE", "SERVER_UNAVAILABLE"]
    assert not agent.calls._open
