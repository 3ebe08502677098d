"""Who shares an ancestor with whom, below the login."""

import os
import subprocess
import sys

import pytest

from toolsearchd.system.ancestry import ancestry_of, are_related
from toolsearchd.system.processes import Process

UID = os.getuid()


def process(pid, started, name, uid=UID):
    return Process(pid, 0, 0, 0, started, "S", name, uid=uid)


def line(*names):
    """An ancestry, nearest first; equal names are equal processes."""
    return tuple(process(sum(map(ord, name)), 1, name) for name in names)


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


def on(one, session=0, terminal=0):
    return one._replace(session=session, terminal=terminal)


INIT = process(1, 0, "systemd")
USER_SYSTEMD = process(900, 1, "systemd")
AGENT = (on(process(20, 1, "agent"), 10, 5), on(process(10, 1, "zsh"), 10, 5), *line(*LOGIN))


@pytest.mark.parametrize(
    ("approver", "related"),
    [
        # Let go by the agent: its parent has gone, its session or terminal is still the agent's.
        ((on(process(30, 1, "ctl"), 10, 5), INIT), True),
        ((on(process(30, 1, "ctl"), 10, 5), USER_SYSTEMD, INIT), True),
        ((on(process(30, 1, "ctl"), 10, 0), USER_SYSTEMD, INIT), True),
        ((on(process(30, 1, "ctl"), 30, 5), USER_SYSTEMD, INIT), True),
        # In a session of its own without a terminal, below what takes in orphans: anybody's.
        ((on(process(30, 1, "ctl"), 30, 0), INIT), True),
        (
            (on(process(31, 1, "ctl"), 30, 0), on(process(30, 1, "sh"), 30), USER_SYSTEMD, INIT),
            True,
        ),
        # A person at another terminal, and a program that the desktop itself has started.
        ((on(process(40, 1, "ctl"), 39, 6), on(process(39, 1, "zsh"), 39, 6), INIT), False),
        ((on(process(40, 1, "ctl"), 39, 6), *line("tmux: server", "systemd")), False),
        ((on(process(40, 1, "approve"), 40, 0), *line("gnome-shell"), USER_SYSTEMD, INIT), False),
    ],
)
def test_who_may_be_a_child_of_the_agents(approver, related):
    assert are_related(AGENT, approver) is related


def test_an_agent_that_the_desktop_let_go_leaves_a_persons_terminal_unrelated():
    agent = (on(process(20, 1, "cursor"), 20, 0), USER_SYSTEMD, INIT)
    person = (on(process(40, 1, "ctl"), 39, 6), on(process(39, 1, "zsh"), 39, 6), INIT)
    assert not are_related(agent, person)


LET_GO = """
import os, sys
parent = os.getpid()
if os.fork():
    os._exit(0)
if sys.argv[1:]:
    os.setsid()
while os.getppid() == parent:
    pass
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("own_session", [(), ("setsid",)])
def test_a_real_background_child(own_session):
    """Its parent has gone, it is no more below this test, and it has no terminal."""
    command = [sys.executable, "-c", LET_GO, *own_session]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        orphan = ancestry_of(int(child.stdout.readline()))
        assert os.getpid() not in {one.pid for one in orphan}
        assert are_related(ancestry_of(os.getpid()), orphan)
        child.stdin.close()


def test_another_users_process_relates_nobody():
    foreign = process(4711, 1, "supervisor", UID + 1)
    assert not are_related((*line("agent"), foreign), (*line("ctl"), foreign))


def test_a_pid_that_was_given_out_again_is_another_process():
    assert not are_related((process(4711, 1, "bash"),), (process(4711, 2, "bash"),))


def test_a_real_process_and_its_parent():
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        found = ancestry_of(child.pid)
        assert [one.pid for one in found[:2]] == [child.pid, os.getpid()]
        assert found[0].uid == UID
        assert are_related(found, ancestry_of(os.getpid()))
        child.stdin.close()


def test_a_process_that_is_gone_is_unknown():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert ancestry_of(child.pid) == ()
