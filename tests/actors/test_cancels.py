"""What a cancel leaves, actor by actor: no slot, file, task or half-written state, and the next one works."""

import os
from functools import partial

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.actors.calls_world import CallsWorld, at_once
from tests.actors.sessions_world import SessionsWorld
from tests.actors.test_watcher import Place
from tests.actors.upstream_world import World, steady, until
from tests.unit.disclosure_catalog import GITHUB, SLACK, source
from toolsearchd.calls.spill import Spill
from toolsearchd.config.secret_values import SecretValues
from toolsearchd.dispatch.entry import Outcome
from toolsearchd.dispatch.prompt import Binding, Question
from toolsearchd.limits import Limits
from toolsearchd.live.token_counts import TokenCounts
from toolsearchd.live.worker import Worker
from toolsearchd.upstream.calls import ServerCalls
from toolsearchd.worker import CountTokens

LIMITS = Limits()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def is_alive(pid):
    return pid is not None and os.path.exists(f"/proc/{pid}")


async def quiet():
    await wait_all_tasks_blocked(0.02)  # longer than what runs inside waits for itself


async def cancelled(run, *args, when=quiet):
    """`run` until `when` returns, and then its cancel."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, *args)
        await when()
        nursery.cancel_scope.cancel()


class Gate:
    """In place of a worker thread: a wait that a test opens."""

    def __init__(self):
        self.open = trio.Event()

    async def __call__(self, work):
        await self.open.wait()
        return work()


# --- calls -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["slot", "answer"])
async def test_a_dispatcher_with_calls_on_their_way(tmp_path, where):
    world = CallsWorld(tmp_path, default="allow")
    setattr(world, where, trio.Event())

    async def run():
        async with trio.open_nursery() as nursery:
            await world.start(nursery)
            world.submit({"n": 1}, {"n": 2})
            world.submit({"n": 3}, key="another")

    await cancelled(run)
    assert world.waiting == 0
    assert not world.dispatcher._sender._in_flight
    assert not world.dispatcher._admitting
    assert world.path.exists() is bool(world.sent) is (where == "answer")


async def test_a_call_that_is_stopped_on_its_way_gives_its_place_back(tmp_path, nursery):
    world = await CallsWorld(tmp_path, default="allow").start(nursery)
    world.answer = trio.Event()
    world.submit({"n": 1})
    await wait_all_tasks_blocked()
    world.dispatcher.stop(world.caller)
    await wait_all_tasks_blocked()
    assert world.codes() == ["INDETERMINATE"]
    assert world.is_idle
    assert world.caller.account.outstanding == 0
    world.answer.set()
    world.submit({"n": 2})
    await wait_all_tasks_blocked()
    assert world.codes()[-1] == "ok"


async def test_a_call_that_waits_for_a_person(tmp_path, nursery):
    world = await CallsWorld(tmp_path).start(nursery)
    binding = Binding(
        session="s1", server="srv", server_digest="d", tool="t", tool_digest="t", arguments_digest="a"
    )
    question = Question(
        binding=binding, arguments=b"{}", public_name="t", client="c", profile="default", rule="default"
    )
    ask = partial(world.approver.wait_permit, world.caller, "key", question, lambda: True)
    await cancelled(ask)
    assert world.pending == []
    assert world.is_idle
    assert [event.op for event in world.caller.events] == ["approval_requested", "approval_ended"]
    assert world.caller.events[-1].state == "withdrawn"


async def test_a_call_that_waits_for_its_record(tmp_path):
    """The record may be there all the same, and whole; the next one is written."""
    gate = Gate()
    world = CallsWorld(tmp_path, in_thread=gate)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.journal.run)
        await wait_all_tasks_blocked()
        gate.open.set()
        await wait_all_tasks_blocked()
        gate.open = trio.Event()
        await cancelled(world.journal.wait_recorded, "approved", {"n": 1})
        gate.open.set()
        await world.journal.wait_recorded("approved", {"n": 2})
        nursery.cancel_scope.cancel()
    assert world.steps() == ["approved", "approved"]


async def test_a_journal_in_the_middle_of_a_write(tmp_path):
    """What it has begun it ends, what it has received it writes, and the file is closed."""
    gate, before = Gate(), descriptors()
    world = CallsWorld(tmp_path, in_thread=gate)

    async def run():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.journal.run)
            await wait_all_tasks_blocked()
            gate.open.set()
            await wait_all_tasks_blocked()
            gate.open = trio.Event()
            world.journal.record("sent", {})
            await world.journal.wait_recorded("approved", {})

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await wait_all_tasks_blocked(0.02)
        world.journal.record("call", {})
        nursery.cancel_scope.cancel()
        gate.open.set()
    assert world.steps() == ["sent", "approved", "call"]
    assert descriptors() == before


async def test_a_result_on_its_way_into_a_file(tmp_path, nursery):
    """It takes nothing of its session's quota afterwards, and there is no file."""
    spill = Spill(tmp_path, limits=msgspec.structs.replace(LIMITS, spill_bytes=500_000), in_thread=at_once)
    await nursery.start(spill.run)
    text = Outcome(response={"content": [{"type": "text", "text": "x" * 300_000}]})

    async def fitted():
        await spill.fitted("s1", text)

    writes = []

    async def hold_writes(work):
        if spill._kept.get("s1"):
            writes.append(work)
            await trio.sleep_forever()
        return work()

    spill._in_thread = hold_writes
    await cancelled(fitted)
    assert len(writes) == 1
    assert not spill._kept.get("s1")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert spill._large.borrowed_tokens == 0
    spill._in_thread = at_once
    assert (await spill.fitted("s1", text)).spilled["handle"]


# --- servers -----------------------------------------------------------------------------------------


async def test_calls_that_wait_for_their_turn_and_one_that_has_it(nursery):
    gate, sent = trio.Event(), []

    class Connection:
        async def call(self, tool, arguments, **_):
            sent.append(tool)
            await gate.wait()
            return {"content": []}

    async def connected(_patience_s):
        await trio.lowlevel.checkpoint()
        return Connection()

    calls = ServerCalls(
        "srv",
        LIMITS,
        1,
        connected=connected,
        answered=lambda _: None,
        secrets=lambda: SecretValues(()),
        counts_errors=False,
    )
    call = partial(calls.call, timeout_s=60, arguments={}, caller="s1")
    scope = trio.CancelScope()

    async def first():
        with scope:
            await call("first")

    nursery.start_soon(first)
    await wait_all_tasks_blocked()
    await cancelled(call, "waits")
    assert calls.slots.waiting == 0
    scope.cancel()
    await wait_all_tasks_blocked()
    assert (calls.in_flight, calls.slots._held) == (0, 0)
    gate.set()
    with trio.fail_after(20):
        await call("next")
    assert sent == ["first", "next"]


async def test_a_fleet_with_a_call_on_its_way():
    before, pids = descriptors(), []

    async def run():
        async with trio.open_nursery() as nursery:
            world = await World(steady()).start(nursery)
            pids.append((await world.reach("steady", "ready"))["pid"])
            await world.call("steady", tool="slow", s=60)

    async def ready():
        await until(lambda: pids)
        await wait_all_tasks_blocked(0.05)

    await cancelled(run, when=ready)
    assert not is_alive(pids[0])
    assert descriptors() == before


async def test_a_fleet_whose_server_is_starting():
    before = descriptors()
    for _ in range(3):

        async def run():
            async with trio.open_nursery() as nursery:
                await World(steady()).start(nursery)
                await trio.sleep_forever()

        await cancelled(run, when=partial(trio.sleep, 0.05))
    assert descriptors() == before


# --- the catalog -------------------------------------------------------------------------------------


async def test_a_cataloger_in_the_middle_of_a_compile(tmp_path):
    """The last whole snapshot stands; started again it has the newest."""
    world = SessionsWorld(tmp_path, GITHUB)
    await cancelled(world.cataloger.run)
    whole = world.cataloger.snapshot
    large = source("large", {f"tool_{n}": "Do it" for n in range(2000)})
    world.sources = [GITHUB, large, SLACK]
    world.cataloger._limits = msgspec.structs.replace(
        LIMITS, compile_slice_s=1e-9, compile_inline_tools=10**6
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.cataloger.run)
        for _ in range(50):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert world.cataloger.snapshot is whole
    assert len(whole) == 3
    await cancelled(world.cataloger.run)
    assert len(world.cataloger.snapshot) == 3 + 2000 + 2


async def test_an_evaluator_that_waits_for_counts(tmp_path, nursery):
    world = await SessionsWorld(tmp_path).start(nursery)
    session = await world.open()
    world.counts.hold = trio.Event()
    await cancelled(session.assemble)
    assert session.held is None  # nothing was given to it
    world.counts.hold.set()
    assert (await session.assemble())["tier"] == 1
    assert not world.evaluator._assembling


async def test_a_worker_process_that_is_asked(nursery):
    """Its answer would be the next one's: the process ends, and another one is asked."""
    worker, before = Worker(LIMITS.worker_idle_s, dict(os.environ)), descriptors()
    await nursery.start(worker.run)
    texts = CountTokens("o200k_base", ["some text"] * 1000)

    async def asked():
        await until(lambda: worker.pid is not None)
        nonlocal pid
        pid = worker.pid

    pid = None
    await cancelled(worker.ask, texts, list[int], when=asked)
    assert worker.pid is None
    assert not is_alive(pid)
    assert worker._turn.borrowed_tokens == 0
    assert descriptors() == before
    assert await worker.ask(CountTokens("o200k_base", ["a b"]), list[int]) == [2]


async def test_token_counts_that_are_on_their_way(tmp_path):
    """What was learnt is on the disk, what was not is asked for again."""

    class Asked:
        def __init__(self):
            self.hold, self.texts = None, []

        async def ask(self, request, _type):
            if self.hold is not None:
                await self.hold.wait()
            self.texts += request.texts
            return [len(text) for text in request.texts]

    worker = Asked()
    counts = TokenCounts(worker=worker, state_dir=tmp_path)

    async def run():
        async with trio.open_nursery() as nursery:
            await nursery.start(counts.run)
            await counts.known("o200k_base", ["one"])
            worker.hold = trio.Event()
            await counts.known("o200k_base", ["one", "three"])

    await cancelled(run, when=partial(until, lambda: worker.hold is not None))
    worker.hold = None
    later = TokenCounts(worker=worker, state_dir=tmp_path)
    known = await later.known("o200k_base", ["one", "three"])
    assert (known("one"), known("three")) == (3, 5)
    assert worker.texts == ["one", "three"]
    assert [path.name for path in (tmp_path / "tokens").iterdir()] == ["o200k_base.counts"]


async def test_a_watcher_of_files(tmp_path):
    before = descriptors()
    place = Place(tmp_path)
    place.save("one")
    watcher = place.watcher()

    async def run():
        async with trio.open_nursery() as nursery:
            await nursery.start(watcher.run)
            await trio.sleep_forever()

    with trio.fail_after(20):
        await cancelled(run, when=partial(trio.sleep, 0.1))
    assert place.names() == {"one"}
    with trio.fail_after(20):
        while descriptors() != before:  # the notifier's thread closes its own
            await trio.sleep(0.01)
