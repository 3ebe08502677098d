"""`toolsearchctl` over a file system that ends the process, or fails, in place of its Nth change of anything;
a write is half done then."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

STEPS = ("mkdir", "open", "write", "fchmod", "fchown", "fsync", "rename", "replace", "unlink", "rmdir")


class Steps:
    """`at`: the step, from 1, in whose place `happen` is called; `count`: how many there were."""

    def __init__(self, at, happen):
        self.at = at
        self.count = 0
        self._happen = happen
        self._plain = {name: getattr(os, name) for name in STEPS}

    def patch(self, setattr_):
        for name in STEPS:
            setattr_(os, name, self._counted(name))

    def _counted(self, name):
        plain = self._plain[name]

        def step(*args, **more):
            if name == "open" and not args[1] & os.O_CREAT:
                return plain(*args, **more)
            if name == "write" and not stat.S_ISREG(os.fstat(args[0]).st_mode):
                return plain(*args, **more)
            self.count += 1
            if self.count == self.at:
                if name == "write":
                    plain(args[0], bytes(args[1])[: len(args[1]) // 2])
                self._happen()
            return plain(*args, **more)

        return step


class Killed:
    """Runs of `toolsearchctl`, each killed in place of its Nth step: forks of one process that has loaded
    everything. A run that has fewer steps comes to its end."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *exc):
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def run(self, at, *words):
        """The exit status, or minus the number of the signal."""
        self._process.stdin.write(json.dumps([at, words]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def main():
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from toolsearchd.ctl.__main__ import main as run
    from toolsearchd.ctl.verbs import install, uninstall  # noqa: F401

    for line in sys.stdin:
        at, words = json.loads(line)
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            Steps(at, lambda: os.kill(os.getpid(), signal.SIGKILL)).patch(setattr)
            run(words)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
