"""The units, under a systemd that belongs to the test: activation, READY, watchdog, reload, restart."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.daemon import BIN, wait_until
from tests.servers.zoo import zoo
from tests.wire import Wire

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "systemd").glob("toolsearchd*"))


def rendered(folder, programs=BIN):
    """The units for this checkout's programs, as the Makefile makes them."""
    folder.mkdir()
    for unit in UNITS:
        (folder / unit.name).write_text(unit.read_text().replace("@BIN@", str(programs)))
    return folder


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze on this machine")
@pytest.mark.parametrize("place", ["plain", "with a space"])
def test_the_units_have_no_fault(tmp_path, place):
    (tmp_path / place).symlink_to(BIN)
    folder = rendered(tmp_path / "units", tmp_path / place)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *sorted(folder.iterdir())],
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def why_no_systemd():
    if os.getuid() != 0:
        return "needs root"
    if not Path("/lib/systemd/systemd").exists():
        return "no systemd on this machine"
    probe = ["unshare", "--fork", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "--mount-proc", "true"]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True).returncode:
        return "namespaces can't be made here"
    unified = Path("/sys/fs/cgroup/unified")
    group = (unified if unified.is_dir() else Path("/sys/fs/cgroup")) / f"toolsearchd-probe.{os.getpid()}"
    try:
        group.mkdir()
        group.rmdir()
    except OSError as error:
        return f"no cgroup can be made here ({error.strerror})"
    return ""


class Systemd:
    """A booted manager; `ctl` runs systemctl in it, `path` is a path as seen inside."""

    def __init__(self, folder, units):
        self.console = folder / "console"
        self.boot = subprocess.Popen(["bash", ROOT / "tests/e2e/boot_systemd.sh", units, self.console])
        self.pid = wait_until(self._init, what="a systemd")
        wait_until(lambda: self.ctl("is-active", "test.target").stdout.strip() == "active", what="booted")

    def _init(self):
        children = Path(f"/proc/{self.boot.pid}/task/{self.boot.pid}/children").read_text().split()
        for child in children:
            if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                return int(child)
        return None

    def ctl(self, *words):
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--ipc", "--uts", "--cgroup"]
        return subprocess.run([*enter, "systemctl", "--no-pager", *words], capture_output=True, text=True)

    def show(self, name):
        return self.ctl("show", "--value", "-p", name, "toolsearchd.service").stdout.strip()

    def is_running(self):
        return self.show("ActiveState") == "active"

    def path(self, inside):
        return f"/proc/{self.pid}/root{inside}"

    def close(self):
        os.kill(self.pid, 9)
        self.boot.wait(10)


@pytest.fixture(scope="module")
def systemd(tmp_path_factory):
    why = why_no_systemd()
    if why:
        pytest.skip(f"a private systemd: {why}")
    folder = tmp_path_factory.mktemp("systemd")
    units = rendered(folder / "units")
    config = folder / "toolsearchd" / "config.yaml"
    config.parent.mkdir()
    config.write_text(yaml.safe_dump({"sources": [], "servers": {"steady": zoo("steady")}}))
    (units / "test.target").write_text("[Unit]\nWants=toolsearchd.socket toolsearchd-control.socket\n")
    for implied in ("sysinit", "basic", "shutdown", "sockets"):
        (units / f"{implied}.target").write_text(f"[Unit]\nDescription={implied}\n")
    drop_in = units / "toolsearchd.service.d"
    drop_in.mkdir()
    places = f"HOME={folder} XDG_CONFIG_HOME={folder} XDG_STATE_HOME={folder}/state"
    (drop_in / "test.conf").write_text(f"[Service]\nWatchdogSec=3\nEnvironment={places}\n")
    manager = Systemd(folder, units)
    manager.config = config
    yield manager
    manager.close()


def status(systemd):
    with Wire(systemd.path("/run/toolsearchd/control.sock"), timeout=20) as control:
        return control.ask({"op": "status", "id": 1})


def test_the_first_connection_starts_it_and_it_gets_ready(systemd):
    assert systemd.show("ActiveState") == "inactive"
    assert status(systemd)["op"] == "result"
    wait_until(lambda: systemd.show("ActiveState") == "active", what="READY")
    assert "tools" in systemd.show("StatusText")


def test_it_feeds_its_watchdog(systemd):
    status(systemd)
    pid = wait_until(lambda: systemd.show("MainPID"))
    until = time.monotonic() + 7
    while time.monotonic() < until:
        assert systemd.show("MainPID") == pid
        time.sleep(0.5)  # two watchdog periods have to pass
    assert systemd.show("ActiveState") == "active"


def test_a_reload_reads_the_config_again(systemd):
    status(systemd)
    config = yaml.safe_load(systemd.config.read_text())
    config["servers"]["added"] = zoo("steady", "pid")
    systemd.config.write_text(yaml.safe_dump(config))
    done = systemd.ctl("reload", "toolsearchd.service")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: sum(status(systemd)["servers"].values()) == 2)


def test_it_comes_back_after_kill_9(systemd):
    status(systemd)
    pid = systemd.show("MainPID")
    systemd.ctl("kill", "--signal=KILL", "--kill-whom=main", "toolsearchd.service")
    try:
        wait_until(lambda: systemd.show("MainPID") not in (pid, "0") and systemd.is_running())
    except AssertionError:
        pytest.fail(
            systemd.ctl("status", "--full", "toolsearchd.service").stdout + systemd.console.read_text()
        )
    assert status(systemd)["op"] == "result"
    assert int(systemd.show("NRestarts")) >= 1


def test_one_that_hangs_is_replaced(systemd):
    status(systemd)
    pid = systemd.show("MainPID")
    systemd.ctl("kill", "--signal=STOP", "--kill-whom=main", "toolsearchd.service")
    wait_until(lambda: systemd.show("MainPID") not in (pid, "0") and systemd.is_running())
    assert status(systemd)["op"] == "result"


def test_it_stops_cleanly_and_leaves_no_process(systemd):
    status(systemd)
    systemd.ctl("stop", "toolsearchd.service", "toolsearchd.socket", "toolsearchd-control.socket")
    assert systemd.show("Result") == "success"
    assert systemd.show("ActiveState") == "inactive"
    assert not Path(systemd.path("/sys/fs/cgroup/system.slice/toolsearchd.service")).exists()
