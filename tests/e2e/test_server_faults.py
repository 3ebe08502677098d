"""Servers that misbehave at their start or in traffic cost themselves; one daemon holds them all at once."""

import os
import signal
import time

import pytest

from tests.daemon import DaemonProcess, processes_with, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent

MB = 1 << 20
MODES = (
    "hang hang_after_probe exit_0 exit_1 exit_by_signal garbage_without_newline odd_bytes wrong_ids "
    "asks_back old_version version_is_a_number modern_only silent_on_unknown slow_start "
    "needs_a_terminal wrapper ignores_sigterm stderr_flood huge_result odd_results bad_tools "
    "odd_answers odd_tools banner "
    "page_two_fails changes_storm progress_flood never_answers answers_late many_pages "
).split()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("zoo")
    plain = root / "plain.txt"
    plain.write_text("not a program")
    servers = {mode: zoo("misbehaving", mode, connect_timeout=10) for mode in MODES}
    servers["never_answers"]["timeout"] = 3
    servers |= {
        "absent": {"command": "/nonexistent/program"},
        "not_executable": {"command": str(plain)},
        "directory": {"command": str(root)},
        "steady": zoo("steady"),
    }
    config = {"limits": {"tools_per_server": 1000, "first_connect_delays_s": [0.5, 0.5, 0.5]}}
    with DaemonProcess(root, servers=servers, config=config) as daemon:
        daemon.wait_servers("steady", within_s=30)
        yield daemon


@pytest.fixture(autouse=True)
def others_unaffected(daemon):
    with agent(daemon) as probe:
        yield
        slot = call(probe, "mcp__steady__echo", text="hi")
        assert "error" not in slot
        assert slot["response"]["content"][0]["text"] == "hi"
        assert probe.ask({"op": "search", "id": 2, "queries": ["sleep seconds"]})["results"][0]["matches"]


def call(wire, name, **arguments):
    reply = wire.ask(
        {"op": "call", "id": time.monotonic_ns(), "calls": [{"name": name, "arguments": arguments}]}
    )
    return reply["results"][0]


def failed(daemon, name, within_s=45):
    return wait_until(
        lambda: (s := daemon.server(name)) and s["state"] in ("failed", "parked") and s,
        within_s=within_s,
        what=f"{name} failed",
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [("absent", "No such file"), ("not_executable", "ermission"), ("directory", "ermission")],
)
def test_a_command_that_cannot_start(daemon, name, words):
    assert words in failed(daemon, name)["reason"]


@pytest.mark.parametrize("name", ["hang", "hang_after_probe"])
def test_a_handshake_that_never_ends(daemon, name):
    assert "no handshake within 10 s" in failed(daemon, name)["reason"]


@pytest.mark.parametrize("name", ["exit_0", "exit_1", "exit_by_signal"])
def test_an_exit_during_the_handshake(daemon, name):
    server = failed(daemon, name)
    assert server["restarts"] >= 0
    if name == "exit_1":
        assert any("cannot find the frobnicator" in line for line in server["stderr_tail"])
        assert "frobnicator" in server["last_error"]
        assert "\x1b" not in str(server)


def test_garbage_without_an_end_is_not_collected(daemon):
    failed(daemon, "garbage_without_newline")
    assert daemon.rss_bytes() < 250 * MB


@pytest.mark.parametrize(
    "name", ["odd_bytes", "wrong_ids", "asks_back", "silent_on_unknown", "slow_start", "wrapper"]
)
def test_oddities_that_a_connection_survives(daemon, name):
    daemon.wait_servers(name, within_s=45)
    if name == "odd_bytes":
        assert daemon.server(name)["junk_lines"] >= 4


@pytest.mark.parametrize("name", ["old_version", "version_is_a_number"])
def test_a_protocol_that_nobody_speaks(daemon, name):
    assert failed(daemon, name)["reason"]


def test_a_server_of_the_newest_revision_only(daemon):
    daemon.wait_servers("modern_only", within_s=45)
    with agent(daemon) as wire:
        assert call(wire, "mcp__modern_only__echo")["response"]["content"][0]["text"] == "modern"


def test_no_server_has_a_terminal(daemon):
    assert failed(daemon, "needs_a_terminal")["reason"]


def test_a_wrappers_whole_tree_goes(daemon):
    daemon.wait_servers("wrapper", within_s=45)
    marker = f"TOOLSEARCHD_SERVER={daemon.process.pid}:wrapper:"
    before = set(wait_until(lambda: (p := processes_with(marker)) and len(p) >= 2 and p))
    daemon.ctl("restart", "wrapper")
    wait_until(lambda: not before & set(processes_with(marker)), within_s=10, what="the old tree gone")


def test_a_server_that_ignores_sigterm_is_killed(daemon):
    daemon.wait_servers("ignores_sigterm", within_s=45)
    pid = daemon.server("ignores_sigterm")["pid"]
    daemon.ctl("restart", "ignores_sigterm")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), within_s=10, what="the old process gone")


def test_a_flood_on_stderr_is_drained(daemon):
    daemon.wait_servers("stderr_flood", within_s=45)
    with agent(daemon) as wire:
        wire.sock.settimeout(60)
        assert call(wire, "mcp__stderr_flood__echo")["response"]["content"][0]["text"] == "after the flood"
    assert len(str(daemon.server("stderr_flood")["stderr_tail"])) < 128 * 1024


def test_a_result_past_the_line_limit(daemon):
    daemon.wait_servers("huge_result", within_s=45)
    with agent(daemon) as wire:
        wire.sock.settimeout(60)
        assert call(wire, "mcp__huge_result__echo")["error"]["code"] == "RESULT_TOO_LARGE"
        assert call(wire, "mcp__huge_result__echo", small=True)["response"]["content"][0]["text"] == "small"
    assert daemon.rss_bytes() < 250 * MB


@pytest.mark.parametrize(
    ("kind", "texts", "structured"),
    [
        ("surrogate", ["\ufffd", "NOTE"], None),
        ("infinity", ["NOTE"], {"x": None}),
        ("nan", ["NOTE"], {"x": None}),
        ("big_integer", [], {"x": "7" * 5000}),
        ("large_integer", ["NOTE"], {"x": str(2**70)}),
        ("no_content", [], None),
        ("null_content", [], None),
        ("text_content", ["all of it"], None),
        ("one_block", ["ok"], None),
        ("no_error", [], None),
    ],
)
def test_results_that_no_wire_can_hold_arrive(daemon, kind, texts, structured):
    """It costs that value, and a note says so; what was carried out is not called failed."""
    daemon.wait_servers("odd_results", within_s=45)
    with agent(daemon) as wire:
        response = call(wire, "mcp__odd_results__echo", kind=kind)["response"]
        said = [
            "NOTE" if "[toolsearchd:" in block["text"] else block["text"] for block in response["content"]
        ]
        assert said == texts
        assert response.get("structuredContent") == structured


def test_a_result_that_nests_too_deeply(daemon):
    daemon.wait_servers("odd_results", within_s=45)
    with agent(daemon) as wire:
        assert call(wire, "mcp__odd_results__echo", kind="deep")["error"]["code"] == "BAD_RESULT"


def test_a_block_of_an_unknown_type_is_passed_on(daemon):
    daemon.wait_servers("odd_results", within_s=45)
    with agent(daemon) as wire:
        slot = call(wire, "mcp__odd_results__echo", kind="unknown_block")
        assert slot["response"]["content"] == [{"type": "hologram", "data": 1}]


ANSWERS = (
    '{"jsonrpc":"2.0","id":ID,"result":[]}',
    '{"jsonrpc":"2.0","id":ID,"result":"ok"}',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":"INVALID_PARAMS","message":"project is missing"}}',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":1000000000000000000000,"message":"project is missing"}}',
    '{"jsonrpc":"2.0","id":ID,"error":"project is missing"}',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"project is missing \\ud800"}}',
    '{"jsonrpc":"1.0","id":"ID","error":{"message":"project is missing"}}',
    '{"id":ID,"result":{"content":[]}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"project is missing"}}',
    '[{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}]',
    '{"jsonrpc":"2.0","id":ID}',
)


def test_an_answer_of_the_wrong_shape_ends_its_call_at_once(daemon):
    daemon.wait_servers("odd_answers", within_s=45)
    with agent(daemon) as wire:
        for line in ANSWERS:
            slot = call(wire, "mcp__odd_answers__echo", line=line)  # at once: its timeout is five minutes
            if "error" in line:
                assert slot["error"]["code"] == "SERVER_ERROR", line
                assert "project is missing" in slot["error"]["message"]
            elif "result" in line:
                assert "response" in slot, line
            else:
                assert slot["error"]["code"] == "BAD_RESULT"
            assert "response" in call(
                wire, "mcp__odd_answers__echo", line=ANSWERS[0]
            )  # the breaker stays shut


def test_a_tool_that_holds_what_is_no_text_costs_itself(daemon):
    daemon.wait_servers("odd_tools", within_s=45)
    names = ["cut", "infinite", "large", "fine"]
    with agent(daemon) as wire:
        found = wire.ask({"op": "describe", "id": 1, "names": [f"mcp__odd_tools__{name}" for name in names]})
    assert set(found["tools"]) == {f"mcp__odd_tools__{name}" for name in names}
    assert "\ufffd" in found["tools"]["mcp__odd_tools__cut"]["description"]
    findings = str([f["message"] for f in daemon.ctl("doctor")[1]["findings"] if f["about"] == "odd_tools"])
    assert "tool mended: cut: description" in findings
    assert "tool left out" in findings  # the one whose very name is cut
    assert daemon.server("odd_tools")["tools"] == 4


def test_the_first_line_that_is_no_message_is_shown(daemon):
    status = wait_until(lambda: (s := daemon.server("banner"))["last_error"] and s["first_junk"] and s)
    assert status["first_junk"] == "ModuleNotFoundError: no module of this name"
    assert "ModuleNotFoundError" in status["last_error"]


def test_a_bad_tool_costs_itself(daemon):
    daemon.wait_servers("bad_tools", within_s=45)
    names = ["echo", "no_schema", "schema_true", "schema_list", "deep", "big"]
    with agent(daemon) as wire:
        found = wire.ask({"op": "describe", "id": 1, "names": [f"mcp__bad_tools__{name}" for name in names]})
        assert set(found["tools"]) == {f"mcp__bad_tools__{name}" for name in names}
        listing = wire.ask({"op": "assemble", "id": 2, "context_length": 10**6})["listing"]
        assert not any(char in listing for char in "\x1b\u202e\u200b\U000e0041")
    findings = str([f for f in daemon.ctl("doctor")[1]["findings"] if f["about"].startswith("bad_tools")])
    assert "not text" in findings
    assert "empty" in findings
    assert "deep" in findings


def test_a_broken_page_keeps_the_previous_list(daemon):
    daemon.wait_servers("page_two_fails", within_s=45)
    with agent(daemon) as wire:
        assert call(wire, "mcp__page_two_fails__second")["response"]
        wait_until(lambda: "page two is broken" in daemon.server("page_two_fails")["last_error"])
        assert call(wire, "mcp__page_two_fails__second")["response"]


def test_a_storm_of_changes_ends_at_the_last_one(daemon):
    daemon.wait_servers("changes_storm", within_s=45)
    with agent(daemon) as wire:
        assert call(wire, "mcp__changes_storm__echo_0")["response"]
        wait_until(lambda: daemon.ctl("describe", "changes_storm/echo_1000")[0] == 0, within_s=10)


def test_a_flood_of_progress_is_thinned(daemon):
    daemon.wait_servers("progress_flood", within_s=45)
    with agent(daemon) as wire:
        wire.sock.settimeout(60)
        wire.ask({"op": "subscribe", "id": 1, "events": ["progress"]})
        wire.send({"op": "call", "id": 2, "calls": [{"name": "mcp__progress_flood__echo"}]})
        began, events = time.monotonic(), 0
        while "id" not in (message := wire.recv()):
            events += message["op"] == "progress"
        assert message["success_count"] == 1
        assert events <= 4 * (time.monotonic() - began) + 5  # a burst of four first


def test_a_call_that_is_never_answered(daemon):
    daemon.wait_servers("never_answers", within_s=45)
    with agent(daemon) as wire:
        slot = call(wire, "mcp__never_answers__echo")
        assert slot["error"]["code"] == "INDETERMINATE"
        assert daemon.server("never_answers")["state"] == "ready"


def test_a_stopped_process_is_a_call_never_answered(daemon):
    daemon.wait_servers("never_answers", within_s=45)
    pid = daemon.server("never_answers")["pid"]
    os.kill(pid, signal.SIGSTOP)
    daemon.ctl("restart", "never_answers")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), within_s=10, what="the stopped process killed")
    daemon.wait_servers("never_answers", within_s=45)


def test_a_late_answer_is_dropped(daemon):
    daemon.wait_servers("answers_late", within_s=45)
    with agent(daemon) as wire, agent(daemon) as other:

        def waiting_there():
            return call(other, "mcp__answers_late__echo", now=True)["response"]["content"][0]["text"]

        wire.send({"op": "call", "id": 1, "calls": [{"name": "mcp__answers_late__echo"}]})
        wait_until(lambda: waiting_there() == "1 before")
        assert wire.ask({"op": "stop", "id": 2})["running"] == 1
        assert wire.recv()["results"][0]["error"]["code"] == "INDETERMINATE"
        assert call(wire, "mcp__answers_late__echo", now=True)["response"]["content"][0]["text"] == "1 before"


def test_tools_past_the_limit_are_left_out_visibly(daemon):
    daemon.wait_servers("many_pages", within_s=60)
    assert daemon.server("many_pages")["tools"] == 1000
    assert "many_pages" in str(daemon.ctl("doctor")[1]["findings"])


def test_a_crash_loop_is_parked_and_burns_nothing(daemon):
    wait_until(lambda: (daemon.server("exit_1") or {}).get("state") == "parked", within_s=60)
    assert daemon.server("exit_1")["restarts"] <= 6
