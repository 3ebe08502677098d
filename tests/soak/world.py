"""A daemon with good and bad servers, a person who answers approvals, what can be seen of it from outside.

What goes wrong around it is in `deeds`.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from tests.daemon import DaemonProcess, processes_with, wait_until
from tests.servers.zoo import zoo
from tests.soak.history import Done, Forbidden
from tests.wire import Wire, agent
from toolsearchd.client import ControlClient
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

LEDGERS = ("red", "green", "blue")
BAD = {
    "garbage": "odd_bytes",
    "stderr": "stderr_flood",
    "progress": "progress_flood",
    "mortal": "dies_when_called",
}
HOSTILE = ("anything", "cursors", "breeder")
# Servers go and come back within the run; in a day's work these waits are longer.
LIMITS = {
    "breaker_open_s": 0.5,
    "reconnect_delays_s": [0.1, 0.2, 0.4, 0.8, 1.6],
    "first_connect_delays_s": [0.1, 0.2, 0.4],
    "parked_probe_s": 1.0,
    "cooldown_s": 0.5,
    "cooldown_max_s": 1.0,
    "deleted_grace_s": 0.2,
    "write_stall_s": 5.0,
    "approval_answer_s": 3.0,
}
CALLED = (
    *((name, "record") for name in LEDGERS * 3),
    *((name, "echo") for name in BAD),
    *((name, "provoke") for name in (*HOSTILE, "anything", "anything")),
    ("extra", "record"),
)
ALL_NAMES = {f"mcp__{name}__{tool}" for name, tool in CALLED}
UNREAD_AT_MOST = Limits().outstanding_bytes + Limits().frame_bytes
NOTIFY_SEND = """#!/bin/sh
for last; do :; done
printf '%s\\0' "$last" >> "$NOTICES"
"""
_GONE = (OSError, AttributeError, TypeError)  # a connection that was cut, at any step of its beginning


class World:
    """Owns the daemon and the files around it."""

    def __init__(self, root: Path):
        self.root = root
        self.ledger_file = root / "ledger"
        self.ledger_file.touch()
        self._marker = f"SOAK_MARKER={os.getpid()}-{time.monotonic_ns()}"
        mark = dict([self._marker.split("=")])
        ledger = zoo("ledger", self.ledger_file, env=mark, timeout=1)
        parallel = {"supports_parallel_tool_calls": True}
        self.servers = {
            "red": ledger | {"env": mark | {"WHO": "red"}},
            "green": ledger | {"env": mark | {"WHO": "green"}} | parallel,
            "blue": ledger | {"env": mark | {"WHO": "blue"}, "max_concurrency": 2},
            "long": zoo("misbehaving", "long_results", env=mark),
        }
        self.servers |= {name: zoo("misbehaving", mode, env=mark, timeout=1) for name, mode in BAD.items()}
        self.servers |= {
            name: zoo("hostile", name, name, env=mark, timeout=1, connect_timeout=5) for name in HOSTILE
        }
        self.extra = ledger | {"env": mark | {"WHO": "extra"}}
        self.daemon = DaemonProcess(
            root, servers=self.servers, config={"limits": LIMITS}, env=self._desktop()
        )
        self.daemon.program = ["-m", "tests.soak.probe", str(root / "steps.json")]
        self.log_file = self.daemon.log
        self.daemon.log = root / "stderr"  # a pipe, that somebody may stop reading
        self.reader: subprocess.Popen[bytes] | None = None
        self.found: list[str] = []  # what must not be
        self.events: list[str] = []  # what was done to it, for people
        self.forbidden: list[Forbidden] = []

    def __enter__(self) -> World:
        os.mkfifo(self.daemon.log)
        with self.log_file.open("ab") as log:
            self.reader = subprocess.Popen(["cat", str(self.daemon.log)], stdout=log)
        self.daemon.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.reader is not None
        try:
            self.daemon.__exit__(*exc)
        finally:
            self.reader.send_signal(signal.SIGCONT)
            try:
                self.reader.wait(10)  # its pipe has no writer any more
            except subprocess.TimeoutExpired:
                self.reader.kill()

    def _desktop(self) -> dict[str, str]:
        programs = self.root / "bin"
        programs.mkdir()
        (programs / "notify-send").write_text(NOTIFY_SEND)
        (programs / "notify-send").chmod(0o755)
        self._notices = self.root / "notices"
        self._notices.touch()
        return {"PATH": f"{programs}:{os.environ['PATH']}", "NOTICES": str(self._notices)}

    # --- seen from outside ------------------------------------------------------------------------

    def ledger(self) -> list[Done]:
        lines = (line.split() for line in self.ledger_file.read_text().splitlines())
        return [Done(int(pid), nonce) for pid, nonce in lines]

    def ask(self, op: str, **fields: object) -> dict:
        """The reply on the control socket, which may be away for a moment."""

        def asked() -> dict | None:
            try:
                with Wire(self.daemon.runtime_dir / "control.sock") as wire:
                    reply = wire.ask({"op": op, "id": 1, **fields})
                    return reply if reply is not None and reply["op"] == "result" else None
            except _GONE:
                status = self.daemon.process.poll()
                assert status is None, f"the daemon ended with {status}"
                return None

        return wait_until(asked, within_s=40, what=f"an answer to {op}")

    def statistics(self) -> dict:
        """What the daemon says of itself on SIGUSR1."""
        pattern = r"statistics: (\{.*\})"
        before = len(re.findall(pattern, self.log_file.read_text()))
        self.daemon.process.send_signal(signal.SIGUSR1)
        found = wait_until(lambda: re.findall(pattern, self.log_file.read_text())[before:], what="statistics")
        return json.loads(found[0])

    def strays(self) -> list[str]:
        """Servers' processes that no server of the daemon's is."""
        known = {server["pid"] for server in self.ask("servers")["servers"]}
        return [
            f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes()!r}"
            for pid in processes_with(self._marker)
            if pid not in known
        ]

    def holdings(self) -> dict[str, int]:
        """What is to be as it was once nobody asks any more."""
        said, pid = self.statistics(), self.daemon.process.pid
        return {
            "fds": said["open_fds"],
            "tasks": said["tasks"],
            "sessions": len(said["sessions"]),
            "threads": len(list(Path(f"/proc/{pid}/task").iterdir())),
            "children": len(children(pid)),
        }

    def longest_steps(self) -> list[tuple[float, str]]:
        """[(milliseconds of CPU, task)] after the daemon has ended."""
        return [tuple(step) for step in json.loads((self.root / "steps.json").read_text())["longest"]]

    # --- the person -------------------------------------------------------------------------------

    def answer_approvals(self, seed: int, over: threading.Event) -> None:
        """Until `over`: each prompt is approved with the code of its notification, refused, or left."""
        chance = random.Random(f"{seed} person")
        left: set[str] = set()
        while not over.wait(0.1):
            try:
                with ControlClient(runtime_dir=self.daemon.runtime_dir, timeout_s=20) as control:
                    for prompt in control.request("approvals")["approvals"]:
                        if prompt["approval"] not in left:
                            left.add(prompt["approval"])
                            self._answer(control, prompt["approval"], chance)
            except (ToolsearchdError, OSError):
                continue  # the sockets are away, or the prompt has ended

    def _answer(self, control: ControlClient, approval: str, chance: random.Random) -> None:
        answer = chance.choice(("approve", "approve", "deny", "leave"))
        if answer == "deny":
            control.request("deny", approval=approval)
        elif answer == "approve":
            pattern = rf"toolsearchctl approve {approval} --code (\d{{6}})"
            if code := re.search(pattern, self._notices.read_text()):
                control.request("approve", approval=approval, scope="once", code=code[1])


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def greeted(daemon: DaemonProcess, **hello: object) -> Wire:
    """An agent's connection, as soon as one can be had: the socket may be away for a moment."""

    def connected() -> Wire | None:
        try:
            wire = agent(daemon, **hello)
        except OSError:
            assert daemon.process.poll() is None, f"the daemon ended with {daemon.process.returncode}"
            return None
        if wire.welcome is not None and wire.welcome["op"] == "welcome":
            return wire
        wire.close()
        return None

    return wait_until(connected, within_s=40, what="a session")
