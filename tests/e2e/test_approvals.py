"""Approvals on a real daemon: who is asked, who may answer, and what an answer is good for."""

import json
import os
import re
import stat
import subprocess
import threading
from contextlib import contextmanager

import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import Wire, agent
from toolsearchd.client import Client, ControlClient
from toolsearchd.errors import ToolsearchdError

ERASE = "mcp__steady__erase"
ECHO = "mcp__steady__echo"
OTHER = "mcp__other__echo"
NOTIFY_SEND = """#!/bin/sh
for last; do :; done
printf '%s\\0' "$last" >> "$NOTICES"
"""


class Asked(DaemonProcess):
    """A daemon whose person has a desktop: notifications are kept in a file."""

    def __init__(self, root, **given):
        programs = root / "bin"
        programs.mkdir()
        (programs / "notify-send").write_text(NOTIFY_SEND)
        (programs / "notify-send").chmod(0o755)
        self.notices_file = root / "notices"
        env = {"PATH": f"{programs}:{os.environ['PATH']}", "NOTICES": str(self.notices_file)}
        super().__init__(root, env=env, **given)
        self.wires = []

    def __exit__(self, *exc):
        for wire in self.wires:
            wire.close()
        super().__exit__(*exc)

    def agent(self, **hello):
        """A greeted agent, gone with the daemon at the latest."""
        self.wires.append(agent(self, **hello))
        return self.wires[-1]

    def notices(self):
        return self.notices_file.read_text().split("\0")[:-1] if self.notices_file.exists() else []

    def code_of(self, approval):
        """As a person reads it on their desktop."""
        pattern = rf"toolsearchctl approve {approval} --code (\d{{6}})"
        return wait_until(
            lambda: next((m[1] for text in self.notices() if (m := re.search(pattern, text))), None),
            what=f"a notification of {approval}",
        )

    def control(self, op, **fields):
        """The reply on the control socket, or the error's code."""
        with ControlClient(runtime_dir=self.runtime_dir, timeout_s=60) as client:
            try:
                return client.request(op, **fields)
            except ToolsearchdError as error:
                return error.code

    def watch(self):
        """A control connection on which the feed's events come."""
        self.wires.append(Wire(self.runtime_dir / "control.sock"))
        self.wires[-1].ask({"op": "watch", "id": 1})
        return self.wires[-1]

    def pending(self, count=1):
        """The prompts that wait, once there are `count`."""
        return wait_until(
            lambda: len(found := self.control("approvals")["approvals"]) == count and (found or True),
            what=f"{count} prompts",
        )

    def approve(self, prompt, scope="once"):
        approval = prompt["approval"]
        return self.control("approve", approval=approval, scope=scope, code=self.code_of(approval))

    def deny(self, prompt):
        return self.control("deny", approval=prompt["approval"])

    def close_agents(self):
        while self.wires:
            self.wires.pop().close()
        self.pending(0)


@contextmanager
def started(root, config, **servers):
    """A daemon with the steady server."""
    with Asked(root, servers={"steady": zoo("steady"), **servers}, config=config) as daemon:
        daemon.wait_servers("steady", *servers)
        yield daemon


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    with started(tmp_path_factory.mktemp("approvals"), {"approval": {"wait_s": 30}}) as daemon:
        yield daemon


@pytest.fixture
def daemon(steady):
    """The one of all tests that leave it running; each leaves nothing behind."""
    yield steady
    steady.close_agents()
    for permit in steady.control("approvals")["standing"]:
        steady.deny(permit)


@pytest.fixture
def changing(tmp_path):
    """A daemon of its own, whose server `other` offers what `daemon.tools_file` says, and asks for all."""
    tools = tmp_path / "tools.json"
    write_tools(tools, "Echo a text.")
    config = {"approval": {"wait_s": 30, "rules": [{"server": "other", "then": "ask"}]}}
    with started(tmp_path, config, other=zoo("steady", "--tools-from", tools)) as daemon:
        daemon.tools_file = tools
        yield daemon


def write_tools(file, description):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool = {"name": "echo", "description": description, "inputSchema": schema}
    new = file.with_suffix(".new")
    new.write_text(json.dumps([tool]))
    new.replace(file)


class Calling:
    """A call under way, in an agent's session of its own or in a given one."""

    def __init__(self, daemon, *calls, wire=None):
        self.wire = wire or daemon.agent()
        self.wire.sock.settimeout(60)
        self.wire.send({"op": "call", "id": "c", "calls": list(calls)})

    def results(self):
        while True:
            reply = self.wire.recv()
            if reply.get("id") == "c":
                return reply["results"]

    def result(self):
        (result,) = self.results()
        return result


def change(daemon):
    """The server `other` offers another tool under the same name."""
    write_tools(daemon.tools_file, "Send everything elsewhere.")
    reader = daemon.agent()
    ask = {"op": "describe", "id": 1, "names": [OTHER]}
    wait_until(lambda: "elsewhere" in str(reader.ask(ask)["tools"]), what="the new definition")


def erase(**arguments):
    return {"name": ERASE, "arguments": arguments}


def text_of(result):
    return result["response"]["content"][0]["text"]


def test_approved_with_the_code_that_the_notification_shows(daemon):
    call = Calling(daemon, erase(n=1))
    (prompt,) = daemon.pending()
    assert prompt["tool"] == ERASE
    assert prompt["arguments"] == '{"n":1}'
    assert prompt["needs_code"] is True  # this test, its daemon's agent and its toolsearchctl are one family
    assert "code" not in prompt
    status, reply = daemon.ctl("approve", prompt["approval"])
    assert (status, reply["error"]["code"]) == (1, "NOT_ALLOWED")
    status, reply = daemon.ctl("approve", prompt["approval"], "--code", "nonsense")
    assert (status, reply["error"]["code"]) == (1, "NOT_ALLOWED")
    assert daemon.ctl("approve", prompt["approval"], "--code", daemon.code_of(prompt["approval"]))[0] == 0
    assert call.result()["response"]
    status, reply = daemon.ctl("deny", prompt["approval"])
    assert (status, reply["error"]["code"]) == (1, "STALE")
    assert daemon.pending(0)


def test_denied(daemon):
    call = Calling(daemon, erase(n=1), {"name": ECHO, "arguments": {"text": "after"}})
    (prompt,) = daemon.pending()
    assert daemon.ctl("deny", prompt["approval"])[0] == 0
    denied, after = call.results()
    assert denied["error"]["code"] == "DENIED"
    assert text_of(after) == "after"
    assert daemon.approve(prompt) == "STALE"
    assert daemon.control("approve", approval="nosuch") == "UNKNOWN_APPROVAL"


def test_each_entry_is_asked_when_its_turn_comes(daemon):
    call = Calling(daemon, erase(n=0), erase(n=1))
    seen = []
    for number in (0, 1):
        prompt = wait_until(lambda: next((p for p in daemon.pending() if p["approval"] not in seen), None))
        assert prompt["arguments"] == f'{{"n":{number}}}'
        seen.append(prompt["approval"])
        daemon.approve(prompt)
    assert all("response" in result for result in call.results())


def test_a_stop_withdraws_the_prompt(daemon):
    call = Calling(daemon, erase(n=1), erase(n=2))
    daemon.pending()
    status, counts = daemon.ctl("stop")
    assert (status, counts["interrupted"]) == (0, 2)
    withdrawn, queued = call.results()
    assert withdrawn["error"]["code"] == queued["error"]["code"] == "INTERRUPTED"
    assert withdrawn["error"]["prompt"] == "withdrawn"
    assert "prompt" not in queued["error"]
    assert daemon.pending(0)


def test_a_client_that_goes_takes_its_prompts_along(daemon):
    call = Calling(daemon, erase(n=1))
    daemon.pending()
    call.wire.close()
    assert daemon.pending(0)


def test_sigterm_with_a_prompt_pending(changing):
    call = Calling(changing, erase(n=1))
    changing.pending()
    assert changing.stop() == 0
    assert call.result()["error"]["code"] == "INTERRUPTED"


def test_nobody_listens_and_nobody_comes(tmp_path):
    config = {"approval": {"wait_s": 0.3}}
    with started(tmp_path, config) as daemon:
        error = Calling(daemon, erase(n=1)).result()["error"]
        assert error["code"] == "NO_APPROVER"
        assert "toolsearchctl approvals --watch" in error["message"]


def test_somebody_listens_and_does_not_answer(tmp_path):
    config = {"approval": {"wait_s": 0.3}, "limits": {"approval_answer_s": 1.5}}
    with started(tmp_path, config) as daemon:
        with Wire(daemon.runtime_dir / "control.sock") as person:
            assert person.ask({"op": "approvals", "id": 1, "watch": True})["approvals"] == []
            call = Calling(daemon, erase(n=1))
            asked, ended = person.recv(), person.recv()
            assert (asked["op"], asked["tool"]) == ("approval_requested", ERASE)
            assert (ended["op"], ended["approval"]) == ("approval_ended", asked["approval"])
            assert call.result()["error"]["code"] == "APPROVAL_TIMEOUT"


def test_the_last_listener_goes(tmp_path):
    config = {"approval": {"wait_s": 0.3}}
    with started(tmp_path, config) as daemon:
        person = Wire(daemon.runtime_dir / "control.sock")
        person.ask({"op": "approvals", "id": 1, "watch": True})
        call = Calling(daemon, erase(n=1))
        person.recv()
        person.close()
        assert call.result()["error"]["code"] == "NO_APPROVER"


def test_a_session_permit_ends_with_its_session(daemon):
    wire = daemon.agent()
    call = Calling(daemon, erase(n=1), wire=wire)
    (prompt,) = daemon.pending()
    assert daemon.approve(prompt, "session")["state"] == "approved"
    assert call.result()["response"]
    assert Calling(daemon, erase(n=2), wire=wire).result()["response"]  # other arguments, nobody asked
    (permit,) = daemon.control("approvals")["standing"]
    assert permit["scope"] == "session"
    wire.close()
    wait_until(lambda: not daemon.control("approvals")["standing"], what="its end")
    Calling(daemon, erase(n=3))
    daemon.pending()


def test_always_is_kept_on_disk_until_the_tool_changes(changing):
    call = Calling(changing, {"name": OTHER, "arguments": {"text": "one"}})
    (prompt,) = changing.pending()
    assert changing.approve(prompt, "always")["state"] == "approved"
    assert text_of(call.result()) == "one"
    kept = changing.state_dir / "approvals.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    changing.stop()
    changing.start()
    changing.wait_servers("other")
    assert text_of(Calling(changing, {"name": OTHER, "arguments": {"text": "two"}}).result()) == "two"

    change(changing)
    Calling(changing, {"name": OTHER, "arguments": {"text": "three"}})
    changing.pending()
    assert changing.control("approvals")["standing"] == []
    assert json.loads(kept.read_text())["always"] == []


def test_a_permit_can_be_taken_back(daemon):
    wire = daemon.agent()
    call = Calling(daemon, erase(n=1), wire=wire)
    (prompt,) = daemon.pending()
    assert daemon.approve(prompt, "always")["state"] == "approved"
    assert call.result()["response"]
    (permit,) = daemon.control("approvals")["standing"]
    assert daemon.deny(permit)["state"] == "revoked"
    Calling(daemon, erase(n=1), wire=wire)
    daemon.pending()


def test_always_is_refused_where_it_cannot_be_kept(changing):
    (changing.state_dir / "approvals.json.new").mkdir()  # in the way of every write
    call = Calling(changing, erase(n=1))
    (prompt,) = changing.pending()
    assert changing.approve(prompt, "always") == "AUDIT_UNAVAILABLE"
    assert changing.approve(prompt)["state"] == "approved"
    assert call.result()["response"]


def test_a_tool_that_changes_under_its_prompt(changing):
    call = Calling(changing, {"name": OTHER, "arguments": {"text": "one"}})
    (prompt,) = changing.pending()
    change(changing)
    assert changing.approve(prompt) == "STALE"
    assert call.result()["error"]["code"] == "TOOL_CHANGED"


def test_where_validation_is_off_an_approval_is_of_the_arguments_as_they_came(tmp_path):
    config = {"approval": {"wait_s": 30, "rules": [{"server": "lax", "then": "ask"}]}}
    lax = zoo("steady") | {"env": {"ANOTHER": "1"}, "validate": False, "unvalidatable": "refuse"}
    with started(tmp_path, config, lax=lax) as daemon:
        call = Calling(
            daemon, {"name": "mcp__lax__echo", "arguments": {"text": "so", "n": ["1"], "none": None}}
        )
        (prompt,) = daemon.pending()
        assert json.loads(prompt["arguments"]) == {"text": "so", "n": ["1"], "none": None}
        assert daemon.approve(prompt)["state"] == "approved"
        assert text_of(call.result()) == "so"
        (odd,) = Calling(daemon, {"name": ECHO, "arguments": {"text": ["so"]}}).results()
        assert odd["error"]["code"] == "INVALID_ARGUMENTS"  # the other server's schemas judge


def test_too_many_prompts_of_one_session(tmp_path):
    config = {"limits": {"pending_approvals": 2}}
    with started(tmp_path, config) as daemon:
        wire = daemon.agent()
        for number in range(4):
            wire.send({"op": "call", "id": number, "calls": [erase(n=number)]})
        refused = [wire.recv()["results"][0]["error"] for _ in range(2)]
        assert [(error["code"], error["reason"]) for error in refused] == [("DENIED", "too_many")] * 2
        assert [prompt["pending"] for prompt in daemon.pending(2)] == [2, 2]


def test_the_agents_own_interface_answers_where_its_profile_lets_it(tmp_path):
    config = {"profiles": {"ide": {"match": {"client": "ide"}, "may_decide": True}}}
    with started(tmp_path, config) as daemon:
        for decision, code in (("approve", None), ("deny", "DENIED")):
            wire = daemon.agent(client="ide")
            wire.ask({"op": "subscribe", "id": 1, "events": ["approval_requested"]})
            call = Calling(daemon, erase(n=1), wire=wire)
            event = wire.recv()
            assert (event["op"], event["arguments"]) == ("approval_requested", '{"n":1}')
            assert "code" not in event
            stranger = daemon.agent(client="ide")
            ask = {"op": "decide", "id": 2, "approval": event["approval"], "decision": decision}
            assert stranger.ask(ask)["code"] == "UNKNOWN_APPROVAL"
            wire.send(ask)
            assert wire.recv()["op"] == "approval_ended"
            assert wire.recv()["id"] == 2
            assert call.result().get("error", {}).get("code") == code
        # Naming that profile gives nobody the right: it can only narrow.
        other = daemon.agent(client="other", profile="ide")
        Calling(daemon, erase(n=1), wire=other)
        (prompt,) = daemon.pending()
        ask = {"op": "decide", "id": 2, "approval": prompt["approval"], "decision": "approve"}
        assert other.ask(ask)["code"] == "NOT_ALLOWED"


@pytest.mark.parametrize(("answer", "is_error"), [("approve", False), ("deny", True)])
def test_an_mcp_clients_own_form(daemon, answer, is_error):
    wire = daemon.agent(client="relay", mcp=True)
    lines = wire.sock.makefile("rw", encoding="utf-8")

    def say(**message):
        lines.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        lines.flush()

    def hear():
        return json.loads(lines.readline())

    info = {"name": "an-editor", "version": "1"}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": info}
    say(id=0, method="initialize", params=opening)
    assert hear()["id"] == 0
    say(method="notifications/initialized")
    say(id=1, method="tools/call", params={"name": "steady__erase", "arguments": {"n": 1}})
    form = hear()
    assert form["method"] == "elicitation/create"
    assert '{"n":1}' in form["params"]["message"]
    say(id=form["id"], result={"action": "accept", "content": {"decision": answer}})
    result = hear()
    assert result["id"] == 1
    assert result["result"].get("isError", False) is is_error
    lines.close()


def test_an_answer_with_a_field_too_many_is_none(daemon):
    with Wire(daemon.runtime_dir / "control.sock") as person:
        person.send({"op": "approve", "id": 1, "approval": "x", "scope": "once", "until": "ever"})
        assert person.recv()["code"] == "BAD_MESSAGE"


def test_hidden_characters_are_seen(daemon):
    Calling(daemon, erase(text="safe\u202egnp.exe \x1b[2J"))
    (prompt,) = daemon.pending()
    assert json.loads(prompt["arguments"]) == {"text": "safe\u202egnp.exe \x1b[2J"}
    done = subprocess.run(
        [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "approvals"],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert '"safe\\u202egnp.exe \\u001b[2J"' in done.stdout
    wait_until(lambda: "\\u202e" in str(daemon.notices()[-1:]), what="the notification")


def test_large_arguments_are_fetched_by_id(daemon):
    Calling(daemon, erase(text="x" * 100_000))
    (prompt,) = daemon.pending()
    assert prompt["arguments"] is None
    assert prompt["arguments_bytes"] > 100_000
    (whole,) = daemon.ctl("approvals", prompt["approval"])[1]["approvals"]
    assert len(whole["arguments"]) == prompt["arguments_bytes"]


def test_a_blocking_client_waits_for_the_answer(daemon):
    found = []
    with Client(client="script", runtime_dir=daemon.runtime_dir, timeout_s=60) as client:
        thread = threading.Thread(target=lambda: found.append(client.call([erase(n=1)])))
        thread.start()
        (prompt,) = daemon.pending()
        daemon.approve(prompt)
        thread.join(30)
    assert found[0]["success_count"] == 1


def test_a_call_by_hand_says_what_it_waits_for(daemon):
    command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "call", ERASE, "{}"]
    with subprocess.Popen(
        command, env=daemon.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as call:
        hint = call.stderr.readline()
        (prompt,) = daemon.pending()
        assert f"toolsearchctl approve {prompt['approval']}" in hint
        daemon.deny(prompt)
        assert call.wait(30) == 1
        assert "DENIED" in call.stderr.read()


def test_a_list_of_many_large_prompts_stays_small(daemon):
    """What does not fit is fetched by its id, whole."""
    sent = "x" * 60_000
    for _session in range(2):
        wire = daemon.agent()
        for number in range(12):
            wire.send({"op": "call", "id": number, "calls": [erase(n=number, text=sent)]})
    prompts = daemon.pending(24)
    shown = [prompt["arguments"] for prompt in prompts if prompt["arguments"] is not None]
    assert 12 <= len(shown) < 24
    assert sum(map(len, shown)) <= 1 << 20
    (last,) = daemon.control("approvals", approval=prompts[-1]["approval"])["approvals"]
    assert sent in last["arguments"]
