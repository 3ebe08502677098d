"""Dispatcher, approver and journal together, under random callers, answers, stops and changes.

What reached the server was approved, byte for byte, for the tool as it was, once, and stands in the journal;
what a stop found unsent never went out; each entry has one outcome that is true.
"""

import json
import os
import random

import msgspec
import pytest
import trio

from toolsearchd.calls.account import Account
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
from toolsearchd.config.settings import Approval, Settings
from toolsearchd.dispatch.queue import Queue
from toolsearchd.dispatch.rules import RULES
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.events import ApprovalRequested
from toolsearchd.system.peer import Peer

LIMITS = Limits()
STEPS = 400
UNSENT = {"INTERRUPTED", "DENIED", "NO_APPROVER", "APPROVAL_TIMEOUT", "TOOL_CHANGED", "STALE"}


class Caller:
    client, profiles, may_decide, rules = "storm", ("default",), True, RULES
    client_side = None
    peer = Peer(os.getpid(), os.getuid(), "")

    def client_word(self, _tool):
        return None

    def __init__(self, world, number):
        self.session_id = f"s{number}"
        self.queue = Queue(LIMITS.queued_entries)
        self.account = Account(LIMITS)
        self.world = world
        self.prompts = {}

    def tool_to_call(self, name):
        return self.world.tool

    def notify(self, event):
        if isinstance(event, ApprovalRequested):
            self.prompts[event.approval] = event
        else:
            self.prompts.pop(event.approval, None)


class World:
    """The fleet too: a call takes its time before and behind the send."""

    def __init__(self, directory, seed):
        self.random = random.Random(seed)
        self.version = 0
        self.change_tool()
        self.approved = {}  # n → (bytes, tool digest) that somebody approved
        self.sent = []
        self.forbidden = set()  # unsent when their stop was acknowledged
        self.replies = {}
        settings = Settings(approval=Approval(default="ask", notify=False, wait_s=5))
        shared = {"settings": lambda: settings, "activity": Activity()}
        self.journal = Journal(
            directory, settings=lambda: settings.journal, limits=LIMITS, now=lambda: 0.0, in_thread=self.write
        )
        self.approver = Approver(
            permits=Permits(directory), desktop=Desktop({}), journal=self.journal, limits=LIMITS, **shared
        )
        hooks = Hooks(environ={}, **shared)
        admission = Admission(
            upstream=self,
            approver=self.approver,
            hooks=hooks,
            journal=self.journal,
            settings=shared["settings"],
            limits=LIMITS,
        )
        self.dispatcher = Dispatcher(
            upstream=self,
            approver=self.approver,
            admission=admission,
            hooks=hooks,
            journal=self.journal,
            activity=shared["activity"],
            spill=Spill(directory, limits=LIMITS, in_thread=self.write),
            limits=LIMITS,
        )

    async def write(self, write):
        await trio.sleep(self.random.uniform(0, 0.2))
        return write()

    def change_tool(self):
        self.version += 1
        raw = {"name": "erase", "description": f"v{self.version}", "inputSchema": {"type": "object"}}
        definition = decode_definition(msgspec.json.encode(raw), LIMITS)
        self.tool = Tool(definition=definition, server="srv", public_name="mcp__srv__erase")

    def spec(self, server):
        return None

    async def call(self, server, tool, arguments, *, timeout_s, on_progress, check, caller, replays, client):
        await trio.sleep(self.random.uniform(0, 0.5))
        check()
        n = arguments["n"]
        assert n not in self.forbidden, "sent after an acknowledged stop"
        assert self.approved.pop(n) == (msgspec.json.encode(arguments), self.tool.definition.digest)
        self.sent.append(n)
        await trio.sleep(self.random.uniform(0, 0.5))
        return {"content": []}


async def storm(world):
    pick, numbers, callers, batches = world.random, iter(range(10**6)), [], {}
    for number in range(3):
        callers.append(Caller(world, number))
        world.approver.listen(callers[-1])
    for step in range(STEPS):
        caller = pick.choice(callers)
        match pick.choice("submit submit decide decide decide decide sleep sleep stop change leave".split()):
            case "submit" if len(caller.queue.batches) < 4:
                wanted = [next(numbers) for _ in range(pick.randint(1, 3))]
                requests = [RequestedCall(name="erase", arguments={"n": n}) for n in wanted]
                batches[step] = wanted
                world.dispatcher.submit(
                    caller, step, requests, lambda reply, step=step: told(world, step, reply)
                )
            case "decide" if caller.prompts:
                approval, prompt = pick.choice(list(caller.prompts.items()))
                answer = pick.choice(("approve", "approve", "approve", "deny"))
                shown = prompt["arguments"].encode(), prompt["digests"]["tool"]
                try:
                    world.approver.decide_as(caller, approval, answer)
                except ToolsearchdError as error:
                    assert error.code == "STALE"
                else:
                    if answer == "approve":
                        world.approved[json.loads(shown[0])["n"]] = shown
            case "sleep":
                await trio.sleep(pick.uniform(0, 2))
            case "stop" if step % 3 == 0:
                entries = [entry for batch in caller.queue.batches for entry in batch.entries]
                world.dispatcher.stop(caller)
                forbid(world, batches, entries)
            case "change" if step % 5 == 0:
                world.change_tool()
            case "leave" if step % 7 == 0:
                world.dispatcher.leave(caller)
                callers[callers.index(caller)] = Caller(world, 1000 + step)
                world.approver.listen(callers[-1])
    await trio.sleep(1000)  # every prompt has its end
    return batches


def forbid(world, batches, entries):
    """The stop is acknowledged: what it found waiting must not go out any more."""
    for entry in entries:
        assert entry.outcome or entry.stopping
        if entry.outcome and entry.outcome.error and entry.outcome.error["code"] == "INTERRUPTED":
            n = batches[entry.batch.key][entry.index]
            assert n not in world.sent
            world.forbidden.add(n)


def told(world, step, reply):
    assert step not in world.replies, "a batch answered twice"
    world.replies[step] = reply


@pytest.mark.parametrize("seed", range(6))
async def test_a_storm(tmp_path, autojump_clock, seed):
    world = World(tmp_path, seed)
    async with trio.open_nursery() as nursery:
        for actor in (world.journal, world.approver, world.dispatcher):
            await nursery.start(actor.run)
        batches = await storm(world)
        nursery.cancel_scope.cancel()

    assert world.replies.keys() == batches.keys()
    assert len(world.sent) == len(set(world.sent))
    assert world.sent
    assert world.forbidden
    for step, wanted in batches.items():
        results = world.replies[step]["results"]
        assert len(results) == len(wanted)
        for n, result in zip(wanted, results, strict=True):
            code = result.get("error", {}).get("code")
            if n in world.sent:
                assert code in (None, "INDETERMINATE")
            else:
                assert code in UNSENT | {"INDETERMINATE"}  # stopped between its start and the send
    records = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    assert sum(record["step"] == "approved" for record in records) >= len(world.sent)
    ended = [record for record in records if record["step"] == "call"]
    assert len(ended) == sum(map(len, batches.values()))
