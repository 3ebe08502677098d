"""What doctor says of a server's state and of what is not there around the daemon."""

import ast
import re
from pathlib import Path

import msgspec
import pytest

import toolsearchd
from toolsearchd.config.settings import Settings
from toolsearchd.daemon.findings import evidence_findings, surroundings_findings
from toolsearchd.protocol.control_replies import ServerStatus
from toolsearchd.records import Finding


def status(**more):
    plain = {
        "name": "far",
        "state": "ready",
        "reason": "",
        "transport": "http",
        "pid": None,
        "tools": 1,
        "in_flight": 0,
        "restarts": 0,
        "last_error": "",
        "stderr_tail": [],
        "junk_lines": 0,
        "first_junk": "",
        "next_retry_s": None,
    }
    return ServerStatus(**plain | more)


def test_a_server_that_is_well_is_not_mentioned():
    assert evidence_findings(status(breaker_open_s=0.0), {}) == []


def test_an_open_breaker_is_told_with_what_opens_it():
    (finding,) = evidence_findings(status(breaker_open_s=41.2), {})
    assert (finding.kind, finding.fix) == ("breaker-open", ["restart", "far"])
    assert "41 s" in finding.message


def test_a_refusal_beside_ready_is_told():
    (finding,) = evidence_findings(status(last_error="it answered 401 Unauthorized"), {})
    assert finding.kind == "refused"
    assert "401" in finding.message


def test_no_notify_send(tmp_path):
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    found = {finding.kind: finding for finding in surroundings_findings(Settings(), environ)}
    assert found["notify-send-missing"].level == "info"
    (tmp_path / "notify-send").write_text("#!/bin/sh\n")
    (tmp_path / "notify-send").chmod(0o755)
    units = tmp_path / ".config/systemd/user"
    units.mkdir(parents=True)
    (units / "toolsearchd.socket").write_text("")
    assert surroundings_findings(Settings(), environ) == []


def kinds():
    """(place, kind) of each finding that the code makes; of a kind that is chosen there, the choices."""
    for path in sorted(Path(toolsearchd.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text())
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call.func, ast.Name) and call.func.id == "Finding":
                named = [keyword.value for keyword in call.keywords if keyword.arg == "kind"]
                yield (
                    f"{path.name}:{call.lineno}",
                    ast.literal_eval(named[0])
                    if (named and isinstance(named[0], ast.Constant))
                    else (None if named else ""),
                )


def test_each_finding_has_a_kind_that_a_script_can_go_by():
    found = list(kinds())
    assert len(found) > 30
    odd = {
        place: kind
        for place, kind in found
        if kind is not None and not re.fullmatch("[a-z]+(-[a-z]+)*", kind)
    }
    assert odd == {}
    assert sum(kind is None for _, kind in found) <= 3  # chosen beside: by a rule, by why a server is not run
    for without in ({"level": "info", "about": "a", "message": "b", "mend": "c"},):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(without, Finding)
