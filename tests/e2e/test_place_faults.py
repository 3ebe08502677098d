"""The places of a running daemon: removed, replaced, opened to others, claimed by another daemon."""

import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import time

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.e2e.test_process_faults import second
from tests.wire import Wire, agent

NOBODY = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give files to another user")


@pytest.fixture
def daemon(tmp_path):
    with DaemonProcess(tmp_path) as daemon:
        yield daemon


def pid_at(path):
    """Who listens at the path; None where nobody does."""
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(str(path))
        except OSError:
            return None
        return int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")


def serves(daemon):
    names = ("agent.sock", "control.sock")
    return all(pid_at(daemon.runtime_dir / name) == daemon.process.pid for name in names)


def remove(path):
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def put_file(path):
    path.write_text("mine")


def put_link(path):
    path.symlink_to("/nowhere")


def put_link_to_directory(path):
    path.symlink_to("/")


def put_fifo(path):
    os.mkfifo(path)


def put_other_daemons_socket(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    sock.detach()  # until this process ends, as another's would


OBSTACLES = [put_file, os.mkdir, put_link, put_link_to_directory, put_fifo]


@pytest.mark.parametrize("what", ["run", "run/lock", "run/agent.sock", "state", "state/lock"])
def test_what_was_removed_is_made_again_under_connected_agents(daemon, what):
    with agent(daemon) as wire:
        remove(daemon.root / what)
        wait_until(lambda: (daemon.root / what).exists() and serves(daemon))
        assert wire.ask({"op": "ping", "id": 1})["op"] == "result"
    for directory in (daemon.runtime_dir, daemon.state_dir):
        assert directory.stat().st_mode & 0o777 == 0o700
        assert (directory / "lock").read_text() == f"{daemon.process.pid}\n"
    assert second(daemon).returncode == 75


@pytest.mark.parametrize("put", [*OBSTACLES, put_other_daemons_socket], ids=lambda put: put.__name__)
@pytest.mark.parametrize("name", ["agent.sock", "lock"])
def test_an_obstacle_is_said_left_alone_and_outlived(daemon, name, put):
    path = daemon.runtime_dir / name
    with Wire(daemon.runtime_dir / "control.sock") as control:
        path.unlink()
        put(path)
        was = path.lstat().st_ino
        if name == "lock" and put is put_file:
            wait_until(lambda: path.read_text() == f"{daemon.process.pid}\n")  # nobody holds it: ours again
        else:
            problems = wait_until(lambda: control.ask({"op": "status", "id": 1})["problems"])
            assert any(str(path) in problem for problem in problems)
            findings = control.ask({"op": "doctor", "id": 2})["findings"]
            assert any(finding["mend"] for finding in findings if str(path) in finding["message"])
            assert path.lstat().st_ino == was
            remove(path)
        wait_until(lambda: not control.ask({"op": "status", "id": 3})["problems"] and serves(daemon))


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o755, 0o777])
@pytest.mark.parametrize("what", ["run", "state", "run/agent.sock"])
def test_changed_modes_are_set_right(daemon, what, mode):
    path = daemon.root / what
    wanted = path.stat().st_mode & 0o777
    path.chmod(mode)
    wait_until(lambda: path.stat().st_mode & 0o777 == wanted)
    assert serves(daemon)


@pytest.mark.parametrize("what", ["run", "state"])
def test_makes_way_for_whoever_holds_the_lock_in_its_place(daemon, what):
    """Somebody removed the whole directory, and another daemon lives in the new one."""
    place = daemon.root / what
    new = daemon.root / "new"
    new.mkdir(0o700)
    with (new / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4711\n")
        lock.flush()
        place.rename(daemon.root / "old")
        new.rename(place)
        assert daemon.process.wait(15) == 75
    assert not (place / "agent.sock").exists()
    assert "pid 4711" in daemon.log.read_text()


def test_a_lock_file_that_was_removed_lets_no_second_daemon_in(daemon):
    for directory in (daemon.runtime_dir, daemon.state_dir):
        (directory / "lock").unlink()
        assert second(daemon).returncode == 75
    wait_until(lambda: serves(daemon) and (daemon.state_dir / "lock").exists())


def test_two_daemons_never_share_a_state_directory(daemon, tmp_path):
    first_key = (daemon.state_dir / "digest.key").read_bytes()
    other = DaemonProcess(tmp_path)
    other.runtime_dir = tmp_path / "run2"
    done = second(other)
    assert done.returncode == 75
    assert f"already running (pid {daemon.process.pid})" in done.stderr
    assert str(daemon.state_dir) in done.stderr
    assert (daemon.state_dir / "digest.key").read_bytes() == first_key
    assert not (other.runtime_dir / "agent.sock").exists()


def test_one_serves_whatever_is_removed_while_many_start(tmp_path):
    """Starts, ends and removals at random: a path is served by one, and in the end by somebody."""
    chance = random.Random(11)
    daemons = []
    root = DaemonProcess(tmp_path)
    root.start()
    daemons.append(root.process)
    for _ in range(8):
        deed = chance.choice(["start", "start", "lock", "directory", "kill"])
        if deed == "start":
            command = [*map(str, root.process.args)]
            daemons.append(subprocess.Popen(command, env=root.env, stderr=subprocess.DEVNULL))
        elif deed == "lock":
            (root.runtime_dir / "lock").unlink(missing_ok=True)
        elif deed == "directory":
            shutil.rmtree(root.runtime_dir, ignore_errors=True)
        else:
            daemons[0].kill()
        time.sleep(chance.uniform(0, 0.7))
    try:
        if all(process.poll() is not None for process in daemons):
            command = [*map(str, root.process.args)]
            daemons.append(subprocess.Popen(command, env=root.env, stderr=subprocess.DEVNULL))

        def living():
            return [process.pid for process in daemons if process.poll() is None]

        wait_until(lambda: len(living()) == 1 and pid_at(root.runtime_dir / "agent.sock") == living()[0])
        assert pid_at(root.runtime_dir / "control.sock") == living()[0]
        assert {process.returncode for process in daemons} <= {None, 75, -signal.SIGKILL}
    finally:
        for process in daemons:
            process.kill()
            process.wait()


@as_root
@pytest.mark.parametrize("what", ["run", "state"])
@pytest.mark.parametrize("odd", ["owner", "link", "sticky", "parent", "lock", "lock link"])
def test_odd_owners_and_modes_are_refused_at_the_start_with_the_mend(tmp_path, what, odd):
    daemon = DaemonProcess(tmp_path)
    place = getattr(daemon, {"run": "runtime_dir", "state": "state_dir"}[what])
    if odd == "parent":
        place = tmp_path / "open" / what
        place.parent.mkdir()
        place.parent.chmod(0o777)
        setattr(daemon, {"run": "runtime_dir", "state": "state_dir"}[what], place)
    elif odd == "link":
        (tmp_path / "elsewhere").mkdir(0o700)
        place.symlink_to(tmp_path / "elsewhere")
        os.lchown(place, NOBODY, NOBODY)
    else:
        place.mkdir(0o700)
    if odd == "owner":
        os.chown(place, NOBODY, NOBODY)
    elif odd == "sticky":
        place.chmod(0o1777)
    elif odd == "lock":
        (place / "lock").touch()
        os.chown(place / "lock", NOBODY, NOBODY)
    elif odd == "lock link":
        (tmp_path / "precious").write_text("text")
        (place / "lock").symlink_to(tmp_path / "precious")
    done = second(daemon)
    assert done.returncode == 2, done.stderr
    assert str(place) in done.stderr
    assert any(mend in done.stderr for mend in ("chown", "chmod", "remove", "name one", "name another"))
    assert odd != "lock link" or (tmp_path / "precious").read_text() == "text"


def test_a_directory_of_ours_that_is_too_open_is_closed_to_others(tmp_path):
    daemon = DaemonProcess(tmp_path)
    for place in (daemon.runtime_dir, daemon.state_dir):
        place.mkdir()
        place.chmod(0o755)
    with daemon:
        for place in (daemon.runtime_dir, daemon.state_dir):
            assert place.stat().st_mode & 0o777 == 0o700
