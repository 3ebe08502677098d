"""Own children and inherited ones: each status reaches who started the process, and no zombie stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolsearchd.system import children, processes


def test_statuses_reach_their_owners_and_no_zombie_stays():
    command = [sys.executable, Path(__file__).with_name("reaping.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip("the kernel refuses PR_SET_CHILD_SUBREAPER here")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_only_a_subreaper_reaps():
    """This process, with children of others in it, is none."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert children.reap()
        assert child.wait() == 3


def test_a_signal_reaches_the_process_that_was_meant_or_nobody():
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as child:
        process = processes.read(child.pid)
        another = process._replace(started=process.started - 1)  # its pid has been given out again since
        assert not processes.send(another, signal.SIGKILL)
        assert child.poll() is None
        assert processes.send(process, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        assert not processes.send(process, signal.SIGKILL)


def test_a_name_may_hold_anything():
    code = r"""if True:
        import ctypes
        ctypes.CDLL(None).prctl(15, b") Z 1 \n (\xff", 0, 0, 0)
        print(flush=True)
        input()
    """
    command = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        process = processes.read(child.pid)
        assert (process.parent, process.is_live) == (os.getpid(), True)
        assert process.name.startswith(") Z 1 \n (")
        child.kill()
