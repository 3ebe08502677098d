"""Sessions: what one was given stands until its own reasons move it; what it holds goes with it."""

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.actors.sessions_world import SessionsWorld
from tests.unit.disclosure_catalog import GITHUB, SLACK, source
from toolsearchd.config.profile import Match, Profile
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.events import CatalogChanged

CRASHED = {"state": "failed", "reason": "it ended", "declared_tools": 3}


@pytest.fixture
async def world(tmp_path, nursery):
    return await SessionsWorld(tmp_path).start(nursery)


def code_of(refused):
    return refused.value.code


@pytest.mark.parametrize("state", ["failed", "parked", "starting", "not_started"])
async def test_a_crashed_server_leaves_a_held_listing_as_it_is(world, state):
    """A prompt's cache outlives a server's bad minute, also where another listing is due by then."""
    session = await world.open()
    held = await session.assemble()
    await world.change("slack", definitions=source("slack", {"shout": "Say it loud"}).definitions)
    for word in (CRASHED | {"state": state}, {"state": "ready", "reason": ""}):
        await world.change("github", **word)
        now = await session.assemble()
        assert (now["tools"], now["version"]) == (held["tools"], held["version"])
        assert now["listing_stale"] is True


async def test_a_server_that_has_never_been_there_moves_it_when_it_comes(world):
    await world.change("github", state="starting", definitions=())
    session = await world.open()
    held = await session.assemble()
    await world.change("github", state="ready", definitions=GITHUB.definitions)
    assert (await session.assemble())["version"] != held["version"]


async def test_a_changed_tool_is_told_and_comes_when_asked_for(world):
    session = await world.open()
    held = await session.assemble()
    await world.change("slack", definitions=source("slack", {"shout": "Say it loud"}).definitions)
    now = await session.assemble()
    assert (now["version"], now["listing_stale"]) == (held["version"], True)
    fresh = await session.assemble(refresh=True)
    assert "shout" in fresh["listing"]
    assert fresh["listing_stale"] is False


async def test_an_assembly_that_became_stale_while_it_was_made_is_not_kept(world):
    """Its counts come after the catalog has changed: nobody is given the old one later."""
    session = await world.open()
    world.counts.hold = trio.Event()
    found = []

    async def ask():
        found.append(await session.assemble())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        await world.change("slack", definitions=source("slack", {"shout": "Say it loud"}).definitions)
        world.counts.hold.set()
    assert "shout" in found[0]["listing"]
    assert "shout" in (await (await world.open()).assemble())["listing"]


async def test_sessions_are_counted_named_and_let_go(world):
    one, two = await world.open(client="one"), await world.open(client="two")
    assert [session.client for session in world.sessions] == ["one", "two"]
    assert world.sessions.named(two.session_id) is two
    world.sessions.close(one)
    assert len(world.sessions) == 1
    with pytest.raises(ToolsearchdError) as refused:
        world.sessions.named(one.session_id)
    assert code_of(refused) == "UNKNOWN_SESSION"
    with pytest.raises(ToolsearchdError) as refused:
        world.sessions.stop_all(one.session_id)
    assert code_of(refused) == "UNKNOWN_SESSION"


async def test_one_sessions_stop_stops_nobody_else(world):
    sessions, replies = [await world.open(), await world.open()], []
    world.answer = trio.Event()
    for session in sessions:
        calls = [{"name": "mcp__github__list_issues", "arguments": {}}]
        session.submit_call("batch", {"calls": calls}, replies.append)
    await wait_all_tasks_blocked()
    assert world.sessions.stop_all(sessions[0].session_id) == {"sessions": 1, "interrupted": 0, "running": 1}
    world.answer.set()
    await wait_all_tasks_blocked()
    codes = [reply["results"][0].get("error", {}).get("code", "ok") for reply in replies]
    assert codes == ["INDETERMINATE", "ok"]


async def test_an_event_goes_to_who_subscribed_and_a_broken_wire_costs_nobody_else(world):
    def broken(*_):
        raise RuntimeError("planted")

    deaf, bad, good = [await world.open() for _ in range(3)]
    heard = []
    deaf.emit = lambda event: heard.append(("deaf", event))
    bad.emit = broken
    good.emit = lambda event: heard.append(("good", event))
    for session in (bad, good):
        session.listen(["catalog_changed"])
    world.sessions.broadcast(CatalogChanged(generation=9))
    assert heard == [("good", CatalogChanged(generation=9))]


async def test_a_config_that_narrows_a_profile_narrows_who_is_connected(world):
    session = await world.open(client="bot")
    assert len(session.view) == 5
    narrow = Profile(match=Match(client="bot"), servers=("slack",))
    world.settings = msgspec.structs.replace(world.settings, profiles={"narrow": narrow})
    world.sessions.config_changed()
    world.evaluator.changed()
    assert {tool.server for tool in session.view.granted_tools()} == {"slack"}
    assert session.profile == "narrow"
    with pytest.raises(ToolsearchdError) as refused:
        session.tool_to_call("mcp__github__create_issue")
    assert code_of(refused) == "TOOL_NOT_FOUND"
    assert "github" not in str(refused.value.fields)


async def test_a_profile_that_no_session_can_stand_under_leaves_the_old_one(world, caplog):
    session = await world.open(client="bot")
    odd = Profile(match=Match(client="bot"), dialect="nobody's")
    world.settings = msgspec.structs.replace(world.settings, profiles={"odd": odd})
    world.sessions.config_changed()
    assert session.profile == "default"
    assert "keeps its old profile" in caplog.text


@pytest.mark.parametrize(
    "hello", [{"dialect": "nobody's"}, {"profile": "p" * 10_000}, {"disclosure": "maybe"}]
)
async def test_a_hello_that_is_refused_leaves_no_session(world, hello):
    with pytest.raises(ToolsearchdError) as refused:
        await world.open(**hello)
    assert code_of(refused) == "BAD_ARGUMENTS"
    assert len(world.sessions) == 0


async def test_a_session_that_goes_leaves_nothing(world):
    session, replies = await world.open(), []
    world.slot = trio.Event()
    calls = [{"name": "mcp__slack__list_channels", "arguments": {}}] * 3
    session.submit_call("batch", {"calls": calls}, replies.append)
    await wait_all_tasks_blocked()
    world.sessions.close(session)
    world.slot.set()
    await wait_all_tasks_blocked()
    assert session.queue.batches == ()
    assert world.sent == []
    assert not world.dispatcher._queues
    assert session.account.outstanding == 0


async def test_what_a_session_was_shown_is_its_own(world):
    """Who was shown a definition is told when it is another one; nobody else is."""
    one, two = await world.open(), await world.open()
    one.describe({"names": ["mcp__slack__post_message"]})
    assert one.tool_to_call("slack/post_message").name == "post_message"
    await world.change("slack", definitions=source("slack", {"post_message": "Another thing"}).definitions)
    with pytest.raises(ToolsearchdError) as refused:
        one.tool_to_call("mcp__slack__post_message")
    assert code_of(refused) == "TOOL_CHANGED"
    assert two.tool_to_call("mcp__slack__post_message")


def test_the_catalog_is_what_these_tests_say():
    assert len(GITHUB.definitions) + len(SLACK.definitions) == 5
