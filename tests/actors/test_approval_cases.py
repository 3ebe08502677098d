"""The reference's cases for approvals and stops, through the daemon's own dispatcher and approver.

The adapter only translates fields; gateway and servers are functions here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest
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
from toolsearchd.config.settings import Approval, Settings
from toolsearchd.dialects.hermes.rules import HermesRules
from toolsearchd.dispatch.queue import Queue
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol import requests as messages
from toolsearchd.protocol.events import ApprovalRequested
from toolsearchd.system.peer import Peer

LIMITS = Limits()
CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "approval_cases.jsonl").read_text("utf-8").splitlines()
]


class Caller:
    """A session of the reference's dialect."""

    session_id, client, profiles, may_decide = "s1", "hermes", ("default",), False
    peer = Peer(os.getpid(), os.getuid(), "")
    rules = HermesRules()

    def client_word(self, _tool):
        return None

    client_side = None

    def __init__(self, tools):
        self.queue = Queue(LIMITS.queued_entries)
        self.account = Account(LIMITS)
        self.tools = tools

    def tool_to_call(self, name):
        if name not in self.tools:
            raise ToolsearchdError("TOOL_NOT_FOUND", f"there is no tool {name}")
        return self.tools[name]

    def notify(self, event):
        """Hermes asks people in its own way."""


class Upstream:
    """Remembers what was sent; `hang`: the call never ends by itself."""

    def __init__(self, hang):
        self.hang = hang
        self.sent = []

    def spec(self, server):
        return None

    async def call(self, server, tool, arguments, *, timeout_s, on_progress, check, caller, replays, client):
        check()
        self.sent.append(tool)
        if self.hang:
            await trio.sleep_forever()
        return {"content": [], "structuredContent": {"ok": f"{server}_{tool}".upper()}}


def tools_of(case):
    found = {}
    for tool in case["given"]["tools"]:
        raw = {"name": tool["tool"], "inputSchema": tool["parameters"]}
        found[tool["name"]] = (tool["server"], raw)
    for call in case["when"]["args"]["calls"]:
        if call["name"].startswith("connectors__"):
            _, server, name = call["name"].split("__")
            found[call["name"]] = (server, {"name": name, "inputSchema": {"type": "object"}})
    return {
        public: Tool(
            definition=decode_definition(msgspec.json.encode(raw), LIMITS), server=server, public_name=public
        )
        for public, (server, raw) in found.items()
    }


def answer_to(case, index, name):
    """What the case's person says to the entry; None: they are stopped while they think."""
    given, stop_while = case["given"], case["when"].get("stop_while", "")
    if stop_while in (f"approval_of_entry_{index}_pending", "waiting_for_approval"):
        return None
    if given.get("behaviour_by_index", {}).get(str(index), {}).get("denied"):
        return "deny"
    approval = given.get("approval", {})
    if approval == "ask_every_entry":
        return "approve"
    denied = name in approval.get("deny_tools", ()) or approval.get(str(index)) == "deny"
    return "deny" if denied else "approve"


async def at_once(write):
    """The test's clock jumps while a thread works."""
    return write()


async def run(case, tmp_path):
    settings = Settings(approval=Approval(default="ask", notify=False))
    activity = Activity()
    upstream = Upstream(hang=case["when"].get("stop_while") == "mcp_call_running")
    journal = Journal(
        tmp_path, settings=lambda: settings.journal, limits=LIMITS, now=lambda: 0.0, in_thread=at_once
    )
    approver = Approver(
        journal=journal,
        settings=lambda: settings,
        permits=Permits(tmp_path),
        desktop=Desktop({}),
        activity=activity,
        limits=LIMITS,
    )
    hooks = Hooks(settings=lambda: settings, activity=activity, environ={})
    admission = Admission(
        upstream=upstream,
        approver=approver,
        hooks=hooks,
        journal=journal,
        settings=lambda: settings,
        limits=LIMITS,
    )
    dispatcher = Dispatcher(
        upstream=upstream,
        approver=approver,
        admission=admission,
        hooks=hooks,
        journal=journal,
        activity=activity,
        spill=Spill(tmp_path, limits=LIMITS, in_thread=at_once),
        limits=LIMITS,
    )
    caller = Caller(tools_of(case))
    replies, asked = [], []

    def hear(event):
        if isinstance(event, ApprovalRequested):
            index = next(e.index for b in caller.queue.batches for e in b.entries if e.when_stopped)
            asked.append(event.tool)
            nursery.start_soon(reply, event.approval, answer_to(case, index, event.tool))

    async def reply(approval, answer):
        if answer is None:
            dispatcher.stop(caller)
            return
        (prompt,) = answers[messages.ApprovalsRequest](messages.ApprovalsRequest(id=1))["approvals"]
        assert prompt["approval"] == approval
        code = approver._approvals.named(approval).code
        if answer == "deny":
            answers[messages.DenyRequest](messages.DenyRequest(id=2, approval=approval))
        else:
            answers[messages.ApproveRequest](messages.ApproveRequest(id=2, approval=approval, code=code))

    person = Person(Peer(os.getpid(), os.getuid(), ""), hear)
    answers = approver.answers_for(person)
    answers[messages.ApprovalsRequest](messages.ApprovalsRequest(id=0, watch=True))
    requests = HermesRules().parse(case["when"]["args"], max_entries=64)
    async with trio.open_nursery() as nursery:
        await nursery.start(journal.run)
        await nursery.start(approver.run)
        await nursery.start(dispatcher.run)
        with trio.fail_after(10):
            dispatcher.submit(caller, "batch", requests, replies.append)
            if upstream.hang:
                await trio.testing.wait_all_tasks_blocked()
                dispatcher.stop(caller)
            while not replies:
                await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return told(replies[0], upstream.sent, asked, requests)


def told(reply, sent, asked, requests):
    results = reply["results"]
    errors = [result.get("error", {}) for result in results]
    names = [request.name for request in requests]
    first = errors[0]
    kinds = {"INVALID_ARGUMENTS": "invalid_arguments", "INDETERMINATE": "interrupted"}
    return {
        **reply,
        "results": [
            result | {"error": {"code": result["error"]["code"]}}
            if "error" in result
            else result | {"response": result["response"]["structuredContent"]}
            for result in results
        ],
        "codes_by_index": [error.get("code") for error in errors],
        "gateway_requests": [at for at, name in enumerate(names) if name.split("__")[-1] in sent],
        "error": any(errors),
        "error_kind": kinds.get(first.get("code")),
        "invoked": sent,
        "policy_saw_name": asked[0] if asked else None,
        "approval_asked": bool(asked),
        "outcome": "denied" if first.get("code") == "TOOL_ERROR" else "other",
        "sent": bool(sent),
        "max_extra_wait_s": 1,  # `run` would have failed
    }


def as_request(case, index):
    """The gateway's view of an entry, where a case wants more than its number."""
    _, connector, name = case["when"]["args"]["calls"][index]["name"].split("__")
    return {"index": index, "connector": connector, "tool": f"{connector}_{name}".upper()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_reference_case(case, tmp_path, autojump_clock):
    found = await run(case, tmp_path)
    expect = case["expect"]
    if any(isinstance(request, dict) for request in expect.get("gateway_requests", ())):
        found["gateway_requests"] = [as_request(case, index) for index in found["gateway_requests"]]
    assert {name: found.get(name) for name in expect} == expect


def test_the_cases_are_here():
    assert len(CASES) == 7
