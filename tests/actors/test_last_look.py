"""The last look at the send: an approval is good once, in its time, while it stands, for what it showed."""

import os

import msgspec
import pytest
from trio.testing import wait_all_tasks_blocked

from tests.actors.calls_world import LIMITS, CallsWorld, tool


@pytest.fixture
async def world(tmp_path, nursery, autojump_clock):
    return await CallsWorld(tmp_path).start(nursery)


async def held_back(world, answer):
    """An approved call that waits for its server."""
    world.slot = type(world.slot)()
    world.submit({"n": 1})
    await wait_all_tasks_blocked()
    world.decide(answer)
    await wait_all_tasks_blocked()
    assert world.waiting == 1


async def let_go(world):
    world.slot.set()
    await wait_all_tasks_blocked()


async def test_an_approval_is_good_for_one_send(world):
    """A connection that was lost behind the send does not make two of one yes."""
    world.sends = 2
    await held_back(world, "approve")
    await let_go(world)
    assert world.sent == [{"n": 1}]
    assert world.codes() == ["STALE"]


@pytest.mark.parametrize("kind", ["session", "always"])
async def test_a_standing_permit_that_is_revoked_while_a_call_waits(world, kind):
    world.submit({"n": 0})
    await wait_all_tasks_blocked()
    world.decide(kind)
    await wait_all_tasks_blocked()
    world.slot = type(world.slot)()
    world.submit({"n": 1})
    await wait_all_tasks_blocked()
    assert world.waiting == 1
    world.revoke()
    await let_go(world)
    assert world.sent == [{"n": 0}]
    assert world.codes() == ["ok", "STALE"]


async def test_an_approval_that_expires_while_a_call_waits(world, autojump_clock):
    await held_back(world, "approve")
    autojump_clock.jump(LIMITS.approval_answer_s + world.settings.approval.wait_s)
    await let_go(world)
    assert world.sent == []
    assert world.codes() == ["STALE"]


@pytest.mark.parametrize("answer", ["approve", "session"])
async def test_another_server_behind_the_name_while_a_call_waits(world, answer):
    """A prompt's own yes, and a permit that stands."""
    if answer == "session":
        world.submit({"n": 0})
        await wait_all_tasks_blocked()
        world.decide("session")
        await wait_all_tasks_blocked()
        world.slot = type(world.slot)()
        world.submit({"n": 1})
        await wait_all_tasks_blocked()
    else:
        await held_back(world, answer)
    world.spec_in_force = msgspec.structs.replace(world.spec_in_force, digest="another")
    await let_go(world)
    assert {"n": 1} not in world.sent
    assert world.codes()[-1] == ("STALE" if answer == "session" else "TOOL_CHANGED")


async def test_another_tool_behind_the_name_while_a_call_waits(world):
    await held_back(world, "approve")
    world.tool = tool(description="Erases all.")
    await let_go(world)
    assert (world.sent, world.codes()) == ([], ["TOOL_CHANGED"])


async def test_an_approved_call_is_on_the_disk_before_it_goes_out(world, monkeypatch):
    """Also where the power fails: the record is synced, and then comes the send."""
    synced, fsync = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda fd: (synced.append((world.steps()[-1], [*world.sent])), fsync(fd))
    )
    await held_back(world, "approve")
    assert ("approved", []) in synced
    await let_go(world)
    assert world.sent == [{"n": 1}]


async def test_an_approved_call_that_cannot_be_recorded_is_not_sent(world):
    world.submit({"n": 1})
    await wait_all_tasks_blocked()
    world.path.unlink(missing_ok=True)
    world.path.mkdir()
    world.decide("approve")
    await wait_all_tasks_blocked()
    assert (world.sent, world.codes()) == ([], ["AUDIT_UNAVAILABLE"])


async def test_one_that_was_stopped_while_it_waits_is_not_sent(world):
    await held_back(world, "approve")
    world.dispatcher.stop(world.caller)
    await let_go(world)
    assert (world.sent, world.codes()) == ([], ["INTERRUPTED"])
    assert world.is_idle
