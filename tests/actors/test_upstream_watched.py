"""Resources of whose changes a server is to tell: in both eras, after a reconnect, after a stream's end."""

import json

import pytest
import trio

from tests.actors.upstream_world import World, refused, stdio, text, until
from tests.servers.zoo import zoo

UPDATED = "notifications/resources/updated"
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


class Watching(World):
    def __init__(self, era, **limits):
        entry = zoo("watched", *(["--stateless"] if era != "legacy" else []))
        super().__init__(stdio("watched", entry["command"], *entry["args"], protocol=era), **limits)
        self.told = []
        self.fleet.on_told = lambda server, method, params: self.told.append((method, params.get("uri")))

    async def ask(self, what, uri):
        method = f"resources/{what}"
        await self.fleet.request("watched", method, {"uri": uri}, timeout_s=30, client=None)

    async def listened_to(self):
        return json.loads(text(await self.call("watched", tool="watched")))

    async def touch(self, uri):
        """Until the change was told."""
        before = self.told.count((UPDATED, uri))
        await self.call("watched", tool="touch", uri=uri)
        await until(lambda: self.told.count((UPDATED, uri)) > before)


@ERAS
async def test_a_resource_is_listened_to_until_it_is_not(nursery, era):
    world = await Watching(era).start(nursery)
    await world.reach("watched", "ready")
    await world.ask("subscribe", "x:a")
    await world.ask("subscribe", "x:b")
    assert await world.listened_to() == ["x:a", "x:b"]
    await world.touch("x:a")
    await world.ask("unsubscribe", "x:a")
    assert await world.listened_to() == ["x:b"]
    await world.touch("x:b")


@ERAS
async def test_what_the_server_refuses_is_said_and_the_others_stay(nursery, era):
    world = await Watching(era).start(nursery)
    await world.reach("watched", "ready")
    await world.ask("subscribe", "x:a")
    assert await refused("SERVER_ERROR", world.ask, "subscribe", "x:refused")
    await world.touch("x:a")


@ERAS
async def test_it_is_listened_to_again_after_a_reconnect_and_may_have_changed(nursery, era):
    world = await Watching(era).start(nursery)
    await world.reach("watched", "ready")
    await world.ask("subscribe", "x:a")
    await world.ask("subscribe", "x:b")
    await world.ask("unsubscribe", "x:b")
    await refused("INDETERMINATE", world.call, "watched", tool="end")
    await until(lambda: world.status("watched")["restarts"] == 1)
    await world.reach("watched", "ready")
    await until(lambda: (UPDATED, "x:a") in world.told)
    with trio.fail_after(30):
        while await world.listened_to() != ["x:a"]:
            await trio.sleep(0.02)
    await world.touch("x:a")
    assert (UPDATED, "x:b") not in world.told


async def test_a_stream_that_ends_is_opened_again_and_all_may_have_changed(nursery):
    world = await Watching("2026-07-28").start(nursery)
    await world.reach("watched", "ready")
    await world.ask("subscribe", "x:a")
    await world.call("watched", tool="drop")
    await until(lambda: (UPDATED, "x:a") in world.told)
    await until(lambda: ("notifications/resources/list_changed", None) in world.told)
    await world.touch("x:a")
