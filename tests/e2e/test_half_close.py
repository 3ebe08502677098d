"""Who ends the sending and reads on has the answers to what is open first; who is gone is let go at once."""

import json
import socket
import time

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import DoorWire, Wire, agent

SLEEP = {"name": "mcp__steady__sleep", "arguments": {"s": 0.5}}
ERASE = {"name": "mcp__steady__erase", "arguments": {}}
OWN = {"name": "own_tool", "description": "Mine.", "parameters": {"type": "object"}, "core": False}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {"steady": zoo("steady", "sleep", "erase", "echo")}
    with DaemonProcess(tmp_path_factory.mktemp("half"), servers=servers) as daemon:
        daemon.wait_servers("steady")
        yield daemon


def end_sending(wire):
    wire.sock.shutdown(socket.SHUT_WR)


def replies_until_the_end(wire):
    found = {}
    while (message := wire.recv()) is not None:
        if "id" in message:
            assert message["id"] not in found, "answered twice"
            found[message["id"]] = message
    return found


def pending(daemon):
    return daemon.ctl("approvals")[1]["approvals"]


def test_an_agents_open_requests(daemon):
    with agent(daemon) as wire:
        wire.send(
            {"op": "call", "id": 1, "calls": [SLEEP, SLEEP]},
            {"op": "use", "id": 2, "tool": "tool_call", "arguments": {"calls": [SLEEP]}},
            {"op": "assemble", "id": 3},
            {"op": "search", "id": 4, "queries": ["sleep"]},
        )
        end_sending(wire)
        found = replies_until_the_end(wire)
        assert found.keys() == {1, 2, 3, 4}
        assert found[1]["success_count"] == 2
        assert found[3]["tools"]


def test_requests_that_come_in_one_segment_with_the_hello(daemon):
    with Wire(daemon.runtime_dir / "agent.sock") as wire:
        wire.send({"op": "hello", "protocol": 1, "client": "x"}, {"op": "call", "id": 1, "calls": [SLEEP]})
        end_sending(wire)
        assert replies_until_the_end(wire)[1]["success_count"] == 1


def test_with_nothing_open_the_end_comes_at_once(daemon):
    with agent(daemon) as wire:
        began = time.monotonic()
        end_sending(wire)
        assert wire.recv() is None
        assert time.monotonic() - began < 5


def test_a_prompt_stands_until_its_agent_is_gone(daemon):
    with agent(daemon) as wire:
        wire.send({"op": "call", "id": 1, "calls": [ERASE]})
        (prompt,) = wait_until(lambda: pending(daemon))
        end_sending(wire)
        assert daemon.ctl("deny", prompt["approval"])[0] == 0
        assert replies_until_the_end(wire)[1]["results"][0]["error"]["code"] == "DENIED"
    with agent(daemon) as wire:
        wire.send({"op": "call", "id": 1, "calls": [{**ERASE, "arguments": {"again": 1}}]})
        wait_until(lambda: pending(daemon))
        end_sending(wire)
        assert pending(daemon)
    wait_until(lambda: not pending(daemon), what="its prompt withdrawn")


def test_what_only_the_agent_could_answer_is_not_waited_for(daemon):
    with agent(daemon, tools=[OWN]) as wire:
        wire.send({"op": "call", "id": 1, "calls": [{"name": "own_tool", "arguments": {}}]})
        assert wire.recv()["op"] == "call_requested"
        began = time.monotonic()
        end_sending(wire)
        assert replies_until_the_end(wire)[1]["results"][0]["error"]["code"] == "INDETERMINATE"
        assert time.monotonic() - began < 10


def test_a_persons_open_requests(daemon):
    with Wire(daemon.runtime_dir / "control.sock") as wire:
        with agent(daemon) as other:
            session = other.welcome["session"]
            wire.send(
                {"op": "doctor", "id": 1},
                {"op": "tokens", "id": 2, "session": session},
                {"op": "status", "id": 3},
            )
            end_sending(wire)
            assert replies_until_the_end(wire).keys() == {1, 2, 3}


def test_through_the_door(daemon):
    with DoorWire(daemon) as door:
        door.initialize()
        for number in (11, 12):
            door.tell("tools/call", id=number, name="tool_call", arguments={"calls": [SLEEP]})
        end_sending(door.wire)
        answers = [json.loads(line) for line in door.file]
        assert {answer["id"] for answer in answers if "id" in answer} == {11, 12}
        assert all("slept" in json.dumps(answer) for answer in answers if "id" in answer)


def test_through_the_door_a_stream_without_end_is_not_waited_for(daemon):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with DoorWire(daemon) as door:
        listening = {"toolsListChanged": True}
        door.tell("subscriptions/listen", id=1, notifications=listening, _meta=meta)
        assert "subscriptions" in door.file.readline().decode()
        began = time.monotonic()
        end_sending(door.wire)
        door.file.read()
        assert time.monotonic() - began < 10


def test_a_door_whose_client_is_gone_lets_its_call_go(daemon):
    with DoorWire(daemon) as door:
        door.initialize()
        door.tell(
            "tools/call", id=5, name="tool_call", arguments={"calls": [{**ERASE, "arguments": {"door": 1}}]}
        )
        wait_until(lambda: pending(daemon))
        end_sending(door.wire)
        assert pending(daemon)
    wait_until(lambda: not pending(daemon), what="its prompt withdrawn")
