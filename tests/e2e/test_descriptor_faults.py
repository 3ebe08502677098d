"""No file descriptor is left: no edit and no session is lost. Few are allowed: less is promised, and said."""

import os
import resource
from contextlib import ExitStack

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import Wire, agent

ECHO = {"op": "call", "calls": [{"name": "mcp__steady__echo", "arguments": {"text": "hi"}}]}


@pytest.fixture
def daemon(tmp_path):
    with DaemonProcess(tmp_path, servers={"steady": zoo("steady")}) as daemon:
        daemon.wait_servers("steady")
        yield daemon


class Exhausted:
    """While it lasts the process gets no new descriptor."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        self.was = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        taken = {int(name) for name in os.listdir(f"/proc/{self.pid}/fd")}
        lowest_free = next(number for number in range(len(taken) + 1) if number not in taken)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (lowest_free, self.was[1]))

    def __exit__(self, *exc):
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, self.was)


def answer_to_a_newcomer(path):
    """Of the first that finds no descriptor: one that the daemon has just closed lets another one in."""
    with ExitStack() as let_in:
        for _ in range(10):
            wire = let_in.enter_context(Wire(path, timeout=3))
            try:
                return wire.recv()
            except TimeoutError:
                continue
    return None


def test_exhaustion_loses_no_edit_and_no_session(daemon):
    pid = daemon.server("steady")["pid"]
    with agent(daemon) as wire, Wire(daemon.runtime_dir / "control.sock") as control:
        assert wire.ask(ECHO | {"id": 1})["success_count"] == 1
        with Exhausted(daemon.process.pid):
            daemon.write_servers({"steady": zoo("steady"), "more": zoo("steady", env={"N": "2"})})
            reply = control.ask({"op": "reload", "id": 1})
            assert reply["problems"] == []
            assert wire.ask(ECHO | {"id": 2})["success_count"] == 1
            assert wire.ask({"op": "search", "id": 3, "queries": ["echo"]})["op"] == "result"
            for name in ("agent.sock", "control.sock"):
                assert answer_to_a_newcomer(daemon.runtime_dir / name)["code"] == "BUSY"
            (daemon.runtime_dir / "agent.sock").unlink()
            wait_until(lambda: control.ask({"op": "status", "id": 4})["problems"])
        daemon.wait_servers("steady", "more")
        assert daemon.server("steady")["pid"] == pid
        assert wire.ask(ECHO | {"id": 5})["success_count"] == 1
        wait_until((daemon.runtime_dir / "agent.sock").exists)


@pytest.mark.parametrize("hard", [96, 400])
def test_few_descriptors_lower_what_is_promised_and_it_is_said(tmp_path, hard):
    daemon = DaemonProcess(tmp_path)
    daemon.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))
    with daemon, Wire(daemon.runtime_dir / "control.sock") as control:
        assert resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
        problems = control.ask({"op": "status", "id": 1})["problems"]
        assert any(f"only {hard} file descriptors" in problem for problem in problems)
        findings = control.ask({"op": "doctor", "id": 2})["findings"]
        assert any("LimitNOFILE" in finding["mend"] for finding in findings)
        assert f"only {hard} file descriptors" in daemon.log.read_text()


def test_a_low_soft_limit_is_raised_to_what_is_promised(tmp_path):
    daemon = DaemonProcess(tmp_path)
    daemon.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096)))
    with daemon, Wire(daemon.runtime_dir / "control.sock") as control:
        assert 64 < resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)[0] < 1024
        assert control.ask({"op": "status", "id": 1})["problems"] == []
