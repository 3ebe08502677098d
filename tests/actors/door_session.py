"""A session for the door's tests: real names, shapes and queue; tools that are async functions here."""

from __future__ import annotations

import json
import socket
from contextlib import asynccontextmanager

import trio

from toolsearchd.calls.account import Account
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Tool
from toolsearchd.catalog.naming import near_names, public_name
from toolsearchd.dialects.base import Interpreter
from toolsearchd.disclosure.bridge import CALL, DESCRIBE, SEARCH
from toolsearchd.disclosure.listing import listed
from toolsearchd.disclosure.listing_steps import ListingPlan
from toolsearchd.dispatch.entry import Outcome
from toolsearchd.dispatch.queue import INDETERMINATE_BY_STOP, Queue
from toolsearchd.dispatch.shapes import parse_calls
from toolsearchd.doors.mcp import McpDoor
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.events import ApprovalEnded, CatalogChanged
from toolsearchd.protocol.replies import AssembleReply
from toolsearchd.protocol.requests import Hello
from toolsearchd.records import Open
from toolsearchd.system.stream import PeerStream

LIMITS = Limits()


def make_tool(server, name, **fields):
    raw = json.dumps({"name": name, "inputSchema": {"type": "object"}} | fields).encode()
    definition = decode_definition(raw, LIMITS)
    return Tool(definition=definition, server=server, public_name=public_name(server, name))


def text_result(text):
    return {"content": [{"type": "text", "text": text}]}


class Catalog:
    """What all sessions of a test see: `tools` maps a tool to what a call of it does."""

    def __init__(self, tools, *, direct=False, listing="", offers=None):
        """`offers`: server → (method, params) → result, of what is no tool."""
        self.offers = offers or {}
        self.tools = tools
        self.direct = direct
        self.listing = listing
        self.sessions = []
        self.closed = []

    def change(self, tools=None, listing=None):
        self.tools = self.tools if tools is None else tools
        self.listing = self.listing if listing is None else listing
        for session in self.sessions:
            session.notify(CatalogChanged(generation=2))

    def capabilities(self, server):
        return frozenset(("prompts", "resources", "completions"))

    async def request(self, server, method, params, *, timeout_s, client):
        await trio.lowlevel.checkpoint()
        return await self.offers[server](method, params, client)


class View:
    instructions = {}  # noqa: RUF012

    def __init__(self, tools, servers=()):
        self.granted_servers = tuple(servers)
        self._tools = {tool.public_name: tool for tool in tools}

    def tool_named(self, name):
        return self._tools.get(name)

    def granted_tools(self):
        return self._tools.values()

    def instructions_of(self, names):
        return self.instructions

    def listing_of_bytes(self, most):
        tools = [(name, tool.definition.description) for name, tool in self._tools.items()]
        return ListingPlan([listed("srv", tools)], lambda text: len(text.encode())).listing(most).text


class Session:
    def __init__(self, catalog, hello, nursery):
        self.catalog = catalog
        self.hello = hello
        self.events = set()
        self.emit = None
        self.client_side = None
        self.queue = Queue(LIMITS.queued_entries)
        self.account = Account(LIMITS)
        self.stops = []
        self.forms = False
        self.decisions = []
        self._nursery = nursery
        self._scopes = {}

    @property
    def view(self):
        return View(self.catalog.tools, self.catalog.offers)

    bridge = Interpreter.verbs

    def calls_of(self, name, args):
        talk = Interpreter()
        return talk.calls(self.view, args) if name in self.bridge else talk.direct(self.view, name, args)

    def unread_queries(self, args):
        return []

    async def await_vectors(self, queries):
        assert queries == []

    def search(self, args):
        if not args.get("queries"):
            raise ToolsearchdError("BAD_ARGUMENTS", "queries: a list of texts is accepted")
        return Open(fields={"queries": args["queries"], "results": [], "tools": {}})

    def describe(self, args):
        return Open(fields={"tools": {name: {"parameters": {}} for name in args["names"]}})

    async def assemble(self, *, refresh=False):
        names = (
            [t.public_name for t in self.catalog.tools] if self.catalog.direct else [SEARCH, DESCRIBE, CALL]
        )
        functions = [
            {"type": "function", "function": {"name": name, "description": f"the {name}", "parameters": {}}}
            for name in names
        ]
        return AssembleReply(
            tools=functions,
            listing=self.catalog.listing,
            tier=0 if self.catalog.direct else 2,
            listing_form="full",
            listing_tokens=0,
            budget_tokens=0,
            deferred_count=0,
            version="",
            generation=1,
            listing_stale=False,
        )

    def submit_call(self, key, args, deliver, on_progress=None):
        requests = parse_calls(args, max_entries=LIMITS.entries_per_call)
        batch = self.queue.submit(key, [request.name for request in requests])
        self._nursery.start_soon(self._run, batch, requests, deliver, on_progress)

    def stop(self, key=None):
        self.stops.append(key)
        stopped = self.queue.stop(key)
        for entry in stopped.running:
            self._scopes[entry].cancel()
        return {"interrupted": len(stopped.interrupted), "running": len(stopped.running)}

    def answer_by_form(self, wanted):
        if wanted:
            self.events.add("approval_requested")
        self.forms = wanted
        return wanted

    def decide(self, approval, decision):
        self.decisions.append((approval, decision))
        return {}

    def notify(self, event):
        heard = "approval_requested" if isinstance(event, ApprovalEnded) else event.op
        if self.emit is not None and heard in self.events:
            self.emit(event)

    async def _run(self, batch, requests, deliver, on_progress):
        for entry, request in zip(batch.entries, requests, strict=True):
            if self.queue.start(entry):
                self.queue.finish(entry, await self._outcome(entry, request, on_progress))
        deliver(Open(fields=batch.reply()))

    async def _outcome(self, entry, request, on_progress):
        called = next((c for t, c in self.catalog.tools.items() if t.public_name == request.name), None)
        if called is None:
            near = near_names(request.name, [tool.public_name for tool in self.catalog.tools])
            return Outcome.failed(ToolsearchdError("TOOL_NOT_FOUND", f"no tool {request.name}", near=near))

        def report(progress, total=None, message=None):
            if on_progress is not None:
                on_progress(entry, progress, total, message)

        outcome = INDETERMINATE_BY_STOP
        with trio.CancelScope() as self._scopes[entry]:
            result = await called(request.arguments, report)
            if result.get("isError"):
                outcome = Outcome.failed(ToolsearchdError("TOOL_ERROR", "the tool failed", response=result))
            else:
                outcome = Outcome(response=result)
        return outcome


class Peer:
    """The client's end: JSON lines, without any SDK."""

    def __init__(self, sock):
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
        self._buffer = b""

    async def send_raw(self, data):
        await self._stream.send_all(data)

    async def send(self, *messages):
        await self.send_raw(b"".join(json.dumps(m).encode() + b"\n" for m in messages))

    async def request(self, request_id, method, params=None):
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})

    async def receive(self):
        """The next message; None at the end of the stream."""
        with trio.fail_after(10):
            while b"\n" not in self._buffer:
                data = await self._stream.receive_some(65536)
                if not data:
                    return None
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    async def lines(self):
        """Lines as they come, however long that takes."""
        while data := await self._stream.receive_some(65536):
            *lines, self._buffer = (self._buffer + data).split(b"\n")
            for line in lines:
                yield line

    async def answer(self, request_id, method, params=None):
        """The result of a request; anything else that comes meanwhile is an error of the test."""
        await self.request(request_id, method, params)
        reply = await self.receive()
        assert reply["id"] == request_id, reply
        return reply["result"] if "result" in reply else reply["error"]

    async def initialize(self, client="a-client", version="2025-11-25", capabilities=None):
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": client, "version": "1"},
        }
        result = await self.answer(0, "initialize", params)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    async def call(self, request_id, name, arguments=None, **meta):
        params = {"name": name, "arguments": arguments or {}} | ({"_meta": meta} if meta else {})
        await self.request(request_id, "tools/call", params)

    async def aclose(self):
        await self._stream.aclose()


@asynccontextmanager
async def open_door(catalog, *, hello=None, limits=LIMITS, first_bytes=b""):
    """A door on one end of a socket, a `Peer` on the other."""
    ours, theirs = socket.socketpair()
    async with trio.open_nursery() as nursery:

        async def open_session(hello, peer):
            await trio.lowlevel.checkpoint()
            session = Session(catalog, hello, nursery)
            catalog.sessions.append(session)
            return session

        door = McpDoor(
            open_session=open_session, close_session=catalog.closed.append, limits=limits, servers=catalog
        )
        stream = PeerStream(ours, limits)

        async def serve():
            try:
                nursery.start_soon(stream.run_writer)
                await door(stream, first_bytes, hello or Hello(protocol=1, client="relay", mcp=True), None)
            finally:
                stream.close()

        nursery.start_soon(serve)
        peer = Peer(theirs)
        try:
            yield peer
        finally:
            await peer.aclose()
            nursery.cancel_scope.cancel()
