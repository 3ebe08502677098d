"""Who may connect: the same user's processes, but none that descends from a server of ours."""

import os
import socket
import subprocess
import sys

import pytest

from toolsearchd.system.peer import ancestors, identify


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


def test_ancestors_of_a_child():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert ancestors(child.pid)[0] == os.getpid()
    finally:
        child.communicate()
    assert ancestors(child.pid) == []
