"""What a session's calls make the daemon hold, while it reads and while it does not: counted, not weighed."""

import os

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from toolsearchd.calls.account import SMALL_BYTES, Account
from toolsearchd.calls.activity import Activity
from toolsearchd.calls.admission import Admission
from toolsearchd.calls.approver import Approver
from toolsearchd.calls.desktop import Desktop
from toolsearchd.calls.dispatcher import Dispatcher
from toolsearchd.calls.hooks import Hooks
from toolsearchd.calls.journal import Journal
from toolsearchd.calls.permits import Permits
from toolsearchd.calls.spill import Spill
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Tool
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.secret_values import SecretValues
from toolsearchd.config.settings import Approval, Settings
from toolsearchd.dispatch.entry import Batch
from toolsearchd.dispatch.queue import Queue
from toolsearchd.dispatch.rules import RULES
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.limits import Limits
from toolsearchd.system.peer import Peer
from toolsearchd.upstream.calls import ServerCalls

LIMITS = Limits()
MIB = 1 << 20
IMAGE = "A" * (3 * MIB)
SPEC = ServerSpec(
    name="srv", transport="stdio", command=("x",), digest="d", supports_parallel_tool_calls=True
)
TOOL = Tool(
    definition=decode_definition(
        b'{"name": "big", "inputSchema": {}, "annotations": {"readOnlyHint": true}}', LIMITS
    ),
    server="srv",
    public_name="mcp__srv__big",
)


class Caller:
    """A session whose wire takes replies as long as `reads`."""

    client, profiles, may_decide, rules = "agent", ("default",), False, RULES
    client_side = None
    peer = Peer(os.getpid(), os.getuid(), "")

    def client_word(self, _tool):
        return None

    def __init__(self, name, *, reads):
        self.session_id = name
        self.queue = Queue(LIMITS.queued_entries)
        self.account = Account(LIMITS)
        self.account.unread = lambda: self.outbox
        self.reads = reads
        self.outbox = 0
        self.replies = []

    def tool_to_call(self, name):
        return TOOL

    def notify(self, event):
        """It subscribed to nothing."""

    def deliver(self, reply):
        self.replies.append(reply)
        if not self.reads:
            self.outbox += len(msgspec.msgpack.encode(reply))

    def read(self):
        """What is there."""
        self.outbox = 0
        self.account.changed()


class World:
    """A dispatcher before one server of eight slots whose every result is an image of 3 MiB."""

    def __init__(self, directory, **limits):
        self.limits = msgspec.structs.replace(LIMITS, **limits)
        self.directory = directory / "spilled"
        self.sent = []
        settings, activity = Settings(approval=Approval(default="allow", notify=False)), Activity()
        journal = Journal(
            directory, settings=lambda: settings.journal, limits=LIMITS, now=lambda: 0.0, in_thread=at_once
        )
        approver = Approver(
            journal=journal,
            settings=lambda: settings,
            permits=Permits(directory),
            desktop=Desktop({}),
            activity=activity,
            limits=LIMITS,
        )
        hooks = Hooks(settings=lambda: settings, activity=activity, environ={})
        self.calls = ServerCalls(
            "srv",
            LIMITS,
            8,
            connected=self._connected,
            answered=lambda _: None,
            secrets=lambda: SecretValues(()),
            counts_errors=False,
        )
        self.dispatcher = Dispatcher(
            upstream=self,
            approver=approver,
            admission=Admission(
                upstream=self,
                approver=approver,
                hooks=hooks,
                journal=journal,
                settings=lambda: settings,
                limits=LIMITS,
            ),
            hooks=hooks,
            journal=journal,
            activity=activity,
            spill=Spill(directory, limits=self.limits, in_thread=at_once),
            limits=LIMITS,
        )

    def spec(self, server):
        return SPEC

    async def call(self, server, tool, arguments, **options):
        return await self.calls.call(tool, arguments, **options)

    async def _connected(self, _patience_s):
        await trio.lowlevel.checkpoint()
        return Connection(self.sent)

    def submit(self, caller, entries, key):
        requests = [RequestedCall(name=TOOL.public_name, arguments={}) for _ in range(entries)]
        self.dispatcher.submit(caller, key, requests, caller.deliver)

    @property
    def file_bytes(self):
        return sum(path.stat().st_size for path in self.directory.rglob("*") if path.is_file())


class Connection:
    def __init__(self, sent):
        self._sent = sent

    async def call(self, tool, arguments, **_):
        self._sent.append(tool)
        await trio.lowlevel.checkpoint()
        return {"content": [{"type": "image", "mimeType": "image/png", "data": IMAGE}]}


async def at_once(work):
    await trio.lowlevel.checkpoint()
    return work()


@pytest.fixture
async def world(tmp_path, nursery):
    made = World(tmp_path)
    await nursery.start(made.dispatcher.run)
    return made


def images(replies):
    slots = [slot for reply in replies for slot in reply["results"]]
    return [block for slot in slots for block in slot["response"]["content"] if block["type"] == "image"]


@pytest.mark.parametrize("entries", [1, 2, 16, 64])
async def test_a_session_that_does_not_read_pays_for_itself(world, entries):
    deaf = Caller("deaf", reads=False)
    for number in range(LIMITS.open_requests):
        world.submit(deaf, entries, number)
    await wait_all_tasks_blocked()
    assert deaf.outbox <= LIMITS.frame_bytes + SMALL_BYTES
    assert deaf.account.in_memory <= LIMITS.outstanding_bytes
    assert world.file_bytes <= LIMITS.spill_bytes
    assert len(world.sent) <= max(LIMITS.open_requests + 8, 3 * entries)
    # Another one's calls on the same connection go on, and it gets what it asks for.
    other = Caller("other", reads=True)
    world.submit(other, 2, "one")
    await wait_all_tasks_blocked()
    assert len(images(other.replies)) == 2


async def test_a_stop_ends_at_once_what_waits_for_the_session_to_read(world):
    deaf = Caller("deaf", reads=False)
    for number in range(LIMITS.open_requests):
        world.submit(deaf, 16, number)
    await wait_all_tasks_blocked()
    waiting = len(deaf.queue)
    sent = len(world.sent)
    assert waiting > 100
    stopped = world.dispatcher.stop(deaf)
    assert len(deaf.queue) == 0
    assert stopped == {"interrupted": waiting, "running": 0}
    deaf.reads = True
    deaf.read()
    await wait_all_tasks_blocked()
    assert len(world.sent) == sent
    assert len(deaf.replies) == LIMITS.open_requests
    assert deaf.account.outstanding == 0


async def test_what_waited_in_files_arrives_whole_when_the_session_reads(world):
    slow = Caller("slow", reads=False)
    for number in range(LIMITS.open_requests):
        world.submit(slow, 2, number)
    for _ in range(40):
        await wait_all_tasks_blocked()
        slow.read()
    assert len(slow.replies) == LIMITS.open_requests
    assert [image["data"] == IMAGE for image in images(slow.replies)] == [True] * 2 * LIMITS.open_requests
    assert not any("spilled" in slot for reply in slow.replies for slot in reply["results"])
    assert slow.account.outstanding == world.file_bytes == 0


async def test_a_batch_of_more_than_a_frame_and_its_quota_ends_and_says_what_is_lost(world):
    caller = Caller("reads", reads=True)
    world.submit(caller, 64, "large")
    await wait_all_tasks_blocked()
    ((reply),) = caller.replies
    assert reply["success_count"] == 64
    spilled = [slot["spilled"] for slot in reply["results"] if "spilled" in slot]
    kept = [where for where in spilled if "handle" in where]
    assert len(images(caller.replies)) == 2
    assert len(kept) > 10
    for where in kept:  # each that is named is there
        assert world.dispatcher.resolve(caller, where["handle"], 0, 100)["total"] == where["bytes"]
    assert all("wait" in where["lost"] for where in spilled if "handle" not in where)
    assert world.file_bytes <= LIMITS.spill_bytes


async def test_nothing_is_left_of_a_session_that_goes(world):
    gone = Caller("gone", reads=False)
    for number in range(LIMITS.open_requests):
        world.submit(gone, 4, number)
    await wait_all_tasks_blocked()
    world.dispatcher.leave(gone)
    await wait_all_tasks_blocked()
    assert world.file_bytes == 0
    assert not list(world.directory.iterdir())


async def test_a_results_size_is_expected_of_the_next_ones(world):
    """So that many calls that were small go out together, and few that were large."""
    caller = Caller("reads", reads=True)
    world.submit(caller, 1, "first")
    await wait_all_tasks_blocked()
    world.sent.clear()
    account, batch = caller.account, Batch("b", ["x"] * 16)
    account.open(batch)
    room = LIMITS.outstanding_bytes // len(IMAGE)
    for entry in batch.entries[:room]:
        assert account.has_room(entry, TOOL.public_name)
        account.send(entry, TOOL.public_name)
    assert not account.has_room(batch.entries[room], TOOL.public_name)
    assert account.has_room(batch.entries[room], "mcp__srv__small")


@given(st.lists(st.lists(st.integers(0, 8 * MIB), min_size=1, max_size=8), min_size=1, max_size=8))
def test_the_oldest_batch_never_waits_for_another_one(batches):
    """Whatever is held: where all that was sent has come, and the session reads, something may be sent."""
    account, made = Account(LIMITS), []
    for number, sizes in enumerate(batches):
        made.append(batch := Batch(number, ["x"] * (len(sizes) + 1)))
        account.open(batch)
        for entry, size in zip(batch.entries, sizes, strict=False):
            if not account.keeps(entry, size):
                account.keeps_in_file(entry, size)
    while made:
        assert account.has_room(made[0].entries[-1], "tool")
        account.settle(made.pop(0))
    assert account.outstanding == 0
