"""Everything a real daemon says is as `toolsearchctl schema` has it: replies, events, each verb's --json."""

import json
import select
import signal
import subprocess
from contextlib import contextmanager
from itertools import count

import pytest

from tests.daemon import BIN, wait_until
from tests.e2e.test_approvals import Asked
from tests.schemas import Protocol, closed, printed, validator
from tests.servers.zoo import zoo
from tests.wire import Wire, agent
from toolsearchd.client import Client
from toolsearchd.ctl.verbs import VERBS
from toolsearchd.dialects.registry import DIALECTS

ECHO, ERASE, PROGRESS = "mcp__steady__echo", "mcp__steady__erase", "mcp__steady__progress"
OWN = {"name": "star_chart", "description": "Draw the night sky.", "core": False}
EVENTS = ["catalog_changed", "approval_requested", "progress", "drain"]


@contextmanager
def running(root):
    servers = {
        "steady": zoo("steady", env={"WHO": "nobody"}),
        "long_results": zoo("misbehaving", "long_results"),
        "absent": {"command": "/nonexistent/server"},
    }
    config = {
        "profiles": {
            "deciding": {"match": {"client": "decider"}, "servers": ["*"], "may_decide": True},
            "typo": {"servers": ["aa"]},
        },
        "approval": {"wait_s": 60},
        "tools": {"tool_search": {"enabled": "on"}},
    }
    with Asked(root, servers=servers, config=config) as daemon:
        daemon.wait_servers("steady", "long_results")
        daemon.wait_servers("absent", state="failed")
        yield daemon


@pytest.fixture
def daemon(tmp_path):
    with running(tmp_path) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    with running(tmp_path_factory.mktemp("dialects")) as daemon:
        yield daemon


class Asking:
    """A connection on which every frame is judged."""

    def __init__(self, protocol, socket, wire):
        self.protocol, self.socket, self.wire = protocol, socket, wire
        self.numbers = count(1)
        self.ops = {}
        self.events = []
        self.replies = {}

    def send(self, op, **fields):
        number = next(self.numbers)
        self.ops[number] = op
        self.wire.send({"op": op, "id": number, **fields})
        return number

    def take(self):
        message = self.wire.recv()
        assert message is not None, "the daemon hung up"
        self.protocol.judge(self.socket, self.ops.get(message.get("id")), message)
        if "id" in message:
            self.replies[message["id"]] = message
        else:
            self.events.append(message)

    def reply(self, number):
        while number not in self.replies:
            self.take()
        return self.replies[number]

    def ask(self, op, **fields):
        return self.reply(self.send(op, **fields))

    def event(self, name):
        """The first one of this name, and it is taken."""
        while not (found := [event for event in self.events if event["op"] == name]):
            self.take()
        self.events.remove(found[0])
        return found[0]


def test_every_operation_and_event_on_both_sockets(daemon):
    protocol = Protocol(closed(printed()))
    wire = agent(daemon, client="decider", tools=[OWN])
    control = Asking(protocol, "control", Wire(daemon.runtime_dir / "control.sock"))
    protocol.judge("agent", None, wire.welcome)
    mine = Asking(protocol, "agent", wire)
    try:
        _ask_as_a_person(daemon, control, wire.welcome["session"])
        _ask_as_an_agent(mine)
        _decide(mine, control, daemon.code_of)
        daemon.write_servers({"steady": zoo("steady", "echo")})
        mine.event("catalog_changed")
        mine.ask("bye")
        with agent(daemon, client="another") as other:
            leaving = Asking(protocol, "agent", other)
            leaving.ask("subscribe", events=EVENTS)
            daemon.process.send_signal(signal.SIGTERM)
            leaving.event("drain")
    finally:
        wire.close()
        control.wire.close()
    assert protocol.seen == protocol.all()


def _ask_as_a_person(daemon, control, session):
    for op in ("ping", "status", "sessions", "journal", "doctor", "reload"):
        control.ask(op)
    assert len(control.ask("servers", origins=True)["servers"]) == 3
    control.ask("servers", name="absent")
    control.ask("tokens", session=session)
    control.ask("stop", session=session)
    control.ask("restart", name="absent")
    assert control.ask("stop", session="nobody")["code"] == "UNKNOWN_SESSION"
    control.ask("watch")
    assert control.ask("approvals", watch=True)["approvals"] == []


def _ask_as_an_agent(mine):
    mine.ask("ping")
    mine.ask("subscribe", events=EVENTS)
    mine.ask("assemble", context_length=100_000)
    for queries in (["echo a text"], ["zzyzx qwv", "frobnicate github"], ["zzyzx qwv"]):
        mine.ask("search", queries=queries)
    mine.ask("describe", names=[ECHO, "mcp__steady__ecko", "tool_search"])
    mine.ask("explain", query="ehco a text zzyzx", tool=ERASE)
    mine.ask("use", tool="tool_search", arguments={"queries": ["echo a text"]})
    mine.ask("use", tool="tool_call", arguments={"calls": [{"name": ECHO, "arguments": {"text": "x"}}]})
    assert mine.ask("call", calls="odd")["code"] == "BAD_ARGUMENTS"
    reply = mine.ask(
        "call",
        calls=[
            {"name": PROGRESS, "arguments": {"steps": 3}},
            {"name": "mcp__long_results__echo", "arguments": {"bytes": 300_000}},
            {"name": "nobody", "arguments": {}},
            {"name": "mcp__steady__fail", "arguments": {}},
        ],
    )
    mine.event("progress")
    spilled = reply["results"][1]["spilled"]
    mine.ask("resolve", handle=spilled["handle"], limit=100)
    mine.ask("stop")
    called = mine.send("call", calls=[{"name": "star_chart", "arguments": {}}])
    asked = mine.event("call_requested")
    assert mine.ask("call_result", call=asked["call"], response={"stars": 7})["accepted"]
    mine.reply(called)
    stopped = mine.send("call", calls=[{"name": "star_chart", "arguments": {}}])
    mine.event("call_requested")
    mine.ask("stop", batch=stopped)
    mine.event("call_cancelled")
    mine.reply(stopped)
    assert mine.ask("tools", tools=[])["removed"] == 1


def _decide(mine, control, code_of):
    def erase(**arguments):
        number = mine.send("call", calls=[{"name": ERASE, "arguments": arguments}])
        return number, mine.event("approval_requested")["approval"]

    number, approval = erase(by="itself")
    control.event("approval_requested")
    control.ask("approvals", approval=approval)
    assert mine.ask("decide", approval=approval, decision="session")["state"] == "approved"
    mine.event("approval_ended")
    control.event("approval_ended")
    assert "response" in mine.reply(number)["results"][0]
    (permit,) = control.ask("approvals")["standing"]
    control.ask("deny", approval=permit["approval"])
    number, approval = erase(by="a person")
    (prompt,) = control.ask("approvals")["approvals"]
    assert prompt["needs_code"]  # who asks is its own parent
    assert "code" not in prompt
    assert control.ask("approve", approval=approval)["op"] == "error"
    control.ask("approve", approval=approval, code=code_of(approval))
    assert "response" in mine.reply(number)["results"][0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialects_replies_and_what_the_client_makes_of_them(lasting, dialect):
    """Another dialect's search and describe are open; the client gives what was on the wire."""
    protocol = Protocol(printed())
    with (
        agent(lasting, dialect=dialect) as wire,
        Client(client="x", runtime_dir=lasting.runtime_dir, timeout_s=60, dialect=dialect) as client,
    ):
        protocol.judge("agent", None, wire.welcome)
        asking = Asking(protocol, "agent", wire)
        assert asking.ask("assemble")["tools"] == client.assemble().tools
        # One name or query, or several: each dialect takes its own.
        for op, *forms in (
            ("search", {"queries": ["echo a text"]}, {"query": "echo a text"}),
            ("describe", {"names": [ECHO]}, {"name": ECHO}),
        ):
            for fields in forms:
                heard = asking.ask(op, **fields)
                if heard["op"] == "result":
                    found = client.request(op, **fields).as_map()
                    assert found.keys() == heard.keys() - {"op", "id"}
                    for key in found.keys() - {"generation", "listing_stale"}:  # these may move meanwhile
                        assert found[key] == heard[key]
                    break


@pytest.fixture
def documents(daemon, tmp_path):
    """Runs a verb with --json and judges each document that it printed; → (verb, words) → documents."""
    judged = set()

    def run(verb, *words, status=0):
        assert verb in VERBS
        found = subprocess.run(
            [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "--json", verb, *map(str, words)],
            env=daemon.env,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert found.returncode == status, found.stdout + found.stderr
        document = json.loads(found.stdout)
        judge(verb, document)
        return document

    def judge(verb, document):
        schema = closed(printed(verb))
        validator(schema, schema).validate(document)
        judged.add(verb)

    run.judge, run.judged = judge, judged
    return run


def test_every_verbs_json(daemon, documents, tmp_path):
    with Client(client="an-agent", runtime_dir=daemon.runtime_dir, timeout_s=60) as session:
        session.subscribe(["approval_requested"])
        _print_all(daemon, documents, tmp_path)
        _answer_all(daemon, documents)
        _print_lines(daemon, documents, session)
    _install_all(daemon, documents, tmp_path)
    documents("demo")
    assert documents.judged == set(VERBS) - {"mcp", "schema"}


def _print_all(daemon, documents, tmp_path):
    for verb in ("status", "servers", "sessions", "tokens", "listing", "reload", "stop"):
        documents(verb)
    documents("doctor", status=1)  # a profile names no server
    documents("servers", "--origins")
    documents("servers", "nobody", status=1)
    documents("restart", "absent")
    documents("search", "echo a text", "zzyzx")
    documents("describe", ECHO)
    documents("describe", "mcp__steady__ecko", status=1)
    documents("call", ECHO, '{"text": "x"}')
    documents("call", "mcp__steady__fail", status=1)
    documents("explain", "echo a text", "--tool", "steady/erase")
    queries = tmp_path / "queries.jsonl"
    lines = [
        {"id": "q1", "query": "echo a text", "relevant": ["steady/echo"], "kind": "k"},
        {"id": "q2", "query": "frobnicate", "relevant": ["steady/erase"]},
    ]
    queries.write_text("\n".join(map(json.dumps, lines)))
    documents("eval", queries)
    assert documents("journal")["records"]


def _answer_all(daemon, documents):
    """Calls of other processes wait; one is permitted, one denied."""
    command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "--json", "call", ERASE]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "env": daemon.env}
    for verb, status in (("approve", 0), ("deny", 1)):
        with subprocess.Popen(command, **pipes) as calling:
            prompt = wait_until(lambda: documents("approvals")["approvals"], what="the prompt")[0]
            documents("approvals", prompt["approval"])
            documents("approve", prompt["approval"], "--code", "0", status=1)
            code = ["--code", daemon.code_of(prompt["approval"])] if verb == "approve" else []
            documents(verb, prompt["approval"], *code)
            out, _ = calling.communicate(timeout=60)
        documents.judge("call", json.loads(out))
        assert calling.returncode == status


def _print_lines(daemon, documents, session):
    """A document a line, until interrupted."""
    for words in (["watch"], ["approvals", "--watch"]):
        command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "--json", *words]
        with subprocess.Popen(
            command, env=daemon.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as watching:
            calling = None
            try:
                if words == ["watch"]:
                    wait_until(lambda: session.search(["echo"]) and _has_line(watching), what="a line")
                else:
                    call = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "call", ERASE]
                    calling = subprocess.Popen(call, env=daemon.env, stderr=subprocess.DEVNULL)
                documents.judge(words[0], json.loads(watching.stdout.readline()))
            finally:
                watching.send_signal(signal.SIGINT)
                if calling is not None:
                    calling.kill()
                    calling.wait(30)


def _has_line(process):
    return bool(select.select([process.stdout], [], [], 0.05)[0])


def _install_all(daemon, documents, tmp_path):
    file = tmp_path / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(
        json.dumps({"mcpServers": {"one": zoo("steady", "echo"), "far": {"url": "https://x.invalid"}}})
    )
    assert "diff" in documents("install", "cursor", "--dry-run")
    documents("install", "cursor")
    documents("disclosure", "cursor", "direct")
    assert documents("uninstall", "cursor")["identical"] is not None
    documents("uninstall", "cursor", status=1)
