"""One session's way to a server: the real dispatcher, approver, admission and journal around a fake fleet."""

from __future__ import annotations

import json
import os

import msgspec
import trio

from toolsearchd.calls.account import Account
from toolsearchd.calls.activity import Activity
from toolsearchd.calls.admission import Admission
from toolsearchd.calls.approver import Approver, Person
from toolsearchd.calls.desktop import Desktop
from toolsearchd.calls.dispatcher import Dispatcher
from toolsearchd.calls.hooks import Hooks
from toolsearchd.calls.journal import Journal
from toolsearchd.calls.permits import Permits
from toolsearchd.calls.spill import Spill
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Tool
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Approval, Settings
from toolsearchd.dispatch.queue import Queue
from toolsearchd.dispatch.rules import RULES
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.limits import Limits
from toolsearchd.protocol import requests as messages
from toolsearchd.system.peer import Peer

LIMITS = Limits()
PEER = Peer(os.getpid(), os.getuid(), "")


async def at_once(work):
    """In place of a thread: the test's clock would jump while one works."""
    await trio.lowlevel.checkpoint()
    return work()


def tool(name="erase", server="srv", **fields):
    raw = {"name": name, "inputSchema": {"type": "object"}} | fields
    definition = decode_definition(msgspec.json.encode(raw), LIMITS)
    return Tool(definition=definition, server=server, public_name=f"mcp__{server}__{name}")


class Caller:
    client, profiles, may_decide, rules = "agent", ("default",), True, RULES
    client_side = None
    peer = PEER

    def __init__(self, world, name="s1"):
        self.session_id = name
        self.queue = Queue(LIMITS.queued_entries)
        self.account = Account(LIMITS)
        self.world = world
        self.events = []

    def tool_to_call(self, name):
        return self.world.tool

    def client_word(self, _tool):
        return None

    def notify(self, event):
        self.events.append(event)

    async def call_own(self, tool, arguments, *, timeout_s):
        await self.world.reach(lambda: None)
        return {"content": []}


class CallsWorld:
    """`slot`: what a call waits for before its send; `sends`: how often it is sent, as after a lost
    connection; `answer`: what a sent call waits for. `sent`: arguments, in order."""

    def __init__(self, directory, in_thread=at_once, **approval):
        self.tool = tool()
        self.spec_in_force = ServerSpec(name="srv", transport="stdio", command=("x",), digest="d")
        self.settings = Settings(approval=Approval(**({"default": "ask", "notify": False} | approval)))
        self.slot, self.answer = trio.Event(), trio.Event()
        self.slot.set()
        self.answer.set()
        self.sends, self.waiting, self.sent, self.replies = 1, 0, [], []
        self.path = directory / "journal.jsonl"
        activity, settings = Activity(), lambda: self.settings
        self.journal = Journal(
            directory,
            settings=lambda: settings().journal,
            limits=LIMITS,
            now=lambda: 0.0,
            in_thread=in_thread,
        )
        self.approver = Approver(
            journal=self.journal,
            settings=settings,
            permits=Permits(directory),
            desktop=Desktop({}),
            activity=activity,
            limits=LIMITS,
        )
        self.hooks = Hooks(settings=settings, activity=activity, environ={})
        self.admission = Admission(
            upstream=self,
            approver=self.approver,
            hooks=self.hooks,
            journal=self.journal,
            settings=settings,
            limits=LIMITS,
        )
        self.spill = Spill(directory, limits=LIMITS, in_thread=at_once)
        self.dispatcher = Dispatcher(
            upstream=self,
            approver=self.approver,
            admission=self.admission,
            hooks=self.hooks,
            journal=self.journal,
            activity=activity,
            spill=self.spill,
            limits=LIMITS,
        )
        self.caller = Caller(self)
        self.person = Person(PEER, lambda event, fields: None)

    async def start(self, nursery):
        for actor in (self.journal, self.approver, self.dispatcher):
            await nursery.start(actor.run)
        self.approver.listen(self.caller)
        return self

    # --- the fleet --------------------------------------------------------------------------------

    def spec(self, server):
        return self.spec_in_force

    async def call(self, server, tool, arguments, *, check, **_):
        return await self.reach(check, arguments)

    async def reach(self, check, arguments=None):
        for _ in range(self.sends):
            self.waiting += 1
            try:
                await self.slot.wait()
            finally:
                self.waiting -= 1
            check()
            self.sent.append(arguments)
        await self.answer.wait()
        return {"content": []}

    # --- agents and people ------------------------------------------------------------------------

    def submit(self, *arguments, key="batch"):
        requests = [RequestedCall(name=self.tool.public_name, arguments=given) for given in arguments]
        self.dispatcher.submit(self.caller, key, requests, self.replies.append)

    def codes(self):
        """Of all that was answered: an error's code, or `ok`."""
        results = [result for reply in self.replies for result in reply["results"]]
        return [result.get("error", {}).get("code", "ok") for result in results]

    @property
    def pending(self):
        return [prompt.id for prompt in self.approver._approvals.pending]

    def decide(self, answer):
        """The only prompt's answer, by the agent's own user interface."""
        (approval,) = self.pending
        self.approver.decide_as(self.caller, approval, answer)

    def revoke(self):
        (permit,) = self.approver._approvals.standing
        deny = self.approver.answers_for(self.person)[messages.DenyRequest]
        assert deny(messages.DenyRequest(id=1, approval=permit.id))["state"] == "revoked"

    def steps(self):
        return [json.loads(line)["step"] for line in self.path.read_bytes().splitlines()]

    @property
    def is_idle(self):
        """Nothing is on its way, asked about or held."""
        sender = self.dispatcher._sender
        open_now = (sender._in_flight, self.dispatcher._admitting, self.approver._waiting, self.pending)
        return not any(open_now) and not self.caller.queue.batches and not self.waiting
