"""Hooks around the calls of a real daemon."""

import json
import sys
import time

import pytest

from tests.daemon import processes_with, wait_until
from tests.e2e.test_approvals import ECHO, ERASE, Calling, erase, started, text_of
from tests.wire import agent

SEEN = """
import json, sys
seen = json.load(sys.stdin)
with open(sys.argv[1], "a") as file:
    file.write(json.dumps(seen) + "\\n")
print(json.dumps(ANSWER))
"""


def hook(directory, answer, **more):
    """A hook that notes what it is told in `directory`/seen, and answers."""
    script = directory / f"hook{len(list(directory.glob('hook*')))}.py"
    script.write_text(SEEN.replace("ANSWER", repr(answer)))
    return {"command": [sys.executable, "-I", str(script), str(directory / "seen")], **more}


def seen(directory):
    return [json.loads(line) for line in (directory / "seen").read_text().splitlines()]


def echo(text):
    return {"name": ECHO, "arguments": {"text": text}}


@pytest.fixture
def with_hooks(tmp_path):
    """Starts a daemon with hooks."""
    running = []

    def start(**hooks):
        daemon = started(tmp_path, {"hooks": hooks, "approval": {"wait_s": 30}})
        running.append(daemon)
        return daemon.__enter__()

    yield start
    for daemon in running:
        daemon.__exit__(None, None, None)


def test_rewritten_before_validation_and_approval(tmp_path, with_hooks):
    # What the agent gives would not be valid; what the hook makes of it is what the person sees.
    daemon = with_hooks(
        pre_call=[hook(tmp_path, {"arguments": {"text": "rewritten"}}, match={"tool": "e*"})],
        post_call=[hook(tmp_path, {"response": {"content": [{"type": "text", "text": "told"}]}})],
    )
    call = Calling(daemon, {"name": ECHO, "arguments": {"txt": 1}}, erase(n=1))
    (prompt,) = daemon.pending()
    assert prompt["arguments"] == '{"text":"rewritten"}'
    daemon.approve(prompt)
    assert [text_of(result) for result in call.results()] == ["told", "told"]
    before, after, *_ = seen(tmp_path)
    assert (before["hook"], before["name"], before["server"], before["tool"]) == (
        "pre_call",
        ECHO,
        "steady",
        "echo",
    )
    assert before["arguments"] == {"txt": 1}
    assert (before["client"], before["profile"]) == ("test", "default")
    assert after["hook"] == "post_call"
    assert after["arguments"] == {"text": "rewritten"}
    assert after["response"]["content"] == [{"type": "text", "text": "rewritten"}]


def test_blocked(with_hooks):
    by_status = {"command": "echo 'not today' >&2; exit 2", "match": {"arguments": {"n": 1}}}
    by_answer = {"command": ["/bin/echo", '{"decision": "block", "reason": "not today"}']}
    daemon = with_hooks(pre_call=[by_status, by_answer])
    *blocked, unknown = Calling(daemon, erase(n=1), erase(n=2), {"name": "x", "arguments": {}}).results()
    for result in blocked:
        assert (result["error"]["code"], result["error"]["reason"]) == ("DENIED", "hook")
        assert "not today" in result["error"]["message"]
    assert unknown["error"]["code"] == "TOOL_NOT_FOUND"
    assert daemon.pending(0)  # nobody was asked


def test_a_result_is_kept_back(tmp_path, with_hooks):
    daemon = with_hooks(post_call=[hook(tmp_path, {"decision": "block", "reason": "secret"})])
    error = Calling(daemon, echo("x")).result()["error"]
    assert error["code"] == "DENIED"
    assert "the call was made" in error["message"]
    assert seen(tmp_path)[0]["response"]["content"][0]["text"] == "x"


def test_another_profile_or_a_rewriting_hook_escapes_none(tmp_path):
    hooks = {
        "pre_call": [
            {"command": "exit 2", "match": {"profile": "watched", "tool": "erase"}},
            hook(tmp_path, {"arguments": {"text": "main"}}, match={"arguments": {"text": "alias"}}),
            {"command": "exit 2", "match": {"arguments": {"text": "main"}}},
        ]
    }
    profiles = {"watched": {"match": {"client": "agent"}}, "free": {}}
    with started(tmp_path, {"hooks": hooks, "profiles": profiles}) as daemon:
        for profile in ({}, {"profile": "free"}, {"profile": "default"}):
            with agent(daemon, client="agent", **profile) as wire:
                error = Calling(daemon, erase(n=1), wire=wire).result()["error"]
                assert (error["code"], error["reason"]) == ("DENIED", "hook")
        rewritten, passed = Calling(daemon, echo("alias"), echo("x")).results()
        assert rewritten["error"]["reason"] == "hook"
        assert text_of(passed) == "x"


BROKEN = ("exit 1", "echo nonsense", "sleep 60", "/nonexistent/program", "cat /dev/zero")


def test_one_that_fails(with_hooks):
    def failing(command, on_error):
        match = {"arguments": {"text": f"{on_error} {command}"}}
        return {"command": command, "timeout_s": 1, "on_error": on_error, "match": match}

    daemon = with_hooks(pre_call=[failing(c, on_error) for c in BROKEN for on_error in ("open", "closed")])
    passed = Calling(daemon, *(echo(f"open {command}") for command in BROKEN)).results()
    assert [text_of(result) for result in passed] == [f"open {command}" for command in BROKEN]
    failed = Calling(daemon, *(echo(f"closed {command}") for command in BROKEN)).results()
    assert {result["error"]["code"] for result in failed} == {"HOOK_FAILED"}


def test_what_a_hook_leaves_behind_holds_up_nothing(tmp_path, with_hooks):
    daemon = with_hooks(pre_call=[{"command": "MARK=hook-left-behind sleep 60 & echo '{}'"}])
    begun = time.monotonic()
    assert Calling(daemon, echo("x")).result()["response"]
    assert time.monotonic() - begun < 20
    wait_until(lambda: not processes_with("MARK=hook-left-behind"), what="the end of its child")


def test_a_stop_does_not_wait_for_a_hook(with_hooks):
    daemon = with_hooks(pre_call=[{"command": "MARK=hook-stopped sleep 50", "timeout_s": 55}])
    call = Calling(daemon, echo("x"))
    wait_until(lambda: processes_with("MARK=hook-stopped"), what="the hook")
    assert daemon.control("stop")["interrupted"] == 1
    assert call.result()["error"]["code"] == "INTERRUPTED"
    wait_until(lambda: not processes_with("MARK=hook-stopped"), what="its end")


def test_a_hook_is_no_client_and_no_approver(tmp_path, with_hooks):
    ask = f"{sys.executable} -m toolsearchd.ctl --runtime-dir {tmp_path}/run approvals >&2; exit 2"
    daemon = with_hooks(pre_call=[{"command": ask}])
    error = Calling(daemon, echo("x")).result()["error"]
    # It is refused before it asks; whether it still reads why depends on who is faster.
    assert "NOT_ALLOWED" in error["message"] or "NO_DAEMON" in error["message"]


def test_the_feed_shows_each_step(tmp_path, with_hooks):
    daemon = with_hooks(pre_call=[hook(tmp_path, {}, match={"tool": "erase"})])
    with agent(daemon) as wire:  # a session of its own, so that all its steps are seen
        watcher = daemon.watch()
        call = Calling(daemon, erase(n=1), wire=wire)
        (prompt,) = daemon.pending()
        daemon.approve(prompt)
        assert call.result()["response"]
        steps = []
        while not steps or steps[-1]["step"] != "call":
            event = watcher.recv()
            if event.get("tool") == ERASE:
                steps.append(event)
    told = [(event["step"], event.get("state") or event.get("outcome")) for event in steps]
    assert told == [
        ("received", None),
        ("hook", "ok"),
        ("approval", "pending"),
        ("approval", "approved"),
        ("sent", None),
        ("call", "ok"),
    ]
    assert {event["session"] for event in steps} == {wire.welcome["session"]}
