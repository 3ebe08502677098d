"""A stderr that nobody reads, or that is closed: the daemon answers as ever, and counts what it dropped."""

import os
import subprocess
import sys

from tests.daemon import DaemonProcess, wait_until
from tests.wire import Wire, agent


def start_with(tmp_path, stderr):
    daemon = DaemonProcess(tmp_path)
    daemon.process = subprocess.Popen(
        [
            *(sys.executable, "-m", "toolsearchd", "--log-level", "debug", "--config", daemon.config_file),
            *("--runtime-dir", daemon.runtime_dir, "--state-dir", daemon.state_dir),
        ],
        env=daemon.env,
        stderr=stderr,
    )
    wait_until(lambda: (daemon.runtime_dir / "control.sock").exists(), within_s=60)
    return daemon


def reload_often(daemon, times):
    """Each one writes what is wrong with the config, which is another thing every time."""
    with Wire(daemon.runtime_dir / "control.sock") as control:
        for number in range(times):
            daemon.write_config({"tools": {f"unknown-{number}-{'x' * 4000}": 1}})
            assert control.ask({"op": "reload", "id": number})["op"] == "result"


def test_a_pipe_that_nobody_reads_stops_nothing_and_what_was_dropped_is_said(tmp_path):
    ours, theirs = os.pipe()
    daemon = start_with(tmp_path, theirs)
    os.close(theirs)
    with daemon, open(ours, "rb", buffering=0) as stderr:
        reload_often(daemon, 700)
        with agent(daemon) as wire:
            assert wire.ask({"op": "ping", "id": 1})["op"] == "result"
        with Wire(daemon.runtime_dir / "control.sock") as control:
            problems = control.ask({"op": "status", "id": 1})["problems"]
            assert any("lines of the log were dropped" in problem for problem in problems)
        said = b""
        while b"lines were dropped here" not in said:
            said += stderr.read(1 << 20)
        assert daemon.stop() == 0


def test_it_ends_in_time_though_nobody_reads(tmp_path):
    ours, theirs = os.pipe()
    daemon = start_with(tmp_path, theirs)
    os.close(theirs)
    with daemon:
        reload_often(daemon, 30)
        assert daemon.stop(within_s=13) == 0
    os.close(ours)


def test_a_stderr_without_reader_ends_nothing(tmp_path):
    ours, theirs = os.pipe()
    daemon = start_with(tmp_path, theirs)
    os.close(theirs)
    os.close(ours)
    with daemon:
        reload_often(daemon, 3)
        assert daemon.ctl("status")[0] == 0


def test_an_error_at_the_start_is_written_before_the_end(tmp_path):
    daemon = DaemonProcess(tmp_path)
    daemon.runtime_dir.write_text("in the way")
    done = subprocess.run(
        [sys.executable, "-m", "toolsearchd", "--runtime-dir", daemon.runtime_dir],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("toolsearchd: ")


def test_a_crash_is_written_before_the_end(tmp_path):
    code = (
        "from toolsearchd.system.stderr_writer import StderrWriter\n"
        "StderrWriter().start()\n"
        "raise RuntimeError('planted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: planted\n")


def test_a_closed_stderr_costs_the_log_and_no_other_file(tmp_path):
    daemon = DaemonProcess(tmp_path)
    daemon.start(wait=False, preexec_fn=lambda: os.close(2))
    with daemon:
        wait_until(lambda: (daemon.runtime_dir / "control.sock").exists(), within_s=60)
        reload_often(daemon, 3)
        assert (daemon.runtime_dir / "lock").read_text() == f"{daemon.process.pid}\n"
        assert daemon.ctl("status")[0] == 0
