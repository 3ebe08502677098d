"""A daemon with good and bad servers, and what goes wrong around it: kills, freezes, edits of its config."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import threading
import time
from pathlib import Path

import msgspec

from tests.daemon import DaemonProcess, processes_with, wait_until
from tests.servers.zoo import zoo
from tests.soak.history import Done
from tests.wire import Wire
from toolsearchd.limits import Limits

LEDGERS = ("red", "green", "blue")
BAD = {
    "garbage": "odd_bytes",
    "stderr": "stderr_flood",
    "progress": "progress_flood",
    "mortal": "dies_when_called",
}
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
}
CALLED = (*((name, "record") for name in LEDGERS * 3), *((name, "echo") for name in BAD), ("extra", "record"))
ALL_NAMES = {f"mcp__{name}__{tool}" for name, tool in CALLED}
UNREAD_AT_MOST = Limits().outstanding_bytes + Limits().frame_bytes


class World:
    """Owns the daemon and the files; `disrupt` runs in a thread of its own."""

    def __init__(self, root: Path):
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
        }
        self.servers |= {name: zoo("misbehaving", mode, env=mark, timeout=1) for name, mode in BAD.items()}
        self.extra = ledger | {"env": mark | {"WHO": "extra"}}
        self.daemon = DaemonProcess(root, servers=self.servers, config={"limits": LIMITS})
        self.found: list[str] = []  # what must not be
        self.events: list[str] = []  # what was done to it, for people

    def ledger(self) -> list[Done]:
        lines = (line.split() for line in self.ledger_file.read_text().splitlines())
        return [Done(int(pid), nonce) for pid, nonce in lines]

    def ask(self, op: str) -> dict:
        with Wire(self.daemon.runtime_dir / "control.sock") as wire:
            return wire.ask({"op": op, "id": 1})

    def statistics(self) -> dict:
        """What the daemon says of itself on SIGUSR1."""
        pattern = r"statistics: (\{.*\})"
        before = len(re.findall(pattern, self.daemon.log.read_text()))
        self.daemon.process.send_signal(signal.SIGUSR1)
        found = wait_until(
            lambda: re.findall(pattern, self.daemon.log.read_text())[before:], what="statistics"
        )
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
        said = self.statistics()
        return {"fds": said["open_fds"], "tasks": said["tasks"], "sessions": len(said["sessions"])}

    # --- what goes wrong ------------------------------------------------------------------------------

    def disrupt(self, seed: int, over: threading.Event) -> None:
        """Until `over`; then everything is as it was at the start."""
        chance = random.Random(f"{seed} disrupt")
        deeds = {self._kill: 3, self._freeze: 3, self._edit: 2, self._stall: 1, self._fill: 1}
        while not over.wait(chance.uniform(0.1, 0.8)):
            (deed,) = chance.choices(list(deeds), deeds.values())
            deed(chance)
        self.daemon.write_servers(self.servers)

    def _note(self, text: str) -> None:
        self.events.append(f"{time.monotonic():.4f} {text}")

    def _pid(self, chance: random.Random) -> int | None:
        """Of some ledger's process, that is surely one of ours."""
        found = {s["name"]: s["pid"] for s in self.ask("servers")["servers"] if s["name"] in LEDGERS}
        _, pid = chance.choice(sorted(found.items()))
        return pid if pid is not None and pid in processes_with(self._marker) else None

    def _signal(self, pid: int, number: int) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        self._note(f"{signal.Signals(number).name} {pid}")

    def _kill(self, chance: random.Random) -> None:
        if (pid := self._pid(chance)) is not None:
            self._signal(pid, signal.SIGKILL)

    def _freeze(self, chance: random.Random) -> None:
        if (pid := self._pid(chance)) is not None:
            self._signal(pid, signal.SIGSTOP)
            time.sleep(chance.uniform(0.1, 2.5))
            if pid in processes_with(self._marker):
                self._signal(pid, signal.SIGCONT)

    def _edit(self, chance: random.Random) -> None:
        servers = dict(self.servers)
        deed = chance.choice(("add", "remove", "change", "restore"))
        if deed == "add":
            servers["extra"] = self.extra
        elif deed == "remove":
            del servers[chance.choice(sorted(servers))]
        elif deed == "change":
            name = chance.choice(LEDGERS)
            env = servers[name]["env"] | {"TURN": str(chance.random())}
            servers[name] = servers[name] | {"env": env}
        self.daemon.write_servers(servers)
        self._note(f"config: {deed}, now {' '.join(servers)}")

    def _stall(self, chance: random.Random) -> None:
        """A client that asks for much and reads nothing, then goes."""
        with Wire(self.daemon.runtime_dir / "agent.sock", timeout=1) as wire:
            wire.send({"op": "hello", "protocol": 1, "client": "stalled"})
            until = time.monotonic() + 1
            try:
                for number in itertools.count():
                    wire.send({"op": "describe", "id": number, "names": sorted(ALL_NAMES)})
                    if time.monotonic() > until:
                        break
            except (TimeoutError, OSError):
                pass  # it is not read from any more, or was cut
            for session in self.ask("sessions")["sessions"]:
                if session["unread_bytes"] > UNREAD_AT_MOST:
                    self.found.append(f"{session['unread_bytes']} bytes are held for {session['client']}")
            self._note("a client that does not read")

    def _fill(self, chance: random.Random) -> None:
        """A client that says what is no message."""
        with Wire(self.daemon.runtime_dir / "agent.sock") as wire:
            hello = {"op": "hello", "protocol": 1, "client": "odd"}
            wire.send(*[hello] * chance.randint(0, 1))
            wire.send_bytes(
                chance.choice((b"\0\0\0\0", b"\xff" * 8, msgspec.msgpack.encode(hello), b"\0\0\0\5ab"))
            )
            self._note("a client that talks nonsense")
