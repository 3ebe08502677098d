"""Whose server bears a marker, and is that daemon surely dead?"""

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.system import processes
from toolsearchd.system.marker import Mark, mark_in, marker

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


def here():
    return processes.pid_namespace(os.getpid())


def in_environment(value):
    return [b"PATH=/bin", f"TOOLSEARCHD_SERVER={value}".encode(), b"NOT_TOOLSEARCHD_SERVER=1:x:1:1:1", b""]


@given(names, st.integers(0, 10**9))
def test_any_name_reads_back(name, number):
    us = processes.read(os.getpid())
    assert mark_in(in_environment(marker(name, number))) == Mark(os.getpid(), us.started, here())


@given(st.binary(max_size=60))
def test_what_somebody_else_wrote_raises_nothing(value):
    mark_in([b"TOOLSEARCHD_SERVER=" + value])


def test_a_living_daemon_and_a_dead_one():
    table = processes.read_all()
    us = table[os.getpid()]
    assert not Mark(us.pid, us.started, here()).names_dead_daemon(us.pid, table)
    # Its pid has been given out again, its process is a zombie, or there is none.
    assert Mark(us.pid, us.started - 1, here()).names_dead_daemon(us.pid, table)
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        zombie = processes.read(child.pid)
        mark = Mark(zombie.pid, zombie.started, here())
        assert mark.names_dead_daemon(us.pid, table | {zombie.pid: zombie})
    assert mark.names_dead_daemon(us.pid, processes.read_all())


def test_of_another_pid_namespace_nothing_is_told():
    """There the same number is another process: a daemon in a container, seen from outside."""
    table = processes.read_all()
    assert not Mark(10**8, 1, here() + 1).names_dead_daemon(os.getpid(), table)
    assert not Mark(10**8, 1, 0).names_dead_daemon(os.getpid(), table)
