"""A limit that the config changes has its effect."""

import json

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent

LIMITS = {"queries_per_search": 2, "names_per_describe": 3, "analysed_bytes": 60, "call_timeout_s": 1}
LONG = {"name": "survey", "description": f"Measure the land. {'It takes a while. ' * 5}Theodolite."}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("limits")
    tools = root / "tools.json"
    tools.write_text(json.dumps([LONG]))
    servers = {"desk": zoo("steady", "sleep"), "land": zoo("steady", "--tools-from", str(tools))}
    with DaemonProcess(root, servers=servers, config={"limits": LIMITS}) as daemon:
        daemon.wait_servers("desk", "land")
        yield daemon


@pytest.fixture
def wire(daemon):
    with agent(daemon) as wire:
        yield wire


def test_queries_and_names_of_one_request(wire):
    assert wire.ask({"op": "search", "id": 1, "queries": ["a", "b"]})["op"] == "result"
    over = wire.ask({"op": "search", "id": 2, "queries": ["a", "b", "c"]})
    assert (over["code"], "2" in over["message"]) == ("TOO_MANY", True)
    assert wire.ask({"op": "describe", "id": 3, "names": ["a", "b", "c"]})["op"] == "result"
    assert wire.ask({"op": "describe", "id": 4, "names": ["a", "b", "c", "d"]})["code"] == "TOO_MANY"


def test_the_model_is_told_of_them(wire):
    tools = {
        tool["function"]["name"]: tool["function"] for tool in wire.ask({"op": "assemble", "id": 1})["tools"]
    }
    parameters = {name: tools[name]["parameters"]["properties"] for name in ("tool_search", "tool_describe")}
    assert parameters["tool_search"]["queries"]["maxItems"] == 2
    assert parameters["tool_describe"]["names"]["maxItems"] == 3


@pytest.mark.parametrize(("word", "found"), [("measure", ["mcp__land__survey"]), ("theodolite", [])])
def test_so_much_of_a_description_is_analysed(wire, word, found):
    assert wire.ask({"op": "search", "id": 1, "queries": [word]})["results"][0]["matches"] == found


def test_a_call_is_waited_for_so_long(wire):
    reply = wire.ask({"op": "call", "id": 1, "calls": [{"name": "mcp__desk__sleep", "arguments": {"s": 20}}]})
    error = reply["results"][0]["error"]
    assert (error["code"], "within 1 s" in error["message"]) == ("INDETERMINATE", True)


def test_what_needs_a_restart_is_said_until_there_is_one(tmp_path):
    limits = {"sessions": 20, "sweep_s": 5.0}
    servers = {"desk": zoo("steady", "echo"), "bench": zoo("steady", "pid")}
    servers["bench"]["pass_env"] = ["COLOUR"]
    with DaemonProcess(tmp_path, servers=servers, config={"limits": limits}) as daemon:
        daemon.wait_servers("desk", "bench")
        assert daemon.ctl("reload")[1]["needs_restart"] == []
        daemon.write_config(daemon.config | {"limits": {"sessions": 30, "sweep_s": 4.0}})
        daemon.write_servers(servers | {"desk": servers["desk"] | {"pass_env": ["COLOUR"]}})
        status, reply = daemon.ctl("reload")
        assert status == 0
        limit, variables = sorted(reply["needs_restart"], reverse=True)
        assert limit == "limits.sessions stays 20 until the daemon is started again; the config says 30"
        assert variables.startswith("desk runs with the variables passed on before")
        assert "COLOUR" in variables
        for message in (limit, variables):
            assert daemon.log.read_text().count(message) == 1
            assert message in daemon.ctl("status")[1]["problems"]
        findings = {finding["message"]: finding["mend"] for finding in daemon.ctl("doctor")[1]["findings"]}
        assert findings[limit] == "start the daemon again"
        assert findings[variables] == "`toolsearchctl restart desk`"
        assert daemon.ctl("restart", "desk")[0] == 0
        wait_until(lambda: daemon.ctl("reload")[1]["needs_restart"] == [limit])
        daemon.write_config(daemon.config)
        assert daemon.ctl("reload")[1]["needs_restart"] == []
