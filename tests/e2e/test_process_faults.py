"""The daemon as a process: one of it, its sockets, its signals, its end and what is left after a crash."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from tests.daemon import DaemonProcess, processes_with, wait_until
from tests.servers.zoo import zoo
from tests.wire import Wire, agent
from toolsearchd.client import AsyncClient


@pytest.fixture
def daemon(tmp_path):
    with DaemonProcess(tmp_path, servers={"steady": zoo("steady")}) as daemon:
        daemon.wait_servers("steady")
        yield daemon


def works(daemon):
    with agent(daemon) as wire:
        reply = wire.ask(
            {"op": "call", "id": 1, "calls": [{"name": "mcp__steady__echo", "arguments": {"text": "hi"}}]}
        )
        return reply["success_count"] == 1


def second(daemon, *more):
    command = [
        sys.executable,
        "-m",
        "toolsearchd",
        "--runtime-dir",
        daemon.runtime_dir,
        "--state-dir",
        daemon.state_dir,
    ]
    return subprocess.run([*command, *more], env=daemon.env, capture_output=True, text=True, timeout=30)


def test_a_second_daemon_leaves_the_first_alone(daemon):
    done = second(daemon)
    assert done.returncode == 75
    assert f"already running (pid {daemon.process.pid})" in done.stderr
    assert works(daemon)


def test_after_kill_9_the_stale_sockets_are_taken_over(daemon):
    daemon.process.kill()
    daemon.process.wait()
    assert (daemon.runtime_dir / "agent.sock").exists()
    daemon.start()
    daemon.wait_servers("steady")
    assert works(daemon)


def test_a_file_that_is_no_socket_is_not_removed(tmp_path):
    daemon = DaemonProcess(tmp_path)
    daemon.runtime_dir.mkdir()
    (daemon.runtime_dir / "agent.sock").write_text("mine")
    done = second(daemon)
    assert done.returncode == 2
    assert "not a socket" in done.stderr
    assert (daemon.runtime_dir / "agent.sock").read_text() == "mine"


def test_an_unlinked_socket_is_bound_again(daemon):
    (daemon.runtime_dir / "agent.sock").unlink()
    wait_until((daemon.runtime_dir / "agent.sock").exists, within_s=10)
    assert works(daemon)


def test_a_path_too_long_for_a_socket(tmp_path):
    daemon = DaemonProcess(tmp_path)
    daemon.runtime_dir = tmp_path / ("d" * 120)
    done = second(daemon)
    assert done.returncode == 2
    assert "107" in done.stderr
    assert "Traceback" not in done.stderr


def open_sockets(pid: int) -> set[str]:
    found = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since the look
            found.add(os.readlink(fd))
    return {link for link in found if link.startswith("socket:")}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_socket_activation(tmp_path, count):
    daemon = DaemonProcess(tmp_path, servers={"steady": zoo("steady")})
    daemon.runtime_dir.mkdir()
    names = ["agent", "control"][:count]
    sockets = []
    for name in names:
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(str(daemon.runtime_dir / f"{name}.sock"))
        sock.listen()
        sockets.append(sock)
    launcher = (
        "import os, sys\n"
        f"fds = {[sock.fileno() for sock in sockets]}\n"
        "[os.dup2(os.dup(fd), 3 + at) for at, fd in enumerate(fds)] if fds != [3, 4][:len(fds)] else None\n"
        "[os.set_inheritable(3 + at, True) for at in range(len(fds))]\n"
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))\n"
        f"os.environ['LISTEN_FDNAMES'] = {':'.join(names)!r}\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'toolsearchd', *sys.argv[1:]])\n"
    )
    arguments = [
        "--config",
        daemon.config_file,
        "--runtime-dir",
        daemon.runtime_dir,
        "--state-dir",
        daemon.state_dir,
    ]
    daemon.process = subprocess.Popen(
        [sys.executable, "-c", launcher, *arguments],
        env=daemon.env,
        pass_fds=[sock.fileno() for sock in sockets],
        stderr=subprocess.DEVNULL,
    )
    for sock in sockets:
        sock.close()
    try:
        wait_until((daemon.runtime_dir / "control.sock").exists)
        daemon.wait_servers("steady", within_s=30)
        assert works(daemon)
        environ = Path(f"/proc/{daemon.server('steady')['pid']}/environ").read_bytes()
        assert b"LISTEN_" not in environ
        ours, its = open_sockets(daemon.process.pid), open_sockets(daemon.server("steady")["pid"])
        assert ours
        assert not ours & its
    finally:
        daemon.stop()


def test_wrong_activation_is_ignored(tmp_path):
    daemon = DaemonProcess(tmp_path, env={"LISTEN_FDS": "7", "LISTEN_PID": "1", "LISTEN_FDNAMES": "agent"})
    with daemon:
        assert daemon.ctl("status")[0] == 0


def test_hangup_reloads_and_a_storm_of_it_is_survived(daemon):
    for _ in range(1000):
        daemon.process.send_signal(signal.SIGHUP)
    assert works(daemon)
    assert daemon.ctl("status")[0] == 0


def test_usr1_writes_statistics_and_pipe_is_ignored(daemon):
    daemon.process.send_signal(signal.SIGPIPE)
    daemon.process.send_signal(signal.SIGUSR1)
    line = wait_until(
        lambda: [line for line in daemon.log.read_text().splitlines() if "statistics: " in line]
    )[0]
    assert json.loads(line.partition("statistics: ")[2])["open_fds"] > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(daemon, number):
    marker = f"TOOLSEARCHD_SERVER={daemon.process.pid}:"
    assert processes_with(marker)
    daemon.process.send_signal(number)
    assert daemon.process.wait(13) == 0
    assert not processes_with(marker)


def test_term_twice_does_not_wait(daemon):
    with agent(daemon) as wire:
        wire.send({"op": "call", "id": 1, "calls": [{"name": "mcp__steady__sleep", "arguments": {"s": 60}}]})
        wait_until(lambda: daemon.server("steady")["in_flight"] == 1)
        began = time.monotonic()
        daemon.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(13)
        assert time.monotonic() - began < 5
    assert not processes_with(f"TOOLSEARCHD_SERVER={daemon.process.pid}:")


def test_term_during_the_start(tmp_path):
    for delay_s in (0.0, 0.1, 0.3, 0.6):
        daemon = DaemonProcess(tmp_path, servers={"steady": zoo("steady")})
        daemon.start(wait=False)
        time.sleep(delay_s)
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(13) in (0, -signal.SIGTERM)
        assert not processes_with(f"TOOLSEARCHD_SERVER={daemon.process.pid}:")


def test_stopped_and_continued(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    daemon.process.send_signal(signal.SIGCONT)
    assert works(daemon)
    assert daemon.server("steady")["state"] == "ready"


async def test_a_restart_under_connected_clients(daemon):
    hello = {"client": "test", "runtime_dir": daemon.runtime_dir}
    async with AsyncClient.connect(**hello) as client:
        before = client.welcome["session"]
        await trio.to_thread.run_sync(daemon.stop)
        with trio.fail_after(5):
            await client.closed.wait()
        assert before
    await trio.to_thread.run_sync(daemon.start)
    with trio.fail_after(20):
        async with AsyncClient.connect(**hello, wait_s=15) as client:
            assert (await client.ping())["generation"] >= 0


def test_strange_environments(tmp_path):
    env = {"HOME": "", "LC_ALL": "C", "LANG": "C", "PYTHONPATH": "/nonexistent", "PYTHONHASHSEED": "1"}
    with DaemonProcess(tmp_path, servers={"steady": zoo("steady")}, env=env) as daemon:
        daemon.env.pop("XDG_RUNTIME_DIR", None)
        daemon.wait_servers("steady")
        assert works(daemon)


def test_killed_at_random_moments_it_always_starts_again(tmp_path):
    chance = random.Random(7)
    daemon = DaemonProcess(tmp_path, servers={"steady": zoo("steady")})
    for _ in range(8):
        daemon.start(wait=False)
        time.sleep(chance.uniform(0.05, 1.5))
        daemon.process.kill()
        daemon.process.wait()
    daemon.start()
    try:
        daemon.wait_servers("steady")
        assert works(daemon)
        assert oct(os.stat(daemon.state_dir).st_mode & 0o777) == "0o700"
    finally:
        daemon.stop()


def test_a_process_that_cannot_be_made_costs_itself(tmp_path):
    import resource

    def few_processes():
        # Descriptors rather than processes: root is not held by the process limit.
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    servers = {f"s{n}": zoo("steady", env={"N": str(n)}) for n in range(40)}
    daemon = DaemonProcess(tmp_path, servers=servers)
    daemon.start(preexec_fn=few_processes)
    try:
        wait_until(lambda: daemon.ctl("status")[1].get("servers", {}).get("ready", 0) >= 3, within_s=40)
        with Wire(daemon.runtime_dir / "control.sock") as control:
            assert control.ask({"op": "ping", "id": 1})["op"] == "result"
    finally:
        daemon.stop()
