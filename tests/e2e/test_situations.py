"""Situations that programs of this kind are met with in practice, and what a person expects of each.

The inputs are `tests/data/situations`, with the expectation in words; servers of all of them stand behind few
daemons. The kinds behind them are tested where they are built.
"""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import HERE, zoo
from tests.wire import DoorWire, agent

SITUATIONS = Path(__file__).parents[1] / "data" / "situations"
PLAIN = {"name": "tell", "description": "Tell what came.", "inputSchema": {"type": "object"}}


def situation(number):
    (file,) = SITUATIONS.glob(f"{number:02}-*")
    text = file.read_text("utf-8")
    return json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextmanager
def remote(mode):
    """The port of a forgetful server."""
    port = free_port()
    process = subprocess.Popen([sys.executable, HERE / "forgetful.py", str(port), mode])

    def answers():
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(answers, within_s=30, what="the server listening")
        yield port
    finally:
        process.kill()
        process.wait()


def scripted(root, name, script, **more):
    file = root / f"{name}.script.json"
    file.write_text(json.dumps(script))
    return zoo("scripted", file, **more)


def called(daemon, server, tool, arguments=None, **hello):
    """The slot of one call over the socket."""
    with agent(daemon, **hello) as wire:
        entry = {"name": f"mcp__{server}__{tool}", "arguments": arguments or {}}
        reply = wire.ask({"op": "call", "id": 1, "calls": [entry]})
        return reply["results"][0] if reply["op"] == "result" else reply


def texts(slot):
    assert "response" in slot, slot
    return [block["text"] for block in slot["response"]["content"]]


def told(slot):
    return json.loads(texts(slot)[0])


# --- servers on stdio, behind one daemon -----------------------------------------------------------

WRONG_SHAPES = situation(3)["lines"]
HANDSHAKES = situation(4)["answers"]
NO_CONTENT = situation(7)["results"]
PERSON = situation(10)["environment_of_the_person"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("situations")
    (root / "tools").mkdir()
    (root / "bin").mkdir()
    started = root / "bin" / "server"
    started.write_text(f'#!/bin/sh\nexec {sys.executable} -I {HERE / "scripted.py"} "$@"\n')
    started.chmod(0o755)
    lines = {f"t{number}": line for number, line in enumerate(WRONG_SHAPES)}
    empty = {f"t{number}": result for number, result in enumerate(NO_CONTENT)}
    list_tool = {"name": "list", "inputSchema": {"type": "object"}}
    optional = {"name": "find", "inputSchema": situation(19)["schema"]}
    (root / "one.json").write_text(json.dumps({"tools": [PLAIN]}))
    servers = {
        "shapes": scripted(root, "shapes", {"tools": [PLAIN | {"name": n} for n in lines], "lines": lines}),
        "empty": scripted(root, "empty", {"tools": [PLAIN | {"name": n} for n in empty], "results": empty}),
        "pages": scripted(root, "pages", {"pages": situation(5)["pages"]}),
        "lists": scripted(root, "lists", {"tools": [list_tool], "results": {"list": situation(6)["result"]}}),
        "slow": scripted(root, "slow", {"tools": [PLAIN | {"name": "wait"}], "slow": {"wait": [6, None]}}),
        "builder": scripted(
            root, "builder", {"tools": [PLAIN | {"name": "build"}], "slow": {"build": [6, 0.5]}}, timeout=3
        ),
        "plain": scripted(root, "plain", {"tools": [PLAIN]}),
        "own": scripted(root, "own", {"tools": [PLAIN]}, env={"HTTPS_PROXY": "http://own.example:1"}),
        "instructed": scripted(
            root,
            "instructed",
            {
                "initialize": {"instructions": situation(17)["initialize_answer"]["instructions"]},
                "tools": [PLAIN, PLAIN | {"name": "other"}],
            },
        ),
        "my-server": scripted(
            root, "hyphens", {"tools": [PLAIN | {"name": name} for name in situation(18)["tools"]]}
        ),
        "optional": scripted(root, "optional", {"tools": [optional]}),
        "rootless": scripted(root, "rootless", {"tools": [situation(20)["tool"]]}),
        "php": scripted(root, "php", {"tools": [situation(21)["tool"]]}),
        "tilde": {"command": "~/bin/server", "args": [str(root / "one.json")]},
        "tilde-cwd": scripted(root, "tilde-cwd", {"tools": [PLAIN]}, cwd="~/tools"),
        "tilde-args": {"command": sys.executable, "args": ["~/tools/server.py"]},
    }
    for name, answer in HANDSHAKES.items():
        known = name.replace(" ", "-")
        servers[known] = scripted(root, known, {"answer": answer, "tools": [PLAIN]})
    config = {"limits": situation(8)["limits"], "tools": {"tool_search": {"enabled": "on"}}}
    with DaemonProcess(root, servers=servers, config=config, env=PERSON) as daemon:
        daemon.wait_servers(*(name for name in servers if not name.startswith("tilde")))
        yield daemon


def test_03_an_answer_of_the_wrong_shape_ends_its_call_with_what_it_says(daemon):
    for number, line in enumerate(WRONG_SHAPES):
        began = time.monotonic()
        slot = called(daemon, "shapes", f"t{number}")
        assert time.monotonic() - began < 2.5, line
        if '"error"' in line:
            assert "project is missing" in slot["error"]["message"]
        else:
            assert "response" in slot, (line, slot)
    assert texts(called(daemon, "shapes", "t1"))[0] == "ok"


def test_04_a_handshake_that_leaves_out_what_nobody_uses_connects(daemon):
    for name in HANDSHAKES:
        assert told(called(daemon, name.replace(" ", "-"), "tell"))["arguments"] == {}


def test_05_the_empty_cursor_is_a_cursor(daemon):
    with agent(daemon) as wire:
        names = ["mcp__pages__first", "mcp__pages__second"]
        described = wire.ask({"op": "describe", "id": 1, "names": names})
        assert sorted(described["tools"]) == names
    assert "second" not in json.dumps(daemon.server("pages").get("findings", []))


def test_06_structured_content_that_is_a_list_reaches_a_client_of_the_door(daemon):
    (text,) = situation(6)["result"]["content"]
    with DoorWire(daemon) as door:
        door.initialize()
        result = door.call("tool_call", calls=[{"name": "mcp__lists__list", "arguments": {}}])
    assert not result.get("isError")
    assert result["content"][0] == text
    assert called(daemon, "lists", "list")["response"]["structuredContent"] == [{"id": 1}]


def test_07_a_result_without_content_is_an_empty_result(daemon):
    for number in range(len(NO_CONTENT)):
        slot = called(daemon, "empty", f"t{number}")
        assert slot["response"]["content"] == []
        assert not slot["response"].get("isError")
    with DoorWire(daemon) as door:
        door.initialize()
        result = door.call("tool_call", calls=[{"name": "mcp__empty__t0", "arguments": {}}])
    assert not result.get("isError")


def test_08_the_limit_of_a_call_is_in_force(daemon):
    began = time.monotonic()
    slot = called(daemon, "slow", "wait")
    assert slot["error"]["code"] == "INDETERMINATE"
    assert 2.5 < time.monotonic() - began < 5.5


def test_09_progress_keeps_a_call_alive(daemon):
    assert told(called(daemon, "builder", "build"))["arguments"] == {}


def test_10_variables_of_proxies_and_certificates_reach_servers(daemon):
    environment = told(called(daemon, "plain", "tell"))["environment"]
    assert {name: environment.get(name) for name in PERSON} == PERSON
    assert told(called(daemon, "own", "tell"))["environment"]["HTTPS_PROXY"] == "http://own.example:1"


def test_17_a_servers_instructions_reach_the_model(daemon):
    words = situation(17)["initialize_answer"]["instructions"]
    with agent(daemon) as wire:
        described = wire.ask({"op": "describe", "id": 1, "names": ["mcp__instructed__tell"]})
        assert words in json.dumps(described)
        again = wire.ask({"op": "describe", "id": 2, "names": ["mcp__instructed__other"]})
        assert words not in json.dumps(again)
        assert words.partition(".")[0][:40] in json.dumps(wire.ask({"op": "assemble", "id": 3}))
    with DoorWire(daemon) as door:
        door.initialize()
        assert words in json.dumps(door.call("tool_describe", names=["mcp__instructed__tell"]))


@pytest.mark.parametrize(
    "name", [*situation(18)["asked"][:4], "my-server/get-data", "mcp__my-server__list_items"]
)
def test_18_a_near_name_is_taken_where_one_tool_fits(daemon, name):
    right = "list" if "list" in name else "get"
    with agent(daemon) as wire:
        reply = wire.ask({"op": "call", "id": 1, "calls": [{"name": name, "arguments": {"a": 1}}]})
        (slot,) = reply["results"]
        assert told(slot)["arguments"] == {"a": 1}
        assert right in json.dumps({k: v for k, v in slot.items() if k != "response"})
        described = wire.ask({"op": "describe", "id": 2, "names": [name]})
        assert len(described["tools"]) == 1


def test_19_null_for_what_may_be_left_out_is_left_out(daemon):
    arguments = situation(19)["arguments"]
    assert told(called(daemon, "optional", "find", arguments))["arguments"] == {"query": "x"}
    refused = called(daemon, "optional", "find", {"query": None})
    assert refused["error"]["code"] == "INVALID_ARGUMENTS"


def test_20_a_schema_that_is_no_object_is_not_held_against_a_call(daemon):
    arguments = situation(20)["call"]["arguments"]
    assert told(called(daemon, "rootless", "lookup", arguments))["arguments"] == arguments


def test_21_properties_that_are_a_list_are_shown_as_a_provider_takes_them(daemon):
    with agent(daemon) as wire:
        described = wire.ask({"op": "describe", "id": 1, "names": ["mcp__php__list_sites"]})
        parameters = described["tools"]["mcp__php__list_sites"]["parameters"]
        assert parameters["type"] == "object"
        assert parameters["properties"] == {}
    assert told(called(daemon, "php", "list_sites"))["arguments"] == {}
    with agent(daemon, disclosure="direct") as wire:
        tools = wire.ask({"op": "assemble", "id": 1})["tools"]
        (shown,) = (t for t in tools if t["function"]["name"] == "mcp__php__list_sites")
        assert shown["function"]["parameters"]["properties"] == {}


def test_24_a_tilde_is_the_home_directory_in_command_and_cwd(daemon):
    daemon.wait_servers("tilde", "tilde-cwd", within_s=10)
    assert told(called(daemon, "tilde-cwd", "tell"))["cwd"] == str(daemon.root / "tools")
    wait_until(lambda: daemon.server("tilde-args")["state"] in ("failed", "parked"), what="it failed")
    said = [f for f in daemon.ctl("doctor")[1]["findings"] if "tilde-args" in json.dumps(f)]
    assert "~/tools/server.py" in json.dumps(said)
    assert "shell" in json.dumps(said)


# --- remote servers --------------------------------------------------------------------------------


def test_01_a_session_that_ended_is_begun_anew_and_the_call_sent_again(tmp_path):
    with remote("sessions") as port:
        servers = {"far": {"url": f"http://127.0.0.1:{port}/mcp"}}
        with DaemonProcess(tmp_path, servers=servers) as daemon:
            daemon.wait_servers("far")
            for text in ("a", "b", "c"):
                assert texts(called(daemon, "far", "echo", {"text": text})) == [text]
                request = urllib.request.Request(f"http://127.0.0.1:{port}/forget", b"", method="POST")
                urllib.request.urlopen(request).close()
            wait_until(lambda: daemon.server("far")["state"] == "ready")
            assert not daemon.server("far").get("last_error")


def test_22_a_refusal_in_the_middle_says_what_it_is_after_one_new_connect(tmp_path):
    with remote("tokens") as port:
        servers = {"far": {"url": f"http://127.0.0.1:{port}/mcp"}}
        with DaemonProcess(tmp_path, servers=servers) as daemon:
            daemon.wait_servers("far")
            assert texts(called(daemon, "far", "echo", {"text": "a"})) == ["a"]
            slot = called(daemon, "far", "echo", {"text": "b"})
            if "error" in slot:
                assert "401" in slot["error"]["message"]
                assert "login" in json.dumps(slot["error"]) or "token" in json.dumps(slot["error"])
            else:
                assert texts(slot) == ["b"]


# --- what stands in clients' files -------------------------------------------------------------------


def placed(root, files):
    for place, content in files.items():
        file = root / place.removeprefix("~/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))


AUTO = {"sources": "auto"}


def known(daemon, name):
    return wait_until(lambda: daemon.server(name), what=f"{name} known")


def test_11_an_env_file_is_read_and_its_change_restarts_the_server(tmp_path):
    case = situation(11)
    env_file = tmp_path / "person.env"
    entry = scripted(tmp_path, "tracker", {"tools": [PLAIN]}, envFile=str(env_file))
    placed(tmp_path, {case["file"]: {"mcpServers": {"tracker": entry}}})
    with DaemonProcess(tmp_path, config=AUTO) as daemon:
        assert known(daemon, "tracker")["state"] != "ready"
        env_file.write_text(case["env_file"])
        daemon.wait_servers("tracker")
        environment = told(called(daemon, "tracker", "tell"))["environment"]
        assert environment["TRACKER_TOKEN"] == "abc"
        assert environment["OTHER"] == "d e"
        env_file.write_text("TRACKER_TOKEN=new\n")

        def changed():
            slot = called(daemon, "tracker", "tell")
            return "response" in slot and told(slot)["environment"]["TRACKER_TOKEN"] == "new"

        wait_until(changed, what="the server started with the new file")
    assert "abc" not in daemon.log.read_text()


def test_12_an_inputs_placeholder_is_never_sent(tmp_path):
    case = situation(12)
    placed(tmp_path, {"xdg/Code/User/mcp.json": case["config"]})
    with DaemonProcess(tmp_path, config=AUTO) as daemon:
        server = wait_until(lambda: (s := daemon.server("api")) and s["state"] != "starting" and s)
        assert server["state"] == "not_started"
        assert server["reason"] == "needs input pat"
        assert "environment.file" in server["mend"]


def test_13_a_headers_helper_is_run_at_the_connect(tmp_path):
    case = situation(13)
    helper = tmp_path / "token"
    helper.write_text(f"#!/bin/sh\necho x >> {tmp_path}/ran\nprintf '%s' '{case['helper_prints']}'\n")
    helper.chmod(0o755)
    with remote("sessions") as port:
        entry = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "headersHelper": str(helper)}
        placed(tmp_path, {case["file"]: {"mcpServers": {"warehouse": entry}}})
        with DaemonProcess(tmp_path, config=AUTO) as daemon:
            daemon.wait_servers("warehouse")
            assert (tmp_path / "ran").read_text() == "x\n"
    assert "short-lived" not in daemon.log.read_text()


@pytest.mark.parametrize("switch", [situation(14)["config"]["mcp"], situation(14)["also"]["mcp"]])
def test_14_a_server_that_its_client_leaves_out_is_left_out(tmp_path, switch):
    case = situation(14)
    entries = {name: scripted(tmp_path, name, {"tools": [PLAIN]}) for name in case["config"]["mcpServers"]}
    placed(tmp_path, {case["file"]: {"mcp": switch, "mcpServers": entries}})
    with DaemonProcess(tmp_path, config=AUTO) as daemon:
        daemon.wait_servers("docs")
        assert daemon.server("prod-db")["state"] == "disabled"
        assert daemon.ctl("install", "gemini")[0] == 0
        time.sleep(0.5)
        daemon.wait_servers("docs")
        assert daemon.server("prod-db")["state"] == "disabled"


def test_15_an_agent_may_do_no_more_after_its_install(tmp_path):
    files = dict(situation(15)["files"])
    tools = [PLAIN | {"name": name} for name in ("close_issue", "delete_issue", "read_issue")]
    entry = scripted(tmp_path, "tracker", {"tools": tools})
    codex = "~/.codex/config.toml"
    files[codex] = files[codex].replace(
        'command = "tracker-mcp"',
        f"command = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}",
    )
    placed(tmp_path, files | {"~/.claude.json": {"mcpServers": {"tracker": entry}}})
    config = AUTO | {"approval": {"wait_s": 1}}
    with DaemonProcess(tmp_path, config=config) as daemon:
        daemon.wait_servers("tracker")
        for _ in range(2):
            for client in ("codex", "claude-code"):
                closed = called(daemon, "tracker", "close_issue", client=client)
                assert closed["error"]["code"] == "NO_APPROVER", closed
            deleted = called(daemon, "tracker", "delete_issue", client="claude-code")
            assert "error" in deleted
            assert "response" in called(daemon, "tracker", "read_issue", client="claude-code")
            assert daemon.ctl("install", "codex")[0] == 0
            assert daemon.ctl("install", "claude-code")[0] == 0
            time.sleep(0.5)
            daemon.wait_servers("tracker")


def test_16_each_clients_own_rule_holds_for_its_sessions_of_one_server(tmp_path):
    tools = [PLAIN | {"name": name} for name in ("convert_time", "get_time")]
    entry = scripted(tmp_path, "time", {"tools": tools})
    files = {
        place: {"mcpServers": {"time": content["mcpServers"]["time"] | entry}}
        for place, content in situation(16)["files"].items()
    }
    placed(tmp_path, files)
    with DaemonProcess(tmp_path, config=AUTO) as daemon:
        daemon.wait_servers("time")
        may = {
            (client, tool): "response" in called(daemon, "time", tool, client=client)
            for client in ("claude-code", "gemini-cli", "cursor", "somebody")
            for tool in ("convert_time", "get_time")
        }
        assert [key for key, value in may.items() if value] == [
            ("claude-code", "convert_time"),
            ("claude-code", "get_time"),
            ("gemini-cli", "get_time"),
            ("somebody", "get_time"),
        ]


def test_23_another_clients_section_or_key_is_named(tmp_path):
    case = situation(23)
    placed(tmp_path, {case["file"]: case["config"], "~/.codeium/windsurf/mcp_config.json": {"servers": {}}})
    placed(tmp_path, {"~/.claude.json": case["also_in_an_entry"]})
    done = subprocess.run(
        [BIN / "toolsearchd", "--check-config", "--config", str(tmp_path / "config.yaml")],
        env=DaemonProcess(tmp_path, config=AUTO).env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if ": warning: " in line]
    assert sum("mcpServers" in line and "servers that are not read" in line for line in said) == 1
    for wrong, right in (("serverUrl", "url"), ("environment", "env"), ("npx", "args")):
        (line,) = (line for line in said if wrong in line)
        assert right in line.replace(wrong, "")


def test_25_a_filter_that_matches_nothing_is_said(tmp_path):
    filters = {"tools": {"include": ["mcp__time__tell"]}}
    servers = {"time": scripted(tmp_path, "time", {"tools": [PLAIN]})}
    failing = {
        "tools": [PLAIN],
        "lines": {"tell": '{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"no"}}'},
    }
    servers["down"] = scripted(tmp_path, "down", failing)
    config = {"servers": {"time": servers["time"] | filters}}
    with DaemonProcess(tmp_path, servers=servers, config=config) as daemon:
        daemon.wait_servers("time", "down")
        status, reply = daemon.ctl("doctor")
        (finding,) = (found for found in reply["findings"] if found.get("kind") == "matches-nothing")
        assert status == 1
        assert "mcp__time__tell" in finding["message"]
        assert finding["mend"] == "write tell"
