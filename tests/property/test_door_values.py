"""Any value in any message of an MCP client, and in what servers offer to it: each request has one answer."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.daemon import DaemonProcess
from tests.fuzzing import fuzzed
from tests.odd_values import json_values, maps, nested
from tests.servers.zoo import zoo
from tests.wire import DoorWire

ECHO = "mcp__steady__echo"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
METHODS = [
    *("ping", "tools/list", "prompts/list", "resources/list", "prompts/get", "resources/read", "x/y"),
    *("resources/templates/list", "resources/subscribe", "completion/complete", "logging/setLevel"),
]


class Client:
    def __init__(self, daemon, capabilities):
        self.daemon = daemon
        self.log = daemon.log.open("rb")
        self.door = DoorWire(daemon)
        self.number = 0
        info = {"name": "a-client", "version": "1"}
        started = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        assert "result" in self.answer("initialize", json.dumps(started))
        self.door.tell("notifications/initialized")

    def answer(self, method, params):
        """The one answer to a request with these params, which are JSON text of any kind."""
        self.number += 1
        head = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method})
        self.door.file.write(f'{head[:-1]}, "params": {params}}}\n'.encode())
        self.door.file.flush()
        while True:
            message = json.loads(self.door.file.readline())
            if "method" in message:
                if "id" in message:  # what a server asks: it is refused
                    error = {"code": -1, "message": "no"}
                    self.door.file.write(
                        json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n"
                    )
                    self.door.file.flush()
                continue
            if message["id"] is None:  # a message that is none
                assert "error" in message
                return message
            assert message["id"] == self.number
            return message

    def check(self):
        call = json.dumps({"name": "tool_call", "arguments": {"name": ECHO, "arguments": {"text": "hi"}}})
        result = self.answer("tools/call", call)["result"]
        assert result["content"] == [{"type": "text", "text": "hi"}]
        assert self.daemon.process.poll() is None
        said = self.log.read()
        assert b"which is a bug" not in said, said.decode()
        assert b"Traceback" not in said, said.decode()

    def close(self):
        self.door.__exit__()
        self.log.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    servers = {"steady": zoo("steady", "echo"), "says": zoo("misbehaving", "says"), "offers": zoo("offers")}
    with DaemonProcess(tmp_path_factory.mktemp("odd"), servers=servers) as daemon:
        daemon.wait_servers("steady", "says", "offers")
        client = Client(daemon, {"elicitation": {}, "sampling": {}, "roots": {}})
        yield client
        client.close()


def as_text(value):
    return json.dumps(value)


fields = st.sampled_from(
    ["name", "arguments", "uri", "cursor", "level", "ref", "_meta", "argument", "requestState"]
)


@fuzzed(200)
@given(st.sampled_from(METHODS), json_values() | maps(json_values(), fields), st.booleans())
@example("prompts/get", {"name": "offers__x", "arguments": {"a": 2**64}}, False)
@example("resources/read", {"uri": "toolsearchd://offers/\ud800"}, True)
@example(
    "completion/complete", {"ref": {"type": "ref/resource", "uri": "\ud800"}, "argument": nested(210)}, False
)
def test_requests(client, method, params, is_modern):
    if is_modern and isinstance(params, dict):
        params = {**params, "_meta": META}
    client.answer(method, as_text(params))
    client.check()


@fuzzed(150)
@given(
    json_values() | maps(json_values(), st.sampled_from(["text", "n", "calls", "name", "arguments"])),
    st.sampled_from(["tool_call", "tool_search", "tool_describe", ECHO, "steady__echo", "\ud800"]),
)
@example({"name": ECHO, "arguments": {"text": "x", "n": 2**64}}, "tool_call")
@example({"text": "x", "n": 10**400}, "steady__echo")
@example({"text": nested(210)}, "steady__echo")
def test_calls(client, arguments, name):
    answer = client.answer("tools/call", as_text({"name": name, "arguments": arguments}))
    if "result" in answer and answer["result"].get("isError"):
        assert answer["result"]["structuredContent"].get("code") != "INTERNAL"
    client.check()


@fuzzed(100)
@given(
    st.sampled_from(["elicitation/create", "sampling/createMessage", "roots/list", "x/y"]),
    json_values() | maps(json_values(), st.sampled_from(["message", "requestedSchema", "mode"])),
)
@example("elicitation/create", {"message": "\ud800", "requestedSchema": {"a": 2**64}})
def test_what_a_server_asks(client, method, params):
    line = json.dumps({"jsonrpc": "2.0", "id": "q", "method": method, "params": params})
    call = {"name": "mcp__says__echo", "arguments": {"around": [line]}}
    answer = client.answer("tools/call", as_text({"name": "tool_call", "arguments": call}))
    assert answer["result"]["content"][0]["text"] == "ok"
    client.check()
