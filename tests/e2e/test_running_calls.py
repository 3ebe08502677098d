"""When a call is sent: beside which others, in whose turn, and what a stop finds that was not sent yet."""

import json

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import Wire, agent


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {
        "one": {"max_concurrency": 1, "supports_parallel_tool_calls": True},
        "many": {"supports_parallel_tool_calls": True},
        "plain": {},
        "doubted": {"trust": "untrusted", "approval": "allow"},
    }
    servers = {name: zoo("steady", env={"NAME": name}, **keys) for name, keys in servers.items()}
    with DaemonProcess(tmp_path_factory.mktemp("running"), servers=servers) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


@pytest.fixture
def connect(daemon):
    wires = []

    def connected():
        wires.append(agent(daemon))
        wires[-1].sock.settimeout(30)
        return wires[-1]

    yield connected
    for wire in wires:
        wire.close()


def entry(server, tool, **arguments):
    return {"name": f"mcp__{server}__{tool}", "arguments": arguments}


def sleep(server, s):
    return entry(server, "sleep", s=s)


def send(wire, *calls, id="c"):
    wire.send({"op": "call", "id": id, "calls": list(calls)})


def results(wire, id="c"):
    while (reply := wire.recv()).get("id") != id:
        pass
    return reply["results"]


def codes(found):
    return [result.get("error", {}).get("code") for result in found]


def in_flight(daemon, server, count):
    wait_until(lambda: daemon.server(server)["in_flight"] == count, what=f"{count} calls at {server}")


def test_a_stop_finds_what_waits_for_its_servers_turn_unsent(daemon, connect):
    running, waiting = connect(), connect()
    send(running, sleep("one", 3))
    in_flight(daemon, "one", 1)
    send(waiting, entry("one", "echo", text="x"), entry("one", "echo", text="y"))
    wait_until(lambda: daemon.server("one")["queued"] == 2, what="two calls that wait")
    waiting.send({"op": "stop", "id": 1})
    replies = {(reply := waiting.recv())["id"]: reply for _ in range(2)}
    assert (replies[1]["interrupted"], replies[1]["running"]) == (2, 0)
    assert codes(replies["c"]["results"]) == ["INTERRUPTED", "INTERRUPTED"]
    assert daemon.server("one")["queued"] == 0
    assert codes(results(running)) == [None]


def test_a_stop_finds_what_waits_for_its_server_unsent(tmp_path):
    late = zoo("steady", "--delay", "3")
    with DaemonProcess(tmp_path, servers={"late": late}) as before:
        before.wait_servers("late")
        wait_until(lambda: before.ctl("search", "echo")[1]["results"][0]["matches"], what="its tools")
    with DaemonProcess(tmp_path, servers={"late": late | {"start": "lazy"}}) as late:
        late.wait_servers("late", state="not_started")
        with agent(late) as wire:
            wire.send({"op": "call", "id": "c", "calls": [entry("late", "echo", text="x")]})
            wait_until(lambda: late.server("late")["state"] == "starting", what="the start")
            wire.send({"op": "stop", "id": 1})
            replies = {(reply := wire.recv())["id"]: reply for _ in range(2)}
    assert (replies[1].get("interrupted"), codes(replies["c"]["results"])) == (1, ["INTERRUPTED"])


def test_entries_run_at_once_where_the_server_takes_that(daemon, connect):
    wire = connect()
    send(wire, *(sleep("many", 2) for _ in range(5)))
    in_flight(daemon, "many", 5)
    assert codes(results(wire)) == [None] * 5


def test_entries_run_in_turn_where_nobody_says_that_they_may_not(daemon, connect):
    wire, feed = connect(), Wire(daemon.runtime_dir / "control.sock")
    with feed:
        feed.ask({"op": "watch", "id": 1})
        send(wire, *(sleep("plain", 0.1) for _ in range(3)))
        results(wire)
        steps = []
        while steps.count("call") < 3:
            event = feed.recv()
            if event.get("tool") == "mcp__plain__sleep" and event["step"] in ("sent", "call"):
                steps.append(event["step"])
    assert steps == ["sent", "call"] * 3


def test_slots_come_in_order_and_one_that_fails_is_alone_with_it(daemon, connect):
    wire = connect()
    send(
        wire,
        sleep("many", 0.5),
        entry("many", "fail"),
        entry("none", "none"),
        entry("many", "echo"),
        entry("many", "echo", text="last"),
    )
    found = results(wire)
    assert codes(found) == [None, "TOOL_ERROR", "TOOL_NOT_FOUND", "INVALID_ARGUMENTS", None]
    assert [result["index"] for result in found] == list(range(5))
    assert found[4]["response"]["content"][0]["text"] == "last"


def test_what_only_reads_runs_at_once_on_a_trusted_server(daemon, connect):
    wire, feed = connect(), Wire(daemon.runtime_dir / "control.sock")

    def steps_of(server):
        send(wire, *(entry(server, "echo", text=str(n)) for n in range(6)), sleep(server, 0.05))
        results(wire)
        steps = []
        while len(steps) < 14:
            event = feed.recv()
            if event.get("tool", "").startswith(f"mcp__{server}__") and event["step"] in ("sent", "call"):
                steps.append(event["step"])
        return steps

    with feed:
        feed.ask({"op": "watch", "id": 1})
        assert steps_of("doubted") == ["sent", "call"] * 7
        assert steps_of("plain")[:2] == ["sent", "sent"]
        assert steps_of("plain")[-2:] == ["sent", "call"]  # what may write waits for all of them


def test_one_agents_batch_does_not_keep_another_waiting(daemon, connect):
    greedy, modest = connect(), connect()
    send(greedy, *(sleep("one", 0.3) for _ in range(20)))
    in_flight(daemon, "one", 1)
    send(modest, entry("one", "echo", text="me too"))
    assert codes(results(modest)) == [None]
    assert daemon.server("one")["queued"] > 10
    greedy.send({"op": "stop", "id": 1})
    found = codes(results(greedy))
    assert found.count("INTERRUPTED") > 10
    assert found.count("INDETERMINATE") == 1


def test_a_read_is_sent_again_after_its_server_went_away(tmp_path):
    calls, tools = tmp_path / "calls", tmp_path / "tools.json"
    tool = {"inputSchema": {"type": "object"}}
    tools.write_text(
        json.dumps(
            [{**tool, "name": "read", "annotations": {"readOnlyHint": True}}, {**tool, "name": "write"}]
        )
    )
    servers = {
        name: zoo("misbehaving", "dies_at_the_first_call", calls.with_suffix(f".{name}"), tools, **more)
        for name, more in (("reader", {}), ("writer", {}), ("doubted", {"trust": "untrusted"}))
    }
    config = {"approval": {"default": "allow"}}
    with DaemonProcess(tmp_path, servers=servers, config=config) as daemon:
        daemon.wait_servers(*servers)
        with agent(daemon) as wire:
            wire.sock.settimeout(30)
            send(wire, entry("reader", "read"), entry("writer", "write"), entry("doubted", "read"))
            found = results(wire)
    assert codes(found) == [None, "INDETERMINATE", "INDETERMINATE"]
    assert found[1]["error"]["outcome_uncertain"] is True
    sent = [len(calls.with_suffix(f".{name}").read_text().split()) for name in servers]
    assert sent == [2, 1, 1]
