"""After its warm-up the daemon imports nothing: an install may move, descriptors may be used up."""

import sys

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import DoorWire, Wire, agent

LAUNCHER = """
import os, sys

watching, told = {watching!r}, open({told!r}, "w", buffering=1)

def hook(event, arguments):
    if event == "import" and os.access(watching, os.F_OK):
        told.write(arguments[0] + "\\n")

sys.addaudithook(hook)
from toolsearchd.__main__ import main
main()
"""
VERBS = ("status", "servers", "sessions", "doctor", "journal", "approvals", "reload")
ECHO = {"name": "mcp__steady__echo", "arguments": {"text": "hi"}}


def test_nothing_is_imported_for_the_first_time_while_serving(tmp_path):
    watching, told = tmp_path / "watching", tmp_path / "imports"
    launcher = tmp_path / "launch.py"
    launcher.write_text(LAUNCHER.format(watching=str(watching), told=str(told)))
    hook = {"command": [sys.executable, "-c", "print('{}')"]}
    config = {"approval": {"default": "ask-destructive"}, "hooks": {"pre_call": [hook], "post_call": [hook]}}
    daemon = DaemonProcess(tmp_path, servers={"steady": zoo("steady")}, config=config)
    daemon.program = [str(launcher)]
    with daemon, Wire(daemon.runtime_dir / "control.sock") as control:
        daemon.wait_servers("steady")
        wait_until(lambda: "warmed up" in daemon.log.read_text())
        watching.touch()
        ask_everything(daemon, control)
    assert told.read_text().split() == []


def ask_everything(daemon, control):
    for dialect in ("default", "hermes", "hermes-v1", "openclaw", "openclaw-catalog", "deepagents"):
        with agent(daemon, dialect=dialect) as wire:
            if wire.welcome["op"] != "welcome":
                continue
            use_tools(wire)
    with DoorWire(daemon) as door:
        door.initialize()
        door.ask("tools/list")
        door.ask("tools/call", name="tool_search", arguments={"queries": ["echo"]})
        door.ask("tools/call", name="tool_call", arguments={"calls": [ECHO]})
        door.ask("resources/list")
        door.ask("prompts/list")
    for number, verb in enumerate(VERBS):
        assert control.ask({"op": verb, "id": number})["op"] == "result", verb
    remote = {"url": "http://127.0.0.1:9/mcp"}
    daemon.write_servers({"steady": zoo("steady"), "away": remote, "odd": {"command": 5}})
    wait_until(lambda: daemon.server("away"))
    wait_until(lambda: daemon.server("away")["state"] != "starting")
    daemon.write_config(daemon.config | {"unknwon": 1})
    assert control.ask({"op": "reload", "id": 100})["problems"]
    daemon.process.send_signal(10)


def use_tools(wire):
    wire.ask({"op": "assemble", "id": 1, "context_length": 20_000})
    wire.ask({"op": "search", "id": 2, "queries": ["echo", "nothing like it"]})
    wire.ask({"op": "describe", "id": 3, "names": ["mcp__steady__echo", "mcp__steady__ecko"]})
    calls = [
        {"name": "mcp__steady__echo", "arguments": {"text": "hi"}},
        {"name": "mcp__steady__echo", "arguments": {"text": 5, "more": []}},
        {"name": "mcp__steady__echo", "arguments": '{"text": "hi"}'},
        {"name": "mcp__steady__nothing", "arguments": {}},
    ]
    wire.ask({"op": "call", "id": 4, "calls": calls})
    wire.ask({"op": "explain", "id": 5, "query": "echo", "tool": "mcp__steady__echo"})
    wire.ask({"op": "use", "id": 6, "tool": "tool_search", "arguments": {"queries": ["echo"]}})
