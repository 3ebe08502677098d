"""A second person on this machine: Python code that runs as another uid.

The fixture `second_account` skips, and says so, where the tests don't run as root or no process may change
its uid. `run` waits for the code, `serve` leaves it running for the block.
"""

from __future__ import annotations

import os
import pwd
import select
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

# What code may import is imported before: the interpreter may lie in a home closed to others.
_BECOME = (
    "import fcntl, json, os, select, socket, struct, sys, time; os.umask(0o022); "
    "uid, code = int(sys.argv.pop(1)), sys.argv.pop(1); "
    "os.setgroups([]); os.setgid(uid); os.setuid(uid); exec(code)"
)
_WAIT_S = 30


class SecondAccount:
    """`root`: a directory that both persons can reach; `home`: one in it that is the second person's."""

    def __init__(self, root: Path) -> None:
        self.uid = pwd.getpwnam("nobody").pw_uid
        self.root = root
        self.home = root / "second"
        root.chmod(0o755)
        self.home.mkdir(mode=0o755)
        os.chown(self.home, self.uid, self.uid)

    def run(self, code: str, *args: object) -> str:
        """What `code` (its `sys.argv[1:]` are `args`) prints as the second person."""
        done = subprocess.run(
            self._command(code, args),
            capture_output=True,
            text=True,
            timeout=_WAIT_S,
            check=False,
            cwd="/",
            env={},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def serve(self, code: str, *args: object):
        """`code` runs beside the block, from when it has printed a line; it ends when its stdin does."""
        process = subprocess.Popen(
            self._command(code, args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={},
        )
        try:
            readable, _, _ = select.select([process.stdout], [], [], _WAIT_S)
            if not readable or not process.stdout.readline():
                process.kill()
                raise AssertionError(process.communicate()[1].decode())
            yield process
        finally:
            process.kill()
            process.communicate()

    def _command(self, code, args):
        return [sys.executable, "-I", "-S", "-c", _BECOME, str(self.uid), code, *map(str, args)]


@pytest.fixture
def second_account():
    if os.getuid() != 0:
        pytest.skip("a second account needs root: nobody else may run code as another uid")
    # Not below tmp_path: that is closed to everybody else, all the way down. Short, for sockets.
    root = Path(tempfile.mkdtemp(prefix="two-", dir="/tmp"))
    try:
        account = SecondAccount(root)
        try:
            said = account.run("print(os.getuid())")
        except (AssertionError, OSError) as error:
            pytest.skip(f"no process can change its uid here: {error}")
        assert int(said) == account.uid
        yield account
    finally:
        shutil.rmtree(root)
