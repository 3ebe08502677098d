"""The last catalog on the disk: written when it is quiet, whole or not at all, and read back as it was."""

import os

import pytest
import trio

from tests.unit.disclosure_catalog import GITHUB, SLACK, snapshot
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.limits import Limits
from toolsearchd.live import warm_catalog
from toolsearchd.live.warm_catalog import WarmCatalog


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A worker thread does its work while the clock runs: real seconds, few of them."""
    monkeypatch.setattr(warm_catalog, "_QUIET_S", 0.02)


class World:
    def __init__(self, directory):
        self.now, self.settled = Snapshot.empty(), 0
        self.path = directory / "catalog"
        self.warm = WarmCatalog(
            state_dir=directory, snapshot=lambda: self.now, settled=self.settle, limits=Limits()
        )

    def settle(self):
        self.settled += 1

    async def publish(self, *sources):
        self.now = snapshot(*sources)
        settled = self.settled
        self.warm.changed()
        with trio.fail_after(20):
            while self.settled == settled:
                await trio.sleep(0.01)


def names(seen):
    return [tool.public_name for tool in seen.iter_tools()]


async def test_what_was_written_is_read_back_and_found(tmp_path, nursery):
    world = World(tmp_path)
    assert names(world.warm.load()) == []
    await nursery.start(world.warm.run)
    await world.publish(GITHUB, SLACK)
    again = World(tmp_path).warm.load()
    assert names(again) == names(world.now)
    assert world.path.stat().st_mode & 0o777 == 0o600


async def test_the_same_catalog_is_not_written_again(tmp_path, nursery):
    world = World(tmp_path)
    await nursery.start(world.warm.run)
    await world.publish(GITHUB)
    written = world.path.stat().st_ino, world.path.stat().st_mtime_ns
    await world.publish(GITHUB)
    assert (world.path.stat().st_ino, world.path.stat().st_mtime_ns) == written
    await world.publish(GITHUB, SLACK)
    assert world.path.stat().st_ino != written[0]


async def test_at_the_end_the_newest_is_written(tmp_path):
    world = World(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.warm.run)
        world.now = snapshot(SLACK)
        world.warm.changed()
        nursery.cancel_scope.cancel()
    assert names(World(tmp_path).warm.load()) == names(world.now)
    assert os.listdir(tmp_path) == ["catalog"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "another's", "long"])
async def test_a_damaged_file_is_not_used_and_written_anew(tmp_path, caplog, damage):
    world = World(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.warm.run)
        world.now = snapshot(GITHUB)
        nursery.cancel_scope.cancel()
    data = bytearray(world.path.read_bytes())
    at = len(warm_catalog._MAGIC)
    match damage:
        case "cut":
            del data[-3:]
        case "flipped":
            data[len(data) // 2] ^= 1
        case "another's":
            data[0] ^= 1
        case _:
            data[at : at + 8] = b"\x7f" * 8
    world.path.write_bytes(data)
    later = World(tmp_path)
    assert names(later.warm.load()) == []
    assert "is not used" in caplog.text
    async with trio.open_nursery() as nursery:
        await nursery.start(later.warm.run)
        await later.publish(GITHUB)
        nursery.cancel_scope.cancel()
    assert names(World(tmp_path).warm.load()) == names(world.now)


async def test_a_directory_that_can_not_be_written_is_said_and_the_rest_goes_on(tmp_path, caplog, nursery):
    (tmp_path / "file").write_text("in the way")
    world = World(tmp_path / "file")
    await nursery.start(world.warm.run)
    await world.publish(GITHUB)
    assert "can't be kept" in caplog.text
