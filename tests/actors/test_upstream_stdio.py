"""Servers of the zoo under a fleet: what each costs, and whom."""

import json
import os
import signal
import time

import pytest
import trio

from tests.actors.upstream_world import World, misbehaving, refused, steady, text, until
from tests.daemon import processes_with
from toolsearchd.errors import ToolsearchdError

# --- starting -----------------------------------------------------------------------------------------


async def test_a_working_directory_that_is_missing_is_named(nursery):
    world = await World(steady(cwd="/nonexistent/place")).start(nursery)
    status = await world.reach("steady", "failed")
    assert "/nonexistent/place: No such file or directory" in status["reason"]


async def test_an_exit_during_the_handshake_is_told_at_once_and_says_how(nursery):
    world = await World(
        *map(misbehaving, ("exit_0", "exit_1", "exit_by_signal")), first_connect_delays_s=(60,)
    ).start(nursery)
    assert (await world.reach("exit_0", "failed"))["reason"] == "it exited with status 0"
    assert (await world.reach("exit_1", "failed"))["reason"] == "it exited with status 1"
    assert "frobnicator" in world.status("exit_1")["last_error"]
    assert (await world.reach("exit_by_signal", "failed"))["reason"] == "it was ended by signal 15"


@pytest.mark.parametrize("mode", ["lines_for_ever", "garbage_without_newline"])
async def test_output_that_is_no_mcp_is_given_up(nursery, mode):
    world = await World(misbehaving(mode), steady(), first_connect_delays_s=(60,)).start(nursery)
    assert "no MCP" in (await world.reach(mode, "failed"))["reason"]
    await world.reach("steady", "ready")


async def test_a_version_nobody_speaks_is_named(nursery):
    world = await World(misbehaving("old_version"), misbehaving("version_is_a_number")).start(nursery)
    assert "1999-01-01" in (await world.reach("old_version", "failed", "parked"))["reason"]
    assert (await world.reach("version_is_a_number", "failed", "parked"))["reason"]


async def test_requests_to_us_are_answered_politely(nursery):
    world = await World(misbehaving("asks_back")).start(nursery)
    await world.reach("asks_back", "ready")
    wanted = {
        f"q {method}" for method in ("sampling/createMessage", "roots/list", "elicitation/create", "x/y")
    }
    with trio.fail_after(20):
        while not wanted <= (replies := json.loads(text(await world.call("asks_back")))).keys():
            await trio.sleep(0.02)
    assert all(replies[question] == "error" for question in wanted)
    assert replies["q ping"] == {}


async def test_a_server_without_tools_is_ready_with_none(nursery):
    world = await World(misbehaving("no_tools")).start(nursery)
    assert (await world.reach("no_tools", "ready"))["tools"] == 0


async def test_pages_that_go_round_end(nursery):
    world = await World(misbehaving("same_cursor")).start(nursery)
    await world.reach("same_cursor", "ready")
    assert world.tools("same_cursor") == ["echo"]


async def test_the_page_limit_is_visible(nursery):
    world = await World(misbehaving("many_pages"), list_pages=3).start(nursery)
    await world.reach("many_pages", "ready")
    assert len(world.tools("many_pages")) == 300
    assert world.source("many_pages").truncated > 0


@pytest.mark.parametrize(
    ("kind", "said"),
    [("many", "pages"), ("long cursors", "cursor"), ("large tools", "MiB"), ("slow", "within")],
)
async def test_a_relisting_that_is_too_long_leaves_the_list_before(nursery, kind, said):
    world = await World(
        misbehaving("endless_pages", connect_timeout_s=20 if kind != "slow" else 1.5),
        list_pages=100 if kind == "many" else 1000,
        list_bytes=3 << 20,
    ).start(nursery)
    await world.reach("endless_pages", "ready")
    await world.call("endless_pages", kind=kind)
    await until(lambda: "previous list stands" in world.status("endless_pages")["last_error"])
    assert said in world.status("endless_pages")["last_error"]
    assert world.tools("endless_pages") == ["echo"]
    assert world.source("endless_pages").truncated == 0
    await world.call("endless_pages", kind=kind)  # it is used on
    assert world.status("endless_pages")["state"] == "ready"


async def test_what_a_server_says_of_itself_is_clipped_at_once(nursery):
    world = await World(misbehaving("boasts")).start(nursery)
    status = await world.reach("boasts", "ready")
    assert len(status["server_info"]) < 600
    connection = world.fleet._running("boasts")._connection
    assert {"tools", "prompts"} <= connection.capabilities
    assert all(len(name) <= 64 for name in connection.capabilities)
    assert len(connection.instructions) <= 4_000 + len("…")  # of how to use it, for models


# --- the stateless revision -------------------------------------------------------------------------


async def test_the_stateless_revision_with_its_envelope(nursery):
    world = await World(misbehaving("modern_only")).start(nursery)
    status = await world.reach("modern_only", "ready")
    assert status["protocol"] == "2026-07-28"
    assert text(await world.call("modern_only")) == "modern"
    for _ in range(4):  # as many failures would open the breaker
        with pytest.raises(ToolsearchdError) as caught:
            await world.call("modern_only", ask=True)
        assert caught.value.code == "INPUT_REQUIRED"
        assert "Sure?" in caught.value.message
        schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
        assert caught.value.fields["requests"] == [{"message": "Sure?", "requestedSchema": schema}]
    assert "sampling" in await refused("UNSUPPORTED", world.call, "modern_only", ask="sampling/createMessage")
    await world.call("modern_only", grow=True)
    await until(lambda: world.tools("modern_only") == ["echo", "grown"])


async def test_an_entry_may_ask_for_the_stateless_revision_at_once(nursery):
    world = await World(misbehaving("modern_only", protocol="2026-07-28")).start(nursery)
    assert (await world.reach("modern_only", "ready"))["protocol"] == "2026-07-28"


# --- calls ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [-32000, -32001, -32603, -32700])
async def test_a_servers_own_error_is_its_answer(nursery, code):
    world = await World(misbehaving("errors_of_its_own")).start(nursery)
    await world.reach("errors_of_its_own", "ready")
    assert "own words" in await refused("SERVER_ERROR", world.call, "errors_of_its_own", code=code)
    assert world.status("errors_of_its_own")["state"] == "ready"


async def test_an_answer_that_nests_too_deeply_is_no_result(nursery):
    world = await World(misbehaving("odd_results")).start(nursery)
    await world.reach("odd_results", "ready")
    assert "deeper" in await refused("BAD_RESULT", world.call, "odd_results", kind="deep")
    assert (await world.call("odd_results", kind="unknown_block"))["content"][0]["type"] == "hologram"


async def test_a_call_that_only_reads_is_sent_once_more_when_its_connection_is_lost(nursery, tmp_path):
    calls = tmp_path / "calls"
    world = await World(misbehaving("dies_at_the_first_call", calls)).start(nursery)
    await world.reach("dies_at_the_first_call", "ready")
    assert text(await world.call("dies_at_the_first_call", replays=True)) == "ok"
    assert calls.read_text() == "x\n" * 2


async def test_a_call_that_may_write_is_never_sent_again(nursery, tmp_path):
    calls = tmp_path / "calls"
    world = await World(misbehaving("dies_at_the_first_call", calls)).start(nursery)
    await world.reach("dies_at_the_first_call", "ready")
    with pytest.raises(ToolsearchdError) as caught:
        await world.call("dies_at_the_first_call")
    assert caught.value.code == "INDETERMINATE"
    assert caught.value.fields["outcome_uncertain"] is True
    await world.reach("dies_at_the_first_call", "ready")
    assert text(await world.call("dies_at_the_first_call")) == "ok"
    assert calls.read_text() == "x\n" * 2


async def test_no_call_is_sent_a_third_time(nursery):
    world = await World(misbehaving("dies_when_called")).start(nursery)
    await world.reach("dies_when_called", "ready")
    await refused("INDETERMINATE", world.call, "dies_when_called", replays=True)
    assert world.status("dies_when_called")["restarts"] <= 2


async def test_what_may_not_be_sent_again_any_more_keeps_its_first_end(nursery, tmp_path):
    world = await World(misbehaving("dies_at_the_first_call", tmp_path / "calls")).start(nursery)
    await world.reach("dies_at_the_first_call", "ready")
    looks = []

    def check():
        looks.append(1)
        if len(looks) > 1:
            raise ToolsearchdError("TOOL_CHANGED", "it is another one now")

    options = {"timeout_s": 30, "check": check, "replays": True}
    await refused("INDETERMINATE", world.fleet.call, "dies_at_the_first_call", "echo", {}, **options)
    assert len(looks) == 2


async def test_a_huge_answer_fails_its_call_only(nursery):
    world = await World(misbehaving("huge_result")).start(nursery)
    await world.reach("huge_result", "ready")
    pid = world.status("huge_result")["pid"]
    await refused("RESULT_TOO_LARGE", world.call, "huge_result")
    assert text(await world.call("huge_result", small=True)) == "small"
    assert world.status("huge_result")["pid"] == pid


async def test_a_line_without_an_end_ends_the_connection(nursery):
    world = await World(misbehaving("a_line_for_ever"), junk_bytes=32 << 20).start(nursery)
    await world.reach("a_line_for_ever", "ready")
    await refused("INDETERMINATE", world.call, "a_line_for_ever")
    await until(lambda: world.status("a_line_for_ever")["restarts"] >= 1)
    assert "no MCP" in world.status("a_line_for_ever")["last_error"]


async def test_a_flood_of_progress_is_thinned_and_the_call_answered(nursery):
    world = await World(misbehaving("progress_flood")).start(nursery)
    await world.reach("progress_flood", "ready")
    seen, began = [], time.monotonic()
    result = await world.call("progress_flood", on_progress=lambda *step: seen.append(step))
    assert text(result) == "flooded"
    assert 1 <= len(seen) <= world.limits.progress_per_s * (time.monotonic() - began) + 4  # a burst first


async def test_a_call_nobody_answers_runs_out_and_its_slot_is_free(nursery):
    world = await World(misbehaving("never_answers", max_concurrency=1)).start(nursery)
    await world.reach("never_answers", "ready")
    for _ in range(2):
        assert "0.2 s" in await refused("INDETERMINATE", world.call, "never_answers", timeout_s=0.2)
    assert world.status("never_answers")["in_flight"] == 0


async def test_a_cancelled_call_is_cancelled_at_the_server_and_its_late_answer_dropped(nursery):
    world = await World(misbehaving("answers_late", max_concurrency=1)).start(nursery)
    await world.reach("answers_late", "ready")
    async with trio.open_nursery() as calls:
        calls.start_soon(world.call, "answers_late")
        await until(lambda: world.status("answers_late")["in_flight"] == 1)
        calls.cancel_scope.cancel()
    assert text(await world.call("answers_late", now=True)) == "1 before"


async def test_arguments_without_a_json_form_are_not_sent(nursery):
    world = await World(steady()).start(nursery)
    pid = (await world.reach("steady", "ready"))["pid"]
    for _ in range(4):  # and say nothing about the server: no breaker opens
        await refused("INVALID_ARGUMENTS", world.call, "steady", text="\ud800")
    assert text(await world.call("steady", text="still here")) == "still here"
    assert world.status("steady")["pid"] == pid


async def test_a_server_that_reads_nothing_blocks_itself_only(nursery):
    world = await World(misbehaving("deaf"), steady()).start(nursery)
    await world.reach("deaf", "ready")
    await world.reach("steady", "ready")
    async with trio.open_nursery() as calls:
        for _ in range(8):
            calls.start_soon(world.call, "deaf", 60, "echo", None)
        await until(lambda: world.status("deaf")["in_flight"] == 8)
        assert text(await world.call("steady", text="hi")) == "hi"
        calls.cancel_scope.cancel()
    await until(lambda: world.status("deaf")["in_flight"] == 0)


async def test_the_death_of_a_server_is_told_to_the_sent_and_the_queued(nursery):
    world = await World(steady(max_concurrency=1), reconnect_delays_s=(60,)).start(nursery)
    pid = (await world.reach("steady", "ready"))["pid"]
    codes = []

    async def call():
        with pytest.raises(ToolsearchdError) as caught:
            await world.call("steady", tool="sleep", s=30)
        codes.append(caught.value.code)

    async with trio.open_nursery() as calls:
        calls.start_soon(call)
        await until(lambda: world.status("steady")["in_flight"] == 1)
        calls.start_soon(call)
        await until(lambda: world.status("steady")["queued"] == 1)
        os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
    assert time.monotonic() - began < 1
    assert codes == ["INDETERMINATE", "SERVER_UNAVAILABLE"]
    status = await world.reach("steady", "failed")
    assert status["reason"] == "it was ended by signal 9"
    assert world.tools("steady")  # it is coming back: its tools stay listed


async def test_calls_do_not_hasten_the_next_try(nursery):
    world = await World(misbehaving("dies_when_called"), reconnect_delays_s=(60,)).start(nursery)
    await world.reach("dies_when_called", "ready")
    await refused("INDETERMINATE", world.call, "dies_when_called")
    assert (await world.reach("dies_when_called", "failed"))["reason"] == "it exited with status 3"
    for _ in range(5):
        await refused("SERVER_UNAVAILABLE", world.call, "dies_when_called")
    status = world.status("dies_when_called")
    assert (status["state"], status["restarts"]) == ("failed", 0)
    assert status["next_retry_s"] > 30


async def test_a_call_waits_for_a_server_that_is_coming_back(nursery):
    world = await World(steady(), reconnect_delays_s=(0.3,)).start(nursery)
    pid = (await world.reach("steady", "ready"))["pid"]
    os.kill(pid, signal.SIGKILL)
    await world.reach("steady", "failed", "starting")
    assert text(await world.call("steady", text="again")) == "again"


async def test_the_breaker_refuses_without_sending_and_a_restart_closes_it(nursery):
    """Where its entry says that a tool's own errors count."""
    world = await World(steady(breaker="any")).start(nursery)
    await world.reach("steady", "ready")
    for _ in range(3):
        assert (await world.call("steady", tool="fail"))["isError"]
    assert "3 calls in a row" in await refused("SERVER_UNAVAILABLE", world.call, "steady", text="x")
    assert world.status("steady")["breaker_open_s"] > 50
    pid = world.status("steady")["pid"]
    world.fleet.restart("steady")
    await until(lambda: world.status("steady")["pid"] not in (pid, None))
    await world.reach("steady", "ready")
    assert text(await world.call("steady", text="closed")) == "closed"


# --- lists ------------------------------------------------------------------------------------------


async def test_the_last_of_many_changes_is_not_lost(nursery):
    world = await World(misbehaving("changes_storm")).start(nursery)
    await world.reach("changes_storm", "ready")
    await world.call("changes_storm")
    await until(lambda: world.tools("changes_storm") == ["echo_1000"])


async def test_a_broken_page_leaves_the_list_as_it_was(nursery):
    world = await World(misbehaving("page_two_fails")).start(nursery)
    await world.reach("page_two_fails", "ready")
    await world.call("page_two_fails")
    await until(lambda: "page two is broken" in world.status("page_two_fails")["last_error"])
    assert world.tools("page_two_fails") == ["echo", "second"]


async def test_a_list_that_flips_is_frozen(nursery):
    world = await World(misbehaving("flips"), list_min_interval_s=0.01, list_changes=3).start(nursery)
    await world.reach("flips", "ready")
    await until(lambda: "flips" in world.status("flips")["last_error"])
    frozen, listed = world.tools("flips"), text(await world.call("flips"))
    for _ in range(20):
        assert text(await world.call("flips")) == listed  # nor is it asked for meanwhile
    assert world.tools("flips") == frozen


# --- ends -------------------------------------------------------------------------------------------


async def test_an_idle_server_stops_and_starts_with_its_next_call(nursery):
    world = await World(steady(idle_timeout_s=0.3)).start(nursery)
    pid = (await world.reach("steady", "ready"))["pid"]
    status = await world.reach("steady", "not_started")
    assert status["pid"] is None
    assert world.tools("steady")
    assert text(await world.call("steady", text="awake")) == "awake"
    assert world.status("steady")["pid"] != pid


async def test_what_a_server_left_behind_is_ended_with_it(nursery):
    world = await World(misbehaving("leaves_a_child"), misbehaving("wrapper"), steady()).start(nursery)
    for name in ("leaves_a_child", "wrapper", "steady"):
        await world.reach(name, "ready")
    marker = f"TOOLSEARCHD_SERVER={os.getpid()}:"
    await until(lambda: len(processes_with(f"{marker}leaves_a_child:")) == 2)
    await until(lambda: len(processes_with(f"{marker}wrapper:")) == 2)
    world.fleet.apply([steady()])
    await until(lambda: not processes_with(f"{marker}leaves_a_child:") + processes_with(f"{marker}wrapper:"))
    assert world.status("steady")["state"] == "ready"


async def test_a_stop_does_not_wait_for_zombies(nursery):
    world = await World(misbehaving("leaves_a_zombie"), stop_stdin_s=60).start(nursery)
    await world.reach("leaves_a_zombie", "ready")
    world.fleet.apply([])
    await until(lambda: not processes_with(f"TOOLSEARCHD_SERVER={os.getpid()}:leaves_a_zombie:"))


async def test_a_replaced_server_has_ended_before_the_new_one_starts(nursery):
    old = misbehaving("ignores_sigterm")
    world = await World(old, stop_stdin_s=0.3, stop_term_s=0.3).start(nursery)
    pid = (await world.reach("ignores_sigterm", "ready"))["pid"]
    world.fleet.apply([])
    world.fleet.apply([old])
    await until(lambda: world.status("ignores_sigterm")["pid"] is not None)
    assert not os.path.exists(f"/proc/{pid}")


async def test_all_servers_are_stopped_at_once(nursery):
    world = World(misbehaving("ignores_sigterm"), steady(), stop_stdin_s=0.5, stop_term_s=0.5)
    async with trio.open_nursery() as inner:
        await world.start(inner)
        await world.reach("ignores_sigterm", "ready")
        await world.reach("steady", "ready")
        inner.cancel_scope.cancel()
    assert not processes_with(f"TOOLSEARCHD_SERVER={os.getpid()}:")
