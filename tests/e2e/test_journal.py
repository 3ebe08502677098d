"""The journal of a real daemon: who called what by whose leave; values only where they are wanted."""

import stat

import pytest

from tests.daemon import wait_until
from tests.e2e.test_approvals import ECHO, ERASE, Asked, Calling, erase, started
from tests.servers.zoo import zoo


@pytest.fixture
def daemon(tmp_path):
    with started(tmp_path, {"approval": {"wait_s": 30}}) as daemon:
        yield daemon
        daemon.close_agents()


def echo(text):
    return {"name": ECHO, "arguments": {"text": text}}


def journal(daemon, *filters, count):
    """The records that fit, once there are `count`."""

    def found():
        status, reply = daemon.ctl("journal", *filters)
        assert status == 0
        return len(reply["records"]) == count and (reply["records"] or True)

    return wait_until(found, what=f"{count} records")


def test_calls_and_approvals(daemon):
    call = Calling(daemon, echo("a secret"), erase(n=1), {"name": "nonsense", "arguments": {}})
    (prompt,) = daemon.pending()
    daemon.approve(prompt)
    assert call.results()[1]["response"]
    # In the order in which they ended: entries do not wait for one another.
    records = {record["tool"]: record for record in journal(daemon, "--step", "call", count=3)}
    ok, erased, unknown = records[ECHO], records[ERASE], records["nonsense"]
    assert (ok["tool"], ok["outcome"], ok["rule"]) == (ECHO, "ok", "approval.default")
    assert ok["client"] == "test"
    assert ok["ms"] >= 0
    assert ok["digests"].keys() == {"server", "tool", "arguments"}
    assert erased["decision"].startswith("approved by toolsearchctl, pid ")
    assert erased["digests"] == prompt["digests"]
    assert unknown["outcome"] == "TOOL_NOT_FOUND"
    answered, approved, sent, ended = journal(daemon, "--tool", "*erase", count=4)
    assert (answered["step"], answered["state"]) == ("approval", "approved")
    assert answered["approval"] == prompt["approval"]
    assert [record["step"] for record in (approved, sent, ended)] == ["approved", "sent", "call"]
    assert approved["call"] == sent["call"] == ended["call"]
    file = daemon.state_dir / "journal.jsonl"
    assert "a secret" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    journal(daemon, "--outcome", "ok", "--since", "1h", "--limit", "1", count=1)
    journal(daemon, "--since", "2100-01-01T00:00", count=0)
    assert daemon.ctl("journal", "--since", "yesterday")[1]["error"]["code"] == "BAD_ARGUMENTS"


def test_values_where_they_are_wanted(daemon):
    daemon.write_config(daemon.config | {"journal": {"arguments": True}})
    daemon.ctl("reload")
    assert Calling(daemon, echo("in the open")).result()["response"]
    (record,) = journal(daemon, "--step", "call", count=1)
    assert record["arguments"] == {"text": "in the open"}


def test_a_journal_that_cannot_be_written(daemon):
    file = daemon.state_dir / "journal.jsonl"
    file.mkdir()
    assert Calling(daemon, echo("goes on")).result()["response"]
    call = Calling(daemon, erase(n=1))
    (prompt,) = daemon.pending()
    daemon.approve(prompt)
    assert call.result()["error"]["code"] == "AUDIT_UNAVAILABLE"
    findings = daemon.control("doctor")["findings"]
    assert any("can't be written" in finding["message"] for finding in findings)

    file.rmdir()  # nothing else is needed
    call = Calling(daemon, erase(n=2))
    (prompt,) = daemon.pending()
    daemon.approve(prompt)
    assert call.result()["response"]
    (dropped,) = journal(daemon, "--step", "dropped", count=1)
    assert dropped["count"] >= 1
    assert journal(daemon, "--tool", ERASE, "--step", "approved", count=1)


def test_what_an_agent_leaves_running_is_recorded(daemon):
    call = Calling(daemon, {"name": "mcp__steady__sleep", "arguments": {"s": 1}})
    wait_until(lambda: daemon.server("steady")["in_flight"] == 1, what="the call")
    call.wire.close()
    (record,) = journal(daemon, "--step", "orphaned", count=1)
    assert record["tool"] == "mcp__steady__sleep"


def test_what_was_sent_and_never_answered_is_named_by_the_next_daemon(tmp_path):
    ledger = tmp_path / "ledger"
    servers = {"ledger": zoo("ledger", ledger)}
    with Asked(tmp_path, servers=servers) as daemon:
        daemon.wait_servers("ledger")
        call = {"name": "mcp__ledger__record", "arguments": {"nonce": "once", "how": "silent"}}
        Calling(daemon, call)
        ended = {"name": "mcp__ledger__record", "arguments": {"nonce": "ended"}}
        assert Calling(daemon, ended).result()["response"]
        journal(daemon, "--step", "sent", count=2)
        daemon.process.kill()
        daemon.process.wait()

        daemon.start()
        (named,) = wait_until(lambda: daemon.ctl("status")[1]["unanswered"], what="the call without an end")
        assert (named["tool"], named["client"], named["sent"]) == ("mcp__ledger__record", "test", True)
        findings = daemon.ctl("doctor")[1]["findings"]
        assert any("was sent at" in finding["message"] for finding in findings)
        (record,) = journal(daemon, "--step", "unanswered", count=1)
        assert record["call"] == named["call"]
        daemon.wait_servers("ledger")
        assert [line.split()[1] for line in ledger.read_text().splitlines()] == ["once", "ended"]

        assert daemon.stop() == 0
        daemon.start()  # named once in the journal, and a day long in `status`
        wait_until(lambda: daemon.ctl("status")[1]["unanswered"] == [named], what="what the one before named")
        journal(daemon, "--step", "unanswered", count=1)
