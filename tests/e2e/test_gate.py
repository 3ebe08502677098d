"""One server hides something in every text it gives; nobody else is ever shown any of it.

What each exit gives is looked at whole: every frame of the agent and control sockets, every line of the door,
the journal, the log, and all that `toolsearchctl` prints.
"""

import json
import subprocess
import unicodedata
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers import marked
from tests.servers.zoo import zoo
from tests.wire import DoorWire, Wire, agent
from toolsearchd.catalog.naming import door_name, public_name

SERVER = "odd\u202e\u200b\U000e0041\u2028E"  # a config's names hold no control characters
HIDES = f"hides{marked.MARK.replace(chr(0xD83D), '')}"
OPS = ("status", "servers", "sessions", "doctor", "approvals", "reload", "tokens", "journal")
WAITS = ("blocks", "unknown", "refuse", "fail", "log", "change", "long", f"odd{marked.NAME}")
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def odd_in(text, *, lines=True):
    """The first character that hides or moves text."""
    kept = "\n\t" if lines else ""
    return next((c for c in text if c not in kept and unicodedata.category(c) in INVISIBLE), None)


def faults_in(value, path=(), *, skip=()):
    """Where in a decoded message something hides."""
    found, left = [], [(path, value)]
    while left:
        path, one = left.pop()
        if isinstance(one, str) and odd_in(one) is not None:
            found.append((path, ascii(one)))
        elif isinstance(one, dict):
            found += [((*path, ascii(key)), "key") for key in one if odd_in(key, lines=False) is not None]
            left += [((*path, key), item) for key, item in one.items() if key not in skip]
        elif isinstance(one, list | tuple):
            left += [((*path, at), item) for at, item in enumerate(one)]
    return found


def names_with_breaks(value):
    """Where a name, a title or a type goes over several lines, outside of what a server may fill at will."""
    found, left = [], [((), value)]
    while left:
        path, one = left.pop()
        if isinstance(one, dict):
            free = {"structuredContent", "_meta", "data", "parameters", "inputSchema", "outputSchema"}
            left += [((*path, key), item) for key, item in one.items() if key not in free]
            named = (one.get(key) for key in ("name", "title", "mimeType", "uri", "uriTemplate"))
            found += [(path, name) for name in named if isinstance(name, str) and "\n" in name]
        elif isinstance(one, list):
            left += [((*path, at), item) for at, item in enumerate(one)]
    return found


class Watching:
    """A connection's receiving end: all that comes is looked at."""

    def check(self, message):
        assert not faults_in(message), faults_in(message)[:5]
        assert not names_with_breaks(message), names_with_breaks(message)[:5]
        return message


class WatchedAgent(Watching):
    def __init__(self, wire):
        self.wire, self.number, self.events = wire, 0, []
        self.check(wire.welcome)

    def ask(self, op, **fields):
        self.number += 1
        self.wire.send({"op": op, "id": self.number, **fields})
        while (message := self.check(self.wire.recv())).get("id") != self.number:
            self.events.append(message)
        return message

    def call(self, name, **arguments):
        reply = self.ask("call", calls=[{"name": name, "arguments": arguments}])
        return reply["results"][0]


class WatchedDoor(DoorWire, Watching):
    """Answers what a server asks of its client."""

    ANSWERS: ClassVar = {
        "elicitation/create": {"action": "accept", "content": {"name": "me"}},
        "sampling/createMessage": {
            "role": "assistant",
            "content": {"type": "text", "text": "x"},
            "model": "m",
        },
        "roots/list": {"roots": []},
    }

    def __init__(self, daemon, **hello):
        super().__init__(daemon, **hello)
        self.asked, self.told = [], []

    def ask(self, method, **params):
        self.number += 1
        number = self.number
        self.tell(method, id=number, **params)
        while True:
            line = self.file.readline()
            assert odd_in(line.decode()) is None, line
            message = self.check(json.loads(line))
            if "method" in message and "id" in message:
                self.asked.append(message["method"])
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": self.ANSWERS[message["method"]]}
                self.file.write(json.dumps(answer).encode() + b"\n")
                self.file.flush()
            elif "method" in message:
                self.told.append(message)
            elif message["id"] == number:
                return message


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("gate")
    ledgers = {name: root / f"{name}.jsonl" for name in ("marked", "rounds", "odd")}
    servers = {
        "marked": zoo("marked", ledgers["marked"]),
        "rounds": zoo("marked", ledgers["rounds"], "--stateless", protocol="2026-07-28"),
        SERVER: zoo("marked", ledgers["odd"]),
        f"gone{SERVER}": {"command": f"/nonexistent/{SERVER}"},
        HIDES: {"command": 5, HIDES: HIDES},
    }
    config = {
        "tools": {"tool_search": {"enabled": "on"}},
        "journal": {"arguments": True},
        "limits": {"breaker_failures": 1000},
        "profiles": {"direct": {"match": {"client": "direct-*"}, "enabled": "off"}},
    }
    with DaemonProcess(root, servers=servers, config=config) as daemon:
        daemon.wait_servers("marked", "rounds")
        daemon.ledgers = ledgers
        yield daemon


def received(daemon, method, server="marked"):
    lines = map(json.loads, daemon.ledgers[server].read_text().splitlines())
    return [message.get("params") or {} for message in lines if message.get("method") == method]


def test_an_agent_is_shown_nothing_hidden(world):
    with agent(
        world, client=f"agent{marked.LINE}".replace("\ud83d", ""), cwd=f"/{HIDES}", profile=HIDES
    ) as wire:
        WatchedAgent(wire)
    with agent(world, client=HIDES) as wire:
        session = WatchedAgent(wire)
        session.ask("subscribe", events=["progress", "catalog_changed", "approval_requested"])
        session.ask("assemble", context_length=200_000)
        assert session.ask("search", queries=["does blocks", HIDES])["results"][0]["matches"]
        names = [public_name("marked", name) for name in (*WAITS, *marked.ASKED)]
        described = session.ask("describe", names=[*names, HIDES, f"x\n{HIDES}"])
        assert set(names) <= set(described["tools"])
        session.ask("explain", query=f"does {HIDES}", tool=names[0])
        session.ask("explain", query="x", tool=HIDES)
        for name in names[:-1]:
            session.call(name, n=1)
        for name in marked.ASKED:
            session.call(public_name("rounds", name))
        slot = session.call(public_name("marked", "log"))
        assert slot["response"]["content"]
        assert any(event["op"] == "progress" for event in session.events)
        long = session.call(public_name("marked", "long"))["spilled"]
        session.ask("resolve", handle=long["handle"])
        assert odd_in(Path(long["path"]).read_text()) is None
        wrong = session.call(names[0], n=HIDES, **{HIDES: HIDES})
        assert wrong["error"]["code"] == "INVALID_ARGUMENTS"
        session.call(HIDES)
        session.call(f"mcp__marked__{HIDES}\n")
        session.ask("call", calls=HIDES)
        session.ask("subscribe", events=[HIDES])
        session.ask("resolve", handle=HIDES)
        session.ask("use", tool=HIDES, arguments={})
        own = {"name": "mine", "description": HIDES, "parameters": {"type": "object", "title": HIDES}}
        session.ask("tools", tools=[own, own | {"name": HIDES, "core": True}])


def test_values_and_shapes_stay(world):
    with agent(world) as wire:
        response = WatchedAgent(wire).call(public_name("marked", "blocks"))["response"]
    assert [block["type"] for block in response["content"][:6]] == [block["type"] for block in marked.BLOCKS]
    assert response["content"][0]["text"].startswith("one\n\n\n\ttwo R")
    assert [block["data"] for block in response["content"][1:3]] == ["aGVsbG8="] * 2
    assert sorted(response["structuredContent"].values(), key=str)[:3] == [1, 2, 3]
    assert response["structuredContent"]["RE"] == 3
    assert response["structuredContent"]["name"] == "a\nb"


def test_the_door_shows_nothing_hidden_and_its_server_is_asked_by_its_own_names(world):
    with WatchedDoor(world) as door:
        info = {"name": HIDES, "version": "1"}
        able = {"sampling": {}, "elicitation": {"form": {}}, "roots": {}}
        door.ask("initialize", protocolVersion="2025-11-25", capabilities=able, clientInfo=info)
        door.tell("notifications/initialized")
        door.ask("tools/list")
        door.ask(f"no/{HIDES}")
        for name in (*WAITS, *marked.ASKED):
            tool, meta = public_name("marked", name), {"progressToken": f"t-{len(name)}"}
            assert "result" in door.ask("tools/call", name=tool, arguments={"n": 1}, _meta=meta)
        assert {*door.asked} == {method for method, _ in marked.ASKED.values()}
        for name in marked.ASKED:
            door.ask("tools/call", name=public_name("rounds", name), arguments={})
        door.ask("tools/call", name=HIDES, arguments={HIDES: HIDES})
        heard = {told["method"] for told in door.told}
        assert {"notifications/message", "notifications/progress"} <= heard

        listed = door.ask("prompts/list")
        prompts = listed["result"]["prompts"]
        (prompt, other) = [prompt for prompt in prompts if prompt["name"].startswith("marked__")]
        (argument,) = prompt["arguments"]
        got = door.ask("prompts/get", name=prompt["name"], arguments={argument["name"]: "x"})
        assert "result" in got
        assert received(world, "prompts/get")[-1] == {
            "name": marked.PROMPT,
            "arguments": {marked.ARGUMENT: "x"},
        }
        error = door.ask("prompts/get", name=other["name"])["error"]
        assert error["message"].startswith("refused")
        door.ask("prompts/get", name=HIDES)

        ref = {"type": "ref/prompt", "name": prompt["name"]}
        door.ask("completion/complete", ref=ref, argument={"name": argument["name"], "value": "x"})
        sent = received(world, "completion/complete")[-1]
        assert (sent["ref"]["name"], sent["argument"]["name"]) == (marked.PROMPT, marked.ARGUMENT)

        door.ask("resources/templates/list")
        listed = door.ask("resources/list")["result"]["resources"]
        uri = next(item["uri"] for item in listed if item["uri"].startswith("toolsearchd://marked/"))
        assert "result" in door.ask("resources/read", uri=uri)
        assert received(world, "resources/read")[-1]["uri"] == marked.RESOURCE
        linked = door.ask("tools/call", name=public_name("marked", "blocks"), arguments={})["result"]
        link = next(block["uri"] for block in linked["content"] if block["type"] == "resource_link")
        count = len(received(world, "resources/read"))
        assert "result" in door.ask("resources/read", uri=link)
        assert [sent["uri"] for sent in received(world, "resources/read")[count:]] == [marked.RESOURCE]
        assert "result" in door.ask("resources/subscribe", uri=uri)
        assert received(world, "resources/subscribe")[-1]["uri"] == marked.RESOURCE
        door.ask("resources/read", uri=f"toolsearchd://nobody/{HIDES}")
        door.told.clear()
        door.ask("tools/call", name=public_name("marked", "change"), arguments={})

        def is_told():
            door.ask("ping")
            return any(told["params"].get("uri") == uri for told in door.told if "params" in told)

        wait_until(is_told, what="the resource's change told")


def test_the_door_shows_direct_tools_clean_and_calls_them(world):
    with WatchedDoor(world) as door:
        door.initialize("direct-1")
        tools = {tool["name"]: tool for tool in door.ask("tools/list")["result"]["tools"]}
        odd = door_name("marked", f"odd{marked.NAME}")
        assert tools[odd]["description"].startswith("Does oddR")
        assert "result" in door.ask("tools/call", name=odd, arguments={"n": 1})
        assert f"odd{marked.NAME}" in [sent["name"] for sent in received(world, "tools/call")]


def test_a_stateless_client_is_asked_cleanly(world):
    version, meta = "2026-07-28", "io.modelcontextprotocol"
    able = {"sampling": {}, "elicitation": {"form": {}}, "roots": {}}
    said = {
        f"{meta}/protocolVersion": version,
        f"{meta}/clientInfo": {"name": "stateless", "version": "1"},
        f"{meta}/clientCapabilities": able,
    }
    with WatchedDoor(world) as door:
        door.ask("server/discover", _meta=said)
        door.ask("tools/list", _meta=said)
        reply = door.ask("tools/call", name=public_name("rounds", "ask"), arguments={}, _meta=said)
        assert reply["result"]["resultType"] == "input_required"
        door.ask("prompts/list", _meta=said)


def test_a_person_is_shown_nothing_hidden(world):
    with Wire(world.runtime_dir / "control.sock") as control, agent(world, client=HIDES) as wire:
        session, person = WatchedAgent(wire), Watching()
        control.send({"op": "watch", "id": 1})
        person.check(control.recv())
        session.call(public_name("marked", "blocks"), n=1)
        session.call(HIDES, x=HIDES)
        for number, op in enumerate(OPS, 2):
            more = {"session": wire.welcome["session"]} if op == "tokens" else {}
            more = {"origins": True} if op == "servers" else more
            ask_control(control, person, {"op": op, "id": number, **more})
        ask_control(control, person, {"op": "restart", "id": 20, "name": HIDES})


def ask_control(control, person, message):
    control.send(message)
    while (reply := person.check(control.recv())).get("id") != message["id"]:
        pass
    return reply


VERBS = (
    ["status"],
    ["servers", "--origins"],
    ["servers", "marked", "--origins"],
    ["sessions"],
    ["doctor"],
    ["search", "does blocks", "R\u202ex"],
    ["describe", public_name("marked", "blocks"), "R\u202ex"],
    ["listing"],
    ["tokens"],
    ["explain", "does\u200b blocks"],
    ["call", public_name("marked", "blocks"), '{"n": 1}'],
    ["call", public_name("marked", "refuse")],
    ["call", public_name("marked", "fail")],
    ["call", "R\u202ex"],
    ["restart", "R\u202ex"],
    ["approvals"],
    ["reload"],
    ["journal"],
)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: ascii(" ".join(verb))[:30])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_toolsearchctl_prints_nothing_hidden(world, verb, form):
    command = [BIN / "toolsearchctl", "--runtime-dir", world.runtime_dir, *form, *verb]
    done = subprocess.run(command, env=world.env, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    assert b"Traceback" not in done.stderr
    for printed in (done.stdout, done.stderr):
        assert odd_in(printed.decode()) is None, printed[:2000]
    if form and verb[0] != "journal":
        for line in done.stdout.splitlines():
            assert not faults_in(json.loads(line))


def test_an_approval_shows_the_arguments_as_they_are_with_nothing_hidden(world):
    with Wire(world.runtime_dir / "control.sock") as control, agent(world, client=HIDES) as wire:
        control.send({"op": "approvals", "id": 1, "watch": True})
        control.recv()
        given = {"n": 1, "p": f"{HIDES}\n"}
        name = public_name("marked", "validated")
        wire.send({"op": "call", "id": 9, "calls": [{"name": name, "arguments": given}]})
        while (event := Watching().check(control.recv()))["op"] != "approval_requested":
            pass
        assert json.loads(event["arguments"]) == given
        assert odd_in(event["arguments"], lines=False) is None
        ask_control(control, Watching(), {"op": "deny", "id": 2, "approval": event["approval"]})
        assert Watching().check(wire.recv())["results"][0]["error"]["code"] == "DENIED"


def test_the_journal_and_the_log_hold_nothing_hidden(world):
    with agent(world, client=HIDES) as wire:
        session, given = WatchedAgent(wire), {"n": 1, "p": HIDES}
        assert "response" in session.call(public_name("marked", "blocks"), **given)
        session.call(HIDES)
    journal = world.state_dir / "journal.jsonl"

    def recorded():
        return [
            record for record in map(json.loads, journal.read_text().splitlines()) if "arguments" in record
        ]

    wait_until(lambda: any(record["arguments"] == given for record in recorded()), what="the call recorded")
    assert given in [sent.get("arguments") for sent in received(world, "tools/call")]  # a model's own words
    for line in journal.read_text().splitlines():
        assert odd_in(line) is None, line
        assert not faults_in(json.loads(line), skip=("arguments",))
    assert world.server("marked")["restarts"] == 0
    log = world.log.read_text()
    assert "Traceback" not in log
    bad = [line for line in log.splitlines() if odd_in(line) is not None]
    assert not bad, ascii(bad[:3])


def test_what_a_check_of_the_config_prints(world):
    command = [BIN / "toolsearchd", "--config", world.config_file, "--check-config"]
    done = subprocess.run(command, env=world.env, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    for printed in (done.stdout, done.stderr):
        assert odd_in(printed.decode()) is None, printed[:2000]


def test_the_marks_are_seen_where_they_are():
    """The look itself finds what it is to find."""
    assert odd_in(marked.MARK) == "\x1b"
    assert faults_in({"a": [{marked.MARK: 1}]})
    assert names_with_breaks({"name": "a\nb"})
    assert msgspec.json.decode(msgspec.json.encode(HIDES)) == HIDES
