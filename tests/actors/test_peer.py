"""Who may connect: the same user's processes, but none that descends from a server of ours."""

import os
import socket
import subprocess
import sys

import pytest

from toolsearchd.system import processes
from toolsearchd.system.peer import identify


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_ourselves(pair):
    peer = identify(pair[0])
    assert (peer.pid, peer.uid, peer.refusal) == (os.getpid(), os.getuid(), "")


def test_another_user_is_refused(pair, monkeypatch):
    # No other user's process connects in a test: the kernel's true answer is compared with another uid.
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    assert "another user" in identify(pair[0]).refusal


def test_without_the_kernels_word_nobody_gets_in():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as no_unix_socket:
        peer = identify(no_unix_socket)
    assert peer.refusal


def test_a_child_and_what_is_above_it():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        climbed = processes.climb(child.pid)
        assert [process.pid for process in climbed[:2]] == [child.pid, os.getpid()]
        assert processes.is_whole(climbed)
        assert not processes.is_whole(climbed[:1])
    finally:
        child.communicate()
    assert processes.climb(child.pid) == []
