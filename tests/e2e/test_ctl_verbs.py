"""Each verb of toolsearchctl against a real daemon, as people and as programs read it."""

import json
import os
import signal
import subprocess
import threading

import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo
from toolsearchd.client import Client
from toolsearchd.errors import ToolsearchdError

ECHO = "mcp__steady__echo"
ESCAPES = "\x1b]0;owned\x07\x1b[31m"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("verbs")
    hostile = root / "tools.json"
    described = {"name": "paint", "description": f"{ESCAPES}Paint a wall.", "inputSchema": {"type": "object"}}
    hostile.write_text(json.dumps([described]))
    servers = {
        "steady": zoo("steady"),
        "hostile": zoo("steady", "--tools-from", hostile),
        "absent": {"command": "/nonexistent/server"},
    }
    config = {
        "tools": {"tool_search": {"enabled": "on"}},
        "profiles": {"none": {"servers": []}},
        "approval": {"wait_s": 0},
    }
    with DaemonProcess(root, servers=servers, config=config) as daemon:
        daemon.wait_servers("steady", "hostile")
        daemon.wait_servers("absent", state="failed")
        yield daemon


def people(daemon, *words, status=0):
    """What a person sees."""
    done = subprocess.run(
        [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, *words],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    return done.stdout if status == 0 else done.stdout + done.stderr


def rows(text):
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


@pytest.fixture
def agent(daemon):
    with Client(client="an-agent", runtime_dir=daemon.runtime_dir, timeout_s=60, cwd="/tmp") as agent:
        yield agent


def test_status(daemon, agent):
    text = people(daemon, "status")
    assert f"pid {daemon.process.pid}" in text
    assert "2 ready" in text
    assert "an-agent" in text
    status, reply = daemon.ctl("status")
    assert status == 0
    assert reply["servers"] == {"ready": 2, "failed": 1}
    assert reply["pid"] == daemon.process.pid
    (session,) = [session for session in reply["sessions"] if session["client"] == "an-agent"]
    assert session["why"]


def test_servers(daemon):
    listed = rows(people(daemon, "servers"))
    assert listed["NAME"].split()[:3] == ["NAME", "STATE", "TRANSPORT"]
    assert " ready " in listed["steady"]
    assert " failed " in listed["absent"]
    one = people(daemon, "servers", "absent", "--origins")
    assert "/nonexistent/server" in one
    assert str(daemon.servers_file) in one
    _, reply = daemon.ctl("servers", "steady")
    (server,) = reply["servers"]
    assert (server["name"], server["state"], server["tools"]) == ("steady", "ready", 7)
    assert "UNKNOWN_SERVER" in people(daemon, "servers", "nobody", status=1)


def test_search(daemon):
    text = people(daemon, "search", "echo a text", "paint a wall", "--limit", "1")
    assert "echo a text:" in text
    assert ECHO in text
    assert "Paint a wall." in text
    _, reply = daemon.ctl("search", "echo a text", "paint a wall", "--limit", 1)
    assert [group["matches"] for group in reply["results"]] == [[ECHO], ["mcp__hostile__paint"]]
    assert {"generation", "total_available", "tools"} <= reply.keys()


def test_a_search_that_finds_nothing_says_what_is_there(daemon):
    text = people(daemon, "search", "zzyzx")
    assert "zzyzx" in text
    assert "absent" in text  # a server that is down is named too


def test_an_unknown_profile_is_an_error(daemon):
    status, reply = daemon.ctl("search", "echo a text", "--profile", "nobody")
    assert (status, reply["error"]["code"]) == (1, "BAD_ARGUMENTS")
    _, reply = daemon.ctl("search", "echo a text", "--profile", "none")
    assert reply["tools"] == {}


@pytest.mark.parametrize("form", [ECHO, "steady/echo", "steady:echo", "MCP__Steady__Echo", "echo"])
def test_describe_and_call_take_any_form_of_a_name(daemon, form):
    _, reply = daemon.ctl("describe", form)
    assert reply["tools"][ECHO]["parameters"]["required"] == ["text"]
    assert people(daemon, "call", form, '{"text": "a nonce"}') == "a nonce\n"


def test_describe_for_people(daemon):
    text = people(daemon, "describe", ECHO)
    assert "Echo a text back." in text
    assert '"required"' in text
    assert "not found: mcp__steady__ecko; near: mcp__steady__echo" in people(
        daemon, "describe", "mcp__steady__ecko", status=1
    )


def test_call_exit_statuses(daemon):
    status, reply = daemon.ctl("call", ECHO, '{"text": "x"}')
    assert (status, reply["success_count"]) == (0, 1)
    assert "TOOL_ERROR" in people(daemon, "call", "mcp__steady__fail", status=1)
    assert "NO_APPROVER" in people(daemon, "call", "mcp__steady__erase", status=1)
    assert "TOOL_NOT_FOUND" in people(daemon, "call", "mcp__steady__nothing", status=1)
    assert "INVALID_ARGUMENTS" in people(daemon, "call", ECHO, '{"text": {}}', status=1)
    status, reply = daemon.ctl("call", "mcp__steady__fail")
    assert (status, reply["error_count"]) == (1, 1)
    assert people(daemon, "call", ECHO, json.dumps({"text": f"{ESCAPES}safe"})) == "safe\n"


def test_listing(daemon):
    text = people(daemon, "listing")
    assert "tool_search" in text
    assert ECHO in text
    assert "tier 1" in text
    assert "absent" in text
    _, reply = daemon.ctl("listing", "--context", 200_000)
    names = [tool["function"]["name"] for tool in reply["tools"]]
    assert names == ["tool_search", "tool_describe", "tool_call"]
    assert reply["deferred_count"] == 8
    status, reply = daemon.ctl("listing", "--dialect", "hermes")
    assert status == 0
    status, reply = daemon.ctl("listing", "--dialect", "klingon")
    assert (status, reply["error"]["code"]) == (1, "BAD_ARGUMENTS")


def test_sessions(daemon, agent):
    assert "an-agent" in people(daemon, "sessions")
    _, reply = daemon.ctl("sessions")
    (session,) = [session for session in reply["sessions"] if session["client"] == "an-agent"]
    assert session["pid"] == os.getpid()
    assert session["cwd"] == "/tmp"


def test_stop_ends_one_sessions_call(daemon, agent):
    replies = []
    calls = [{"name": "mcp__steady__sleep", "arguments": {"s": 300}}]
    asking = threading.Thread(target=lambda: replies.append(agent.call(calls)))
    asking.start()
    wait_until(lambda: daemon.server("steady")["in_flight"] == 1, what="the call running")
    assert "UNKNOWN_SESSION" in people(daemon, "stop", "nobody", status=1)
    assert "1 were running" in people(daemon, "stop", agent.welcome["session"])
    asking.join(20)
    assert replies[0]["results"][0]["error"]["code"] == "INDETERMINATE"
    _, reply = daemon.ctl("stop")
    assert (reply["interrupted"], reply["running"]) == (0, 0)


@pytest.mark.parametrize("as_json", [False, True])
def test_watch_shows_real_names_until_interrupted(daemon, agent, as_json):
    command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "watch"]
    watching = subprocess.Popen(
        command + ["--json"] * as_json,
        env=daemon.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = []

    def one_call():
        """The lines of the first call that was watched from its beginning."""
        lines = [line for line in list(seen) if ECHO in line]
        begins = next((at for at, line in enumerate(lines) if "received" in line), len(lines))
        return lines[begins : begins + 3]

    reader = threading.Thread(target=lambda: seen.extend(iter(watching.stdout.readline, "")))
    reader.start()
    try:

        def told():
            agent.call([{"name": ECHO, "arguments": {"text": "x"}}])
            return len(one_call()) == 3

        wait_until(told, what="the call shown")
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 130
        reader.join(10)
    assert watching.stderr.read() == ""
    watching.stdout.close()
    watching.stderr.close()
    received, sent, call = one_call()
    if as_json:
        assert [json.loads(line)["step"] for line in (received, sent, call)] == ["received", "sent", "call"]
        event = json.loads(call)
        assert (event["client"], event["outcome"]) == ("an-agent", "ok")
    else:
        assert call.startswith("an-agent ")
        assert call.endswith(" ok\n")


def test_restart(daemon):
    before = daemon.server("steady")["pid"]
    assert "starting again" in people(daemon, "restart", "steady")
    wait_until(lambda: daemon.server("steady")["pid"] not in (before, None), what="another process")
    daemon.wait_servers("steady")
    assert "UNKNOWN_SERVER" in people(daemon, "restart", "nobody", status=1)


def test_reload_and_doctor_tell_of_a_broken_file(daemon):
    good = daemon.servers_file.read_text()
    try:
        daemon.servers_file.write_text(good[: len(good) // 2])
        text = people(daemon, "reload", status=1)
        assert "changed: nothing" in text
        assert str(daemon.servers_file) in text
        _, reply = daemon.ctl("doctor")
        assert any(str(daemon.servers_file) in finding["message"] for finding in reply["findings"])
        assert all(finding["mend"] for finding in reply["findings"])
        assert "/nonexistent/server" in people(daemon, "doctor", status=1)
        assert people(daemon, "call", ECHO, '{"text": "still here"}') == "still here\n"
    finally:
        daemon.servers_file.write_text(good)
    assert people(daemon, "reload") == "changed: nothing\n"


def test_a_daemon_that_does_not_answer_is_no_daemon(daemon):
    with Client(client="patient", runtime_dir=daemon.runtime_dir, timeout_s=0.2) as client:
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(ToolsearchdError, match=r"within 0\.2 s"):
                client.ping()
        finally:
            daemon.process.send_signal(signal.SIGCONT)


def test_watch_ends_with_the_daemon(tmp_path):
    with DaemonProcess(tmp_path) as daemon:
        watching = subprocess.Popen(
            [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "watch"],
            env=daemon.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Its connection is accepted before the daemon stops, or it finds none: the same answer.
        daemon.ctl("status")
        daemon.stop()
        _, said = watching.communicate(timeout=20)
    assert watching.returncode == 3
    assert "NO_DAEMON" in said
