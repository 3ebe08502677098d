"""A private daemon for end-to-end tests: its own directories, a real process, real sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import yaml

from tests.wire import Wire

BIN = Path(sys.executable).parent


def wait_until(condition, *, within_s=20.0, what="the condition"):
    """A bounded poll; returns the first true value."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {within_s} s")
        time.sleep(0.02)
    return value


class DaemonProcess:
    """`config`: the daemon's config as a map. `servers`: entries of an mcpServers file named in `sources`."""

    def __init__(self, root: Path, *, servers=None, config=None, env=None):
        self.root = root
        self.runtime_dir = root / "run"
        self.state_dir = root / "state"
        self.config_file = root / "config.yaml"
        self.servers_file = root / "mcp.json"
        self.log = root / "daemon.log"
        self.config = {"sources": [{"path": str(self.servers_file), "format": "claude-desktop"}]} | (
            config or {}
        )
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("LISTEN_", "NOTIFY_"))},
            "HOME": str(root),
            "XDG_CONFIG_HOME": str(root / "xdg"),
            **(env or {}),
        }
        self.python, self.program = sys.executable, ["-m", "toolsearchd"]
        self.process = None
        self.ready_after_s = None
        self.write_servers(servers or {})
        self.write_config(self.config)

    def write_config(self, config):
        self.config_file.write_text(yaml.safe_dump(config))

    def write_servers(self, servers):
        """As an editor saves: a new file, renamed over the old one."""
        new = self.servers_file.with_suffix(".new")
        new.write_text(json.dumps({"mcpServers": servers}))
        new.replace(self.servers_file)

    def start(self, *, wait=True, **popen):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            self._start(notify, wait, popen)
        return self

    def _start(self, notify, wait, popen):
        address = f"\0toolsearchd-test-{os.getpid()}-{id(self)}-{time.monotonic_ns()}"
        notify.bind(address)
        notify.settimeout(30)
        begun = time.monotonic()
        command = [self.python, *self.program, "--log-level", "debug"]
        command += [
            *(("--config", self.config_file) if self.config_file is not None else ()),
            "--runtime-dir",
            self.runtime_dir,
            "--state-dir",
            self.state_dir,
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=self.env | {"NOTIFY_SOCKET": "@" + address[1:]},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                **popen,
            )
        if wait:
            try:
                while b"READY=1" not in notify.recv(4096):
                    pass
            except TimeoutError:
                raise AssertionError(f"not READY:\n{self.log.read_text()}") from None
            self.ready_after_s = time.monotonic() - begun

    def stop(self, within_s=15):
        """SIGTERM and the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(within_s)

    def __enter__(self):
        return self if self.process else self.start()

    def __exit__(self, *exc):
        if self.process is not None and self.process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise

    # --- asking it --------------------------------------------------------------------------------

    def ctl(self, *args, timeout=60):
        """toolsearchctl with --json: (exit status, document)."""
        done = subprocess.run(
            [BIN / "toolsearchctl", "--runtime-dir", self.runtime_dir, "--json", *map(str, args)],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {"stderr": done.stderr}

    def known_servers(self, name=None):
        """What `toolsearchctl servers` shows; none where nobody answers, or the name is unknown."""
        try:
            with Wire(self.runtime_dir / "control.sock") as control:
                reply = control.ask({"op": "servers", "id": 1, "name": name}) or {}
        except OSError:
            return []
        return reply.get("servers", [])

    def server(self, name):
        return next(iter(self.known_servers(name)), None)

    def wait_servers(self, *names, state="ready", within_s=60):
        """Until each named server is in `state`."""

        def reached():
            found = {server["name"]: server["state"] for server in self.known_servers()}
            return all(found.get(name) == state for name in names)

        wait_until(reached, within_s=within_s, what=f"{names} {state}")

    def rss_bytes(self):
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def processes_with(marker: str) -> list[int]:
    """Pids of processes whose environment holds `marker`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
