"""`approvals --watch` at a terminal: a prompt is shown, a key answers it."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

from tests.daemon import BIN
from tests.e2e.test_approvals import Calling, erase, started


@pytest.fixture
def daemon(tmp_path):
    with started(tmp_path, {"approval": {"wait_s": 30}}) as daemon:
        yield daemon
        daemon.close_agents()


class Terminal:
    """toolsearchctl with a terminal of its own."""

    def __init__(self, daemon):
        self.fd, theirs = pty.openpty()
        self.shown = ""
        self.process = subprocess.Popen(
            [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "approvals", "--watch"],
            env=daemon.env | {"NO_COLOR": "1"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def wait_for(self, pattern, within_s=20):
        """Until the screen shows it, behind what was waited for before."""
        deadline = time.monotonic() + within_s
        while not (found := re.search(pattern, self.shown)):
            assert time.monotonic() < deadline, f"no {pattern!r} in:\n{self.shown}"
            if select.select([self.fd], [], [], 0.1)[0]:
                self.shown += os.read(self.fd, 65536).decode()
        self.shown = self.shown[found.end() :]
        return found

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


def test_keys_answer(daemon):
    with Terminal(daemon) as terminal:
        terminal.wait_for("waiting for calls")
        denied = Calling(daemon, erase(n=1))
        approval = terminal.wait_for(r"(\w{5})  mcp__steady__erase")[1]
        terminal.wait_for(r'sends     \{"n":1\}')
        terminal.wait_for(r"\[q\] quit")
        time.sleep(0.5)  # a key right behind a new prompt is not meant for it
        terminal.press("d")
        terminal.wait_for(f"{approval}: denied")
        assert denied.result()["error"]["code"] == "DENIED"

        approved = Calling(daemon, erase(n=2))
        approval = terminal.wait_for(r"(\w{5})  mcp__steady__erase")[1]
        terminal.wait_for(r"\[q\] quit")
        time.sleep(0.5)
        terminal.press("a")
        terminal.wait_for("the code that the notification shows: ")
        terminal.press(daemon.code_of(approval) + "\n")
        terminal.wait_for(f"{approval}: approved")
        assert approved.result()["response"]

        terminal.press("q")
        assert terminal.process.wait(20) == 0
