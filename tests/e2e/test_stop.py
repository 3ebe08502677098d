"""What a stop may be said of, and what a call that waits for its server's turn meets there."""

import json

import pytest

from tests.daemon import wait_until
from tests.e2e.test_approvals import Calling, erase, started
from tests.servers.zoo import zoo

SLEEP, ECHO = "mcp__one__sleep", "mcp__one__echo"


def write_tools(file, description):
    schema = {"type": "object"}
    tools = [{"name": name, "description": description, "inputSchema": schema} for name in ("sleep", "echo")]
    new = file.with_suffix(".new")
    new.write_text(json.dumps(tools))
    new.replace(file)


@pytest.fixture
def daemon(tmp_path):
    """With a server that takes one call at a time and offers what a file says."""
    tools = tmp_path / "tools.json"
    write_tools(tools, "At first.")
    one = zoo("steady", "--tools-from", tools)
    config = {"approval": {"wait_s": 30}, "servers": {"one": one | {"max_concurrency": 1}}}
    with started(tmp_path, config) as daemon:
        daemon.wait_servers("one")
        daemon.tools_file = tools
        yield daemon
        daemon.close_agents()


def test_stops_of_what_is_not_open(daemon):
    call = Calling(daemon, erase(n=1))
    daemon.pending()
    other = daemon.agent()
    assert other.ask({"op": "stop", "id": 1, "batch": "c"})["code"] == "UNKNOWN_BATCH"  # not its own
    assert other.ask({"op": "stop", "id": 2})["interrupted"] == 0
    daemon.pending()
    call.wire.send({"op": "stop", "id": 1, "batch": "c"}, {"op": "stop", "id": 2, "batch": "c"})
    replies = {}
    while len(replies) < 3:
        reply = call.wire.recv()
        replies[reply["id"]] = reply
    assert replies["c"]["results"][0]["error"]["code"] == "INTERRUPTED"
    assert replies[1]["interrupted"] == 1
    again = replies[2]
    assert again.get("interrupted") == 0 or again.get("code") == "UNKNOWN_BATCH"
    assert call.wire.ask({"op": "stop", "id": 3, "batch": "never"})["code"] == "UNKNOWN_BATCH"


def test_a_tool_that_changes_while_a_call_waits_for_its_servers_turn(daemon):
    running = Calling(daemon, {"name": SLEEP, "arguments": {"s": 8}})
    wait_until(lambda: daemon.server("one")["in_flight"] == 1, what="the call that runs")
    waiting = Calling(daemon, {"name": ECHO, "arguments": {"text": "x"}})
    write_tools(daemon.tools_file, "Another one.")
    reader = daemon.agent()
    ask = {"op": "describe", "id": 1, "names": [ECHO]}
    wait_until(lambda: "Another" in str(reader.ask(ask)["tools"]), within_s=7, what="the new definition")
    assert waiting.result()["error"]["code"] == "TOOL_CHANGED"
    assert running.result()["response"]
