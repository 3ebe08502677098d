"""The journal: whole lines on disk, rotated, whatever happens to the file; who waits and who is counted."""

import json
import os
import resource
import stat
from contextlib import contextmanager

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from toolsearchd.calls.journal import Journal
from toolsearchd.calls.unanswered import read_unanswered
from toolsearchd.config.settings import JournalSettings as JournalSettings
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits


def read(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def steps(path):
    return [record["step"] for record in read(path)]


class World:
    def __init__(self, directory, *, limits=None, **settings):
        self.path = directory / "journal.jsonl"
        self.hold = None  # an event: the disk does not answer before it is set
        self.journal = Journal(
            directory,
            settings=lambda: JournalSettings(**settings),
            limits=msgspec.structs.replace(limits or Limits(), journal_gather_s=0.0),
            now=lambda: 0.0,
            in_thread=self._write,
        )

    async def _write(self, write):
        if self.hold is not None:
            await self.hold.wait()
        write()

    async def told(self, *names):
        """Records, written or dropped when this returns."""
        for name in names:
            self.journal.record(name, {})
            await wait_all_tasks_blocked()


@pytest.fixture
async def world(tmp_path, nursery):
    world = World(tmp_path)
    await nursery.start(world.journal.run)
    return world


@contextmanager
def disk_full(path, left):
    """Files of this process can't grow past `left` bytes more than `path` has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_record_is_a_private_line(world):
    world.journal.record("call", {"tool": "t", "outcome": "ok"})
    await wait_all_tasks_blocked()
    assert read(world.path) == [
        {"at": "1970-01-01T00:00:00.000+00:00", "step": "call", "tool": "t", "outcome": "ok"}
    ]
    assert stat.S_IMODE(world.path.stat().st_mode) == 0o600


async def test_what_is_no_text_is_recorded_all_the_same(world):
    world.journal.record("call", {"tool": "bad \ud800 name"})
    await wait_all_tasks_blocked()
    assert "\\ud800" in read(world.path)[0]["tool"]


async def test_a_line_that_a_crash_tore_stays_alone(tmp_path, nursery):
    world = World(tmp_path)
    world.path.write_bytes(b'{"step": "first"}\n{"step": "to')
    await nursery.start(world.journal.run)
    await world.told("next")
    lines = world.path.read_bytes().splitlines()
    assert lines[1] == b'{"step": "to'
    assert json.loads(lines[2])["step"] == "next"


async def test_rotation_keeps_so_many_and_no_more(tmp_path, nursery):
    world = World(tmp_path, max_bytes=120, keep=2)
    (tmp_path / "journal.3.jsonl").write_text("")  # of a time when more were kept
    await nursery.start(world.journal.run)
    await world.told(*(f"step{number}" for number in range(9)))
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["journal.1.jsonl", "journal.2.jsonl", "journal.jsonl"]
    files = world.journal.summary()["files"]
    told = [step for file in files for step in steps(tmp_path / file)]
    assert told == [f"step{number}" for number in range(9 - len(told), 9)]
    assert len(told) >= 3


async def test_however_many_are_to_be_kept_only_those_that_are_there_are_looked_at(tmp_path, nursery):
    world = World(tmp_path, max_bytes=1, keep=10**15)
    await nursery.start(world.journal.run)
    await world.told("a", "b")
    (tmp_path / "journal.01.jsonl").write_text("")  # none of ours
    (tmp_path / "journal.1.jsonl").rename(tmp_path / "journal.3.jsonl")  # and a gap
    await world.told("c")
    found = [os.path.basename(path) for path in world.journal.summary()["files"]]
    assert found == ["journal.4.jsonl", "journal.1.jsonl", "journal.jsonl"]
    assert [step for file in found for step in steps(tmp_path / file)] == ["a", "b", "c"]


async def test_a_file_that_was_taken_away_is_begun_anew(world):
    await world.told("before")
    world.path.rename(world.path.with_name("elsewhere"))
    await world.told("after")
    assert steps(world.path) == ["after"]


async def test_a_full_disk_costs_records_and_leaves_no_torn_line(world):
    await world.told("before")
    with disk_full(world.path, 10):
        await world.told("lost", "lost too")
        assert world.journal.dropped == 2
        assert world.journal.error
        with pytest.raises(ToolsearchdError) as caught:
            await world.journal.wait_recorded("approved", {})
        assert caught.value.code == "AUDIT_UNAVAILABLE"
        assert steps(world.path) == ["before"]
    await world.journal.wait_recorded("approved", {})
    assert steps(world.path) == ["before", "dropped", "approved"]
    assert read(world.path)[1]["count"] == 2
    assert world.journal.error == ""


async def test_a_directory_in_its_place_and_a_link(tmp_path, nursery):
    world = World(tmp_path)
    world.path.mkdir()
    await nursery.start(world.journal.run)
    with pytest.raises(ToolsearchdError):
        await world.journal.wait_recorded("approved", {})
    world.path.rmdir()
    target = tmp_path / "target"
    target.write_text("")
    world.path.symlink_to(target)
    with pytest.raises(ToolsearchdError):
        await world.journal.wait_recorded("approved", {})
    assert target.read_text() == ""


async def test_who_waits_and_who_is_counted(tmp_path, nursery):
    world = World(tmp_path, limits=Limits(journal_records=2))
    await nursery.start(world.journal.run)
    await wait_all_tasks_blocked()  # it has looked for what an earlier daemon left
    world.hold = trio.Event()
    world.journal.record("first", {})  # the writer has it, and hangs
    await wait_all_tasks_blocked()
    for _ in range(5):
        world.journal.record("call", {})
    assert world.journal.dropped == 3
    done = []

    async def approved():
        await world.journal.wait_recorded("approved", {})
        done.append(True)

    nursery.start_soon(approved)
    await wait_all_tasks_blocked()
    assert not done
    world.hold.set()
    await wait_all_tasks_blocked()
    assert done == [True]
    found = read(world.path)
    assert [record["step"] for record in found if record["step"] != "dropped"] == [
        "first",
        "call",
        "call",
        "approved",
    ]
    assert [record["count"] for record in found if record["step"] == "dropped"] == [3]


async def test_what_was_received_before_the_end_is_written(tmp_path):
    world = World(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(world.journal.run)
        world.journal.record("last", {})
        nursery.cancel_scope.cancel()
    assert steps(world.path) == ["last"]


async def test_records_that_nobody_waits_for_are_written_together(tmp_path, nursery, autojump_clock):
    writes = []

    async def in_thread(write):
        writes.append(trio.current_time())
        write()

    journal = Journal(
        tmp_path, settings=JournalSettings, limits=Limits(), now=lambda: 0.0, in_thread=in_thread
    )
    await nursery.start(journal.run)
    await trio.sleep(1)
    writes.clear()
    started = trio.current_time()
    for _ in range(10):  # a call each 10 ms
        journal.record("sent", {})
        await trio.sleep(0.01)
    assert len(writes) <= 2
    journal.record("sent", {})
    await journal.wait_recorded("approved", {})  # takes along what waits, and waits for nothing
    assert trio.current_time() - started < 0.11
    assert len(read(tmp_path / "journal.jsonl")) == 12


async def test_a_burst_is_written_before_there_is_no_room_left(tmp_path, nursery, autojump_clock):
    """A thousand calls that end at once, as a stop ends them."""
    journal = Journal(
        tmp_path,
        settings=JournalSettings,
        limits=Limits(journal_records=64),
        now=lambda: 0.0,
        in_thread=at_once,
    )
    await nursery.start(journal.run)
    for number in range(1000):
        journal.record("call", {"call": f"a-{number}"})
        if number % 16 == 0:
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
    await trio.sleep(1)
    assert journal.dropped == 0
    assert len(read(tmp_path / "journal.jsonl")) == 1000


async def at_once(write):
    write()


async def test_a_start_is_on_the_disk_even_where_the_power_fails(world, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(read(world.path)[-1]["step"]), fsync(fd)))
    await world.told("call", "sent", "call")
    assert synced == ["sent"]


@pytest.mark.parametrize("room", [3, 2])
async def test_of_calls_whose_ends_were_dropped_none_is_said_to_have_no_end(tmp_path, nursery, room):
    """The queue is full, and then the disk is: the starts are on it. With less room than there are such
    calls nobody knows which they were."""
    world = World(tmp_path, limits=Limits(journal_records=room))
    await nursery.start(world.journal.run)
    await wait_all_tasks_blocked()
    life = world.journal.life
    for number in range(2):
        world.journal.record("sent", {"call": f"{life}-{number}"})
        await wait_all_tasks_blocked()
    with disk_full(world.path, 10):
        for number in range(2):
            world.journal.record("call", {"call": f"{life}-{number}"})
            await wait_all_tasks_blocked()
    world.hold = trio.Event()
    world.journal.record("activity", {})  # the writer has it, and hangs
    await wait_all_tasks_blocked()
    for number in range(2, 2 + room):
        world.journal.record("sent", {"call": f"{life}-{number}"})
    world.journal.record("call", {"call": f"{life}-2"})
    assert world.journal.dropped == 3
    world.hold.set()
    await wait_all_tasks_blocked()
    await world.told("sent")  # takes along what is to be said
    new, _ = read_unanswered([world.path], life="next", now=0.0, max_bytes=1 << 20)
    # With room for three, the others are known to have had no end.
    assert [call.call for call in new] == ([f"{life}-3", f"{life}-4"] if room == 3 else [])


async def test_what_is_shown_for_a_day(tmp_path, nursery):
    (tmp_path / "journal.jsonl").write_text('{"step": "sent", "call": "a-1"}\n')
    now = 1_000_000.0
    journal = Journal(tmp_path, settings=JournalSettings, limits=Limits(), now=lambda: now, in_thread=at_once)
    await nursery.start(journal.run)
    await wait_all_tasks_blocked()
    assert [call.call for call in journal.unanswered] == ["a-1"]
    now += 86_401
    assert journal.summary()["unanswered"] == []
