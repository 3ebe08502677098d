"""Who shares an ancestor with whom, below the login."""

import os
import subprocess
import sys

import pytest

from toolsearchd.actors.lineage import Process, are_related, lineage

UID = os.getuid()


def line(*names):
    """A lineage, nearest first; equal names are equal processes."""
    return tuple(Process(sum(map(ord, name)), 1, name, UID) for name in names)


LOGIN = ("tmux: server", "systemd")


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [
        (line("relay", "claude", "bash", *LOGIN), line("ctl", "zsh", *LOGIN), False),
        (line("relay", "claude", "bash", *LOGIN), line("ctl", "bash", *LOGIN), True),
        (line("relay", "claude", "bash", *LOGIN), line("ctl", "sh", "claude", "bash", *LOGIN), True),
        (line("relay", "code", "gnome-shell", "systemd"), line("ctl", "code", "gnome-shell"), True),
        (line("relay", "code", "gnome-shell"), line("ctl", "bash", "gnome-terminal-", "gnome-shell"), False),
        (line("relay"), line("relay"), True),
        (line("relay", "claude"), (), True),
        ((), line("ctl"), True),
    ],
)
def test_relations(one, other, related):
    assert are_related(one, other) is related
    assert are_related(other, one) is related


def test_another_users_process_relates_nobody():
    foreign = Process(4711, 1, "supervisor", UID + 1)
    assert not are_related((*line("agent"), foreign), (*line("ctl"), foreign))


def test_a_pid_that_was_given_out_again_is_another_process():
    assert not are_related((Process(4711, 1, "bash", UID),), (Process(4711, 2, "bash", UID),))


def test_a_real_process_and_its_parent():
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        found = lineage(child.pid)
        assert [process.pid for process in found[:2]] == [child.pid, os.getpid()]
        assert found[0].uid == UID
        assert are_related(found, lineage(os.getpid()))
        child.stdin.close()


def test_a_process_that_is_gone_is_unknown():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert lineage(child.pid) == ()
