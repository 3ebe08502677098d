"""The policy is asked at the send: what a person forbids while a call waits is not sent."""

import pytest

from tests.daemon import wait_until
from tests.e2e.test_approvals import Asked, Calling
from tests.servers.zoo import zoo

RECORD, PEEK = "mcp__one__record", "mcp__one__peek"


@pytest.fixture
def daemon(tmp_path):
    """With a server that takes one call at a time and writes down what it is asked."""
    config = {"approval": {"wait_s": 30, "notify": True}}
    with Asked(tmp_path, config=config) as daemon:
        daemon.entry = zoo("ledger", tmp_path / "ledger", max_concurrency=1)
        daemon.write_servers({"one": daemon.entry})
        daemon.wait_servers("one")
        yield daemon
        daemon.close_agents()


def call_of(nonce, s=0.0, tool=RECORD):
    return {"name": tool, "arguments": {"nonce": nonce, "s": s}}


def recorded(daemon):
    file = daemon.root / "ledger"
    return [line.split()[1] for line in file.read_text().splitlines()] if file.exists() else []


def behind_a_running_call(daemon, **hello):
    """(the call that holds the server's only slot, one that waits for it)"""
    running = Calling(daemon, call_of("first", 3))
    wait_until(lambda: recorded(daemon) == ["first"], what="the call that runs")
    waiting = Calling(daemon, call_of("second"), wire=daemon.agent(**hello))
    wait_until(lambda: daemon.server("one")["queued"] == 1, what="the call that waits")
    return running, waiting


def save(daemon, **config):
    """Saves the config and has it in force."""
    daemon.write_config(daemon.config | config)
    assert daemon.ctl("reload")[0] == 0


RULE = {"approval": {"rules": [{"tool": "record", "then": "deny"}]}}
DENIALS = {
    "a rule": RULE,
    "the default": {"approval": {"default": "deny"}},
    "the profile's word": {"profiles": {"p": {"match": {"client": "test"}, "approval": "deny"}}},
    "an argument rule": {"approval": {"rules": [{"arguments": {"nonce": "sec*"}, "then": "deny"}]}},
}


@pytest.mark.parametrize("config", DENIALS.values(), ids=DENIALS)
def test_denied_while_it_waits_for_its_servers_turn(daemon, config):
    running, waiting = behind_a_running_call(daemon)
    save(daemon, **config)
    assert waiting.result()["error"]["code"] == "DENIED"
    assert running.result()["response"]
    assert recorded(daemon) == ["first"]


def test_the_servers_word_is_asked_too(daemon):
    running, waiting = behind_a_running_call(daemon)
    daemon.write_servers({"one": daemon.entry | {"approval": "deny"}})
    daemon.ctl("reload")
    assert waiting.result()["error"]["code"] == "DENIED"
    assert running.result()["response"]
    assert recorded(daemon) == ["first"]


def test_a_grant_that_shrinks(daemon):
    _, waiting = behind_a_running_call(daemon)
    save(daemon, profiles={"p": {"match": {"client": "test"}, "tools": ["peek"]}})
    assert waiting.result()["error"]["code"] == "TOOL_NOT_FOUND"
    assert recorded(daemon) == ["first"]


@pytest.mark.parametrize("change", ["a rule", "trust"])
def test_asked_for_while_it_waits(daemon, change):
    """Somebody is asked then, off the server's slot, and the call goes out with their leave."""
    _, waiting = behind_a_running_call(daemon)
    if change == "a rule":
        save(daemon, approval={"wait_s": 30, "rules": [{"tool": "record", "then": "ask"}]})
    else:
        daemon.write_servers({"one": daemon.entry | {"trust": "untrusted"}})
        daemon.ctl("reload")
    (prompt,) = daemon.pending()
    assert recorded(daemon) == ["first"]
    assert Calling(daemon, call_of("p", tool=PEEK)).wire  # asked for as well, or through: not held up
    assert daemon.approve(prompt)["state"] == "approved"
    assert waiting.result()["response"]
    assert "second" in recorded(daemon)


def test_stopped_while_it_is_asked_for_late(daemon):
    _, waiting = behind_a_running_call(daemon)
    save(daemon, approval={"wait_s": 30, "rules": [{"tool": "record", "then": "ask"}]})
    daemon.pending()
    waiting.wire.send({"op": "stop", "id": 9})
    error = waiting.result()["error"]
    assert (error["code"], error["prompt"]) == ("INTERRUPTED", "withdrawn")
    assert daemon.pending(0)
    assert recorded(daemon) == ["first"]


def test_denied_behind_its_approval(daemon):
    """Approved, and forbidden while it waits for its server: the newer word counts."""
    ask = {"approval": {"wait_s": 30, "rules": [{"arguments": {"nonce": "second"}, "then": "ask"}]}}
    save(daemon, **ask)
    Calling(daemon, call_of("first", 3))
    wait_until(lambda: recorded(daemon) == ["first"], what="the call that runs")
    waiting = Calling(daemon, call_of("second"))
    (prompt,) = daemon.pending()
    daemon.approve(prompt)
    wait_until(lambda: daemon.server("one")["queued"] == 1, what="the approved call that waits")
    save(daemon, **RULE)
    assert waiting.result()["error"]["code"] == "DENIED"
    assert recorded(daemon) == ["first"]


def test_what_was_denied_is_not_asked_for_again(daemon):
    save(daemon, approval={"wait_s": 30, "default": "ask"})
    wire = daemon.agent()
    both = Calling(daemon, call_of("x"), wire=wire)
    (prompt,) = daemon.pending()
    assert daemon.deny(prompt)["state"] == "denied"
    assert both.result()["error"]["code"] == "DENIED"
    again = Calling(daemon, call_of("x"), wire=wire).result()["error"]
    assert (again["code"], again["reason"]) == ("DENIED", "refused_before")
    Calling(daemon, call_of("y"), wire=wire)  # other arguments are another call
    Calling(daemon, call_of("x"))  # and so is another session's
    daemon.pending(2)
    assert recorded(daemon) == []


def test_in_another_order_it_is_the_same_call(daemon):
    save(daemon, approval={"wait_s": 30, "default": "ask"})
    wire = daemon.agent()
    given = {"nonce": "x", "more": {"a": 1, "b": [{"c": 1, "d": 2}]}}
    turned = {"more": {"b": [{"d": 2, "c": 1}], "a": 1}, "nonce": "x"}
    first, second = ({**call_of("x"), "arguments": arguments} for arguments in (given, turned))
    for number, one in enumerate((first, second)):
        wire.send({"op": "call", "id": number, "calls": [one]})
    prompt, _ = daemon.pending(2)
    daemon.deny(prompt)
    assert {wire.recv()["results"][0]["error"]["code"] for _ in range(2)} == {"DENIED"}
    for one in (first, second):
        assert Calling(daemon, one, wire=wire).result()["error"]["reason"] == "refused_before"


def test_one_no_ends_every_prompt_of_the_same_call(daemon):
    save(daemon, approval={"wait_s": 30, "default": "ask"})
    wire = daemon.agent()
    for number in range(2):
        wire.send({"op": "call", "id": number, "calls": [call_of("x")]})
    prompt, _ = daemon.pending(2)
    daemon.deny(prompt)
    daemon.pending(0)
    replies = [wire.recv(), wire.recv()]
    assert [reply["results"][0]["error"]["code"] for reply in replies] == ["DENIED"] * 2
