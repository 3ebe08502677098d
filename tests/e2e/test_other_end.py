"""Whose socket is it? Every client looks before its first byte, and refuses what is not this user's alone."""

import os
import socket
import stat

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.e2e.other_ends import endings
from tests.wire import Wire
from toolsearchd.endpoint import RefusedError, check_home_of

# Serves at the paths and notes in the last argument, a file, what each connection sent.
LISTENS = """
listeners = []
for path in sys.argv[1:-1]:
    one = socket.socket(socket.AF_UNIX)
    one.bind(path)
    os.chmod(path, 0o666)
    one.listen(16)
    listeners.append(one)
with open(sys.argv[-1], "ab", buffering=0) as heard:
    print("listening", flush=True)
    while True:
        for one in select.select(listeners, [], [])[0]:
            sock, _ = one.accept()
            heard.write(b"connected\\n" + sock.recv(4096))
            sock.close()
"""
SOCKETS = ("agent.sock", "control.sock")


@pytest.fixture
def ours(tmp_path):
    """A runtime directory in which listeners of ours stand; whoever connects would be a mistake."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    listeners = []
    for name in SOCKETS:
        listeners.append(socket.socket(socket.AF_UNIX))
        listeners[-1].bind(str(directory / name))
        listeners[-1].listen(16)
        listeners[-1].setblocking(False)
    yield directory
    for listener in listeners:
        with pytest.raises(BlockingIOError):
            listener.accept()
        listener.close()


def refused(runtime_dir, *words):
    """All refuse, with these words; the programs' exit status is that of an error."""
    found = endings(runtime_dir)
    for name, ending in found.items():
        assert ending.code == "NOT_ALLOWED", (name, ending)
        assert ending.status in (None, 1), (name, ending)
        for word in words:
            assert word in ending.message, (name, ending)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_directory_that_others_may_write(ours, mode):
    ours.chmod(mode)
    refused(ours, str(ours), f"mode {mode:04o}", f"chmod 700 {ours}")


def test_a_directory_that_is_a_link(ours, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(ours)
    refused(link, str(link), "is a link of")


def test_a_socket_that_is_a_link(ours, tmp_path):
    directory = tmp_path / "other"
    directory.mkdir(mode=0o700)
    for name in SOCKETS:
        (directory / name).symlink_to(ours / name)
    refused(directory, ".sock is a link of", "remove it")


def test_a_directory_of_another_account(second_account, ours):
    os.chown(ours, second_account.uid, second_account.uid)
    refused(ours, str(ours), "belongs to nobody", "uid 0", "--runtime-dir")


def test_a_socket_of_another_account_in_our_directory(second_account, ours):
    for name in SOCKETS:
        os.chown(ours / name, second_account.uid, second_account.uid)
    refused(ours, ".sock belongs to nobody")


@pytest.fixture
def theirs(second_account):
    """A directory of the second person's, who listens in it; and what was heard."""
    heard = second_account.home / "heard"
    paths = [second_account.home / name for name in SOCKETS]
    with second_account.serve(LISTENS, *paths, heard):
        yield second_account.home, heard


def test_another_accounts_daemon(theirs):
    directory, heard = theirs
    refused(directory, "belongs to nobody")
    assert not heard.exists() or heard.read_bytes() == b""


def test_another_account_behind_a_socket_that_looks_like_ours(theirs, tmp_path):
    """Only the kernel tells: owner and mode of directory and socket are as they should be."""
    directory, heard = theirs
    os.chown(directory, 0, 0)
    directory.chmod(0o700)
    for name in SOCKETS:
        os.chown(directory / name, 0, 0)
    refused(directory, "is a process of nobody", "nothing was sent")
    wait_until(lambda: heard.read_bytes().count(b"\n") >= 5, what="the connections' ends")
    assert heard.read_bytes() == b"connected\n" * 5


def test_no_daemon_is_started_in_anothers_place(second_account):
    home = second_account.home
    refused_by = {}
    for place in (home, home / "run", home / "a" / "b" / "run"):
        with pytest.raises(RefusedError) as caught:
            check_home_of(str(place))
        refused_by[place] = str(caught.value)
    assert all("nobody" in words for words in refused_by.values())
    check_home_of(str(second_account.root / "run"))
    check_home_of("/tmp/toolsearchd-nobody-made-this")
    refused_relay = endings(home / "run")["by_relay"]
    assert (refused_relay.code, refused_relay.status) == ("NOT_ALLOWED", 1)
    assert not (home / "run").exists()


def test_another_account_gets_no_answer_from_the_daemon(second_account, tmp_path):
    """Also where directory and sockets were opened to everybody."""
    said = """
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(20)
sock.connect(sys.argv[1])
try:
    sock.sendall(b"\\0\\0\\0\\1x" * 100)
    answer = sock.recv(4096)
except OSError:
    answer = b""
print(answer)
"""
    with DaemonProcess(second_account.root) as daemon:
        daemon.runtime_dir.chmod(0o755)
        for name in SOCKETS:
            path = daemon.runtime_dir / name
            path.chmod(0o666)
            assert stat.S_IMODE(path.stat().st_mode) == 0o666
            answer = second_account.run(said, path)
            assert "another user's process" in answer or answer.strip() == "b''"
        daemon.runtime_dir.chmod(0o700)
        with Wire(daemon.runtime_dir / "control.sock") as wire:
            assert wire.ask({"op": "ping", "id": 1})["op"] == "result"
        log = daemon.log.read_text()
        assert log.count("another user's process") == 2
