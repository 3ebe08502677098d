"""What servers leave behind: no socket for it, an end with its server or with the daemon, and after a crash
of the daemon with the next start. Another living daemon's servers are nobody's business."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent
from toolsearchd.daemon.orphans import left_by_the_dead
from toolsearchd.system import processes
from toolsearchd.system.marker import Mark, marker

# The daemon, where the kernel refuses PR_SET_CHILD_SUBREAPER (prctl 36) with EPERM: a seccomp filter.
REFUSING = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
rules = [(0x20, 0, 0, 0), (0x15, 0, 3, %d), (0x20, 0, 0, 16), (0x15, 0, 1, 36), (0x06, 0, 0, 0x00050001),
         (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.executable, [sys.executable, "-m", "toolsearchd", *sys.argv[1:]])
"""
PRCTL = {"x86_64": 157, "aarch64": 167}


@pytest.fixture(autouse=True, scope="module")
def _subreapers_are_allowed():
    pid = os.fork()
    if pid == 0:
        os._exit(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0)
    if os.waitpid(pid, 0)[1]:
        pytest.skip("the kernel refuses PR_SET_CHILD_SUBREAPER here")


def leaving(place, *words):
    return zoo("leaving", words[0], place, *words[1:])


def is_live(pid):
    process = processes.read(pid)
    return process is not None and process.is_live


def report(place):
    def found():
        return next((json.loads(path.read_text()) for path in place.glob("report-*")), None)

    return wait_until(found, within_s=40, what="the report of what was left behind")


@contextmanager
def running(root, servers, *, refused=False, **given):
    """Whatever becomes of the test, none of it stays. `refused`: the daemon may not be a subreaper."""
    daemon = DaemonProcess(root, servers=servers, **given)
    if refused and os.uname().machine not in PRCTL:
        pytest.skip(f"no seccomp filter for {os.uname().machine} here")
    if refused:
        daemon.program = ["-c", REFUSING % PRCTL[os.uname().machine]]
    try:
        with daemon:
            yield daemon
    finally:
        for path in [*root.glob("report-*"), *root.glob("kin")]:
            pid = int(path.read_text()) if path.name == "kin" else json.loads(path.read_text())["pid"]
            if is_live(pid):
                os.kill(pid, signal.SIGKILL)


def test_a_child_that_daemonises_gets_no_socket_and_ends_with_the_daemon(tmp_path):
    with running(tmp_path, {"leaving": leaving(tmp_path, "daemon", 0)}) as daemon:
        left = report(tmp_path)
        assert left["parent"] == daemon.process.pid
        assert "NOT_ALLOWED" in left["agent"]
        assert "NOT_ALLOWED" in left["control"]
        assert is_live(left["pid"])
        assert daemon.stop() == 0
        assert not is_live(left["pid"])


def test_of_what_nothing_tells_whose_it_is_doctor_says_so(tmp_path):
    """A server whose leader ends as soon as it has let go of a child: hardly any look comes in time."""
    with running(tmp_path, {"leaving": leaving(tmp_path, "flight", 0)}) as daemon:
        report(tmp_path)

        def told():
            found = daemon.ctl("doctor")[1]["findings"]
            return [finding for finding in found if finding.get("kind") == "left-behind"]

        finding = wait_until(told, what="a word of doctor")[0]
        name, pid = re.fullmatch(r"(.+) \(pid (\d+)\)", finding["about"]).groups()
        assert finding["level"] == "warning"
        assert name.startswith("python")
        assert is_live(int(pid))
        assert daemon.stop() == 0
        assert not is_live(int(pid))


@pytest.mark.parametrize("refused", [False, True], ids=["as a subreaper", "without"])
def test_what_a_look_has_seen_gets_no_socket_and_ends_with_its_server(tmp_path, refused):
    several_looks_s = 3
    servers = {"leaving": leaving(tmp_path, "daemon", several_looks_s)}
    with running(tmp_path, servers, refused=refused) as daemon:
        left = report(tmp_path)
        assert (left["parent"] == daemon.process.pid) is not refused
        assert "NOT_ALLOWED" in left["agent"]
        assert "NOT_ALLOWED" in left["control"]
        daemon.write_servers({})
        wait_until(lambda: not is_live(left["pid"]), what="its end with its server")
        assert daemon.ctl("status")[0] == 0


def test_a_start_ends_what_a_dead_daemon_left_and_nothing_else(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    deaf = zoo("misbehaving", "ignores_sigterm")
    with running(second, {"deaf": deaf}) as other, running(first, {"kin": leaving(first, "kin")}) as daemon:
        other.wait_servers("deaf")
        daemon.wait_servers("kin")
        untouched, left = other.server("deaf")["pid"], daemon.server("kin")["pid"]
        kin = int(wait_until(lambda: (first / "kin").exists() and (first / "kin").read_text()))
        daemon.process.kill()
        daemon.process.wait()
        assert is_live(left)
        assert is_live(kin)
        (first / "kin").unlink()
        daemon.start()
        assert daemon.ready_after_s < 20
        wait_until(
            lambda: not is_live(left) and not is_live(kin), within_s=30, what="the end of what was left"
        )
        daemon.wait_servers("kin")
        assert daemon.server("kin")["pid"] != left
        assert other.server("deaf")["pid"] == untouched
        assert is_live(untouched)


@pytest.mark.parametrize("whose", ["another's", "its own"])
def test_a_session_that_somebody_else_began_is_left_alone(whose, monkeypatch):
    """A shell in which something runs that bears a marker is a person's; what a server began is not."""
    # The daemon that is taken for dead is this process: to the sweeps of other tests' daemons it lives.
    monkeypatch.setattr(Mark, "names_dead_daemon", lambda mark, _bearer: mark.pid == os.getpid())
    child = "import time; print('up', flush=True); time.sleep(600)"
    shell = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], env=%s)"
    marked = {"TOOLSEARCHD_SERVER": marker("terminal", 1)}
    script = shell % (repr(marked) if whose == "another's" else "{}")
    env = os.environ | (marked if whose == "its own" else {})
    with subprocess.Popen(
        [sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, start_new_session=True
    ) as leader:
        try:
            assert leader.stdout.readline() == b"up\n"
            found = {process.pid for process in left_by_the_dead() if process.session == leader.pid}
            (below,) = [p.pid for p in processes.read_all().values() if p.parent == leader.pid]
            assert found == ({below} if whose == "another's" else {below, leader.pid})
        finally:
            os.killpg(leader.pid, signal.SIGKILL)


def test_a_daemon_that_bears_a_dead_daemons_marker_is_no_server(tmp_path):
    """One that a server's descendant started, and then that server's daemon died."""
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.mkdir()
    outer.mkdir()
    # It dies when the inner one is up: other tests' daemons sweep, too.
    with subprocess.Popen(["sleep", "600"]) as dies:
        started, namespace = processes.read(dies.pid).started, processes.pid_namespace(os.getpid())
        its_marker = f"{dies.pid}:terminal:1:{started}:{namespace}"
        with running(inner, {"steady": zoo("steady")}, env={"TOOLSEARCHD_SERVER": its_marker}) as nested:
            nested.wait_servers("steady")
            pid = nested.server("steady")["pid"]
            dies.kill()
            dies.wait()
            with running(outer, {"steady": zoo("steady")}) as daemon:
                daemon.wait_servers("steady")  # servers start behind the sweep
                assert nested.process.poll() is None
                assert nested.server("steady")["pid"] == pid
            assert b"TOOLSEARCHD_SERVER" not in Path(f"/proc/{nested.process.pid}/environ").read_bytes()


def test_no_zombies_stay_and_statuses_are_right(tmp_path):
    """Hundreds of children that are given to the daemon when they have ended, while it runs hooks of its own
    whose exit statuses decide."""
    block = f"{sys.executable} -c 'import sys; sys.stdin.read(); sys.exit(2)'"
    hooks = [{"command": "cat > /dev/null", "match": {"tool": "echo"}}]
    hooks.append({"command": block, "match": {"tool": "erase"}})
    servers = {"crowd": leaving(tmp_path, "crowd"), "steady": zoo("steady")}
    with running(tmp_path, servers, config={"hooks": {"pre_call": hooks}}) as daemon:
        daemon.wait_servers("crowd", "steady")
        with agent(daemon) as wire:
            for number in range(4):
                calls = [
                    {"name": "mcp__crowd__echo", "arguments": {"n": 50}},
                    {"name": "mcp__steady__erase", "arguments": {"n": number}},
                    {"name": "mcp__steady__echo", "arguments": {"text": "hi"}},
                ]
                results = wire.ask({"op": "call", "id": number + 1, "calls": calls})["results"]
                assert [result.get("error", {}).get("code") for result in results] == [None, "DENIED", None]

        def zombies():
            table = processes.read_all().values()
            return [p for p in table if p.parent == daemon.process.pid and not p.is_live]

        wait_until(lambda: not zombies(), what="no zombies")
        assert daemon.server("crowd")["state"] == "ready"


def test_what_a_hook_of_the_persons_own_leaves_is_theirs(tmp_path):
    """As a login shell may leave a terminal multiplexer, in which agents are started then."""
    ctl = f"{BIN / 'toolsearchctl'} --runtime-dir {tmp_path / 'run'} --json status"
    left = f"{ctl} > {tmp_path}/new 2>&1; mv {tmp_path}/new {tmp_path}/said; exec sleep 3600"
    hook = tmp_path / "hook"
    wait = f"while [ ! -s {tmp_path}/pid ]; do sleep 0.05; done"  # what has not left its group ends with it
    begin = f"setsid sh -c 'echo $$ > {tmp_path}/pid; sleep 0.5; {left}' <&- >&- 2>&- &"
    hook.write_text(f"#!/bin/sh\ncat > /dev/null\n{begin}\n{wait}\n")
    hook.chmod(0o755)
    hooks = {"pre_call": [{"command": [str(hook)]}]}
    with running(tmp_path, {"steady": zoo("steady")}, config={"hooks": hooks}) as daemon:
        daemon.wait_servers("steady")
        with agent(daemon) as wire:
            call = {"name": "mcp__steady__echo", "arguments": {"text": "hi"}}
            assert wire.ask({"op": "call", "id": 1, "calls": [call]})["success_count"] == 1
        said = wait_until(lambda: (tmp_path / "said").exists() and (tmp_path / "said").read_text())
        pid = int((tmp_path / "pid").read_text())
        try:
            assert processes.read(pid).parent == daemon.process.pid
            assert json.loads(said)["pid"] == daemon.process.pid
            assert not [f for f in daemon.ctl("doctor")[1]["findings"] if f.get("kind") == "left-behind"]
            assert daemon.stop() == 0
            assert is_live(pid)
        finally:
            os.kill(pid, signal.SIGKILL)
