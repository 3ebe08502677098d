"""A daemon of one's own, in a temporary directory that goes with it. It reads no config of the user's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import toolsearchd
from toolsearchd.client import ControlClient
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.control_replies import ServerStatus
from toolsearchd.system.state_file import write_private

T = TypeVar("T")

_START_S = 30.0
_STOP_S = 15.0  # the daemon promises 12
_DROPPED = ("LISTEN_", "NOTIFY_", "TOOLSEARCHD_", "XDG_")


def wait_for(what: str, found: Callable[[], T | None], within_s: float = _START_S) -> T:
    """Asks until there is something. Raises INTERNAL after `within_s`: all of it is our own."""
    deadline = time.monotonic() + within_s
    while (value := found()) is None:
        if time.monotonic() > deadline:
            raise ToolsearchdError("INTERNAL", f"{what} took longer than {within_s:g} s")
        time.sleep(0.02)
    return value


class PrivateDaemon:
    """A context manager; when it is left nothing remains, neither process nor file."""

    def __init__(self) -> None:
        # A socket's path has at most 107 bytes; some temporary directories take most of them.
        parent = tempfile.gettempdir()
        short = parent if len(parent) < 60 else "/tmp"  # noqa: S108 - mkdtemp makes it private anywhere
        self.root = Path(tempfile.mkdtemp(prefix="toolsearchd-demo-", dir=short))
        self.runtime_dir = self.root / "run"
        self._servers_file = self.root / "mcp.json"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PrivateDaemon:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def serve(self, servers: dict[str, list[str]]) -> None:
        """Name → module and arguments. Written as an editor saves: the daemon sees the change itself."""
        package_parent = str(Path(toolsearchd.__file__).parent.parent)
        entries = {
            name: {
                "command": sys.executable,
                "args": ["-P", "-m", *module],
                "env": {"PYTHONPATH": package_parent},
            }
            for name, module in servers.items()
        }
        write_private(self._servers_file, json.dumps({"mcpServers": entries}).encode())

    def wait_ready(self, names: set[str]) -> None:
        """Until exactly these servers have answered with their tools."""

        def ready() -> bool | None:
            states = {server.name: server.state for server in self.servers()}
            return (states.keys() == names and set(states.values()) == {"ready"}) or None

        wait_for("starting the servers", ready)

    def servers(self) -> list[ServerStatus]:
        with self.control() as control:
            return control.servers().servers

    def control(self) -> ControlClient:
        return ControlClient(runtime_dir=self.runtime_dir, timeout_s=_START_S)

    def log_tail(self) -> str:
        try:
            return (self.root / "daemon.log").read_text(errors="replace")[-4000:]
        except OSError:
            return ""

    def close(self) -> None:
        process = self._process
        try:
            if process is not None and process.poll() is None:
                process.terminate()
                process.wait(_STOP_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            assert process is not None
            process.kill()
            process.wait()
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    def _start(self) -> None:
        config = self.root / "config.yaml"
        sources = [{"path": str(self._servers_file), "format": "claude-desktop"}]
        config.write_text(json.dumps({"sources": sources, "tools": {"tool_search": {"enabled": "on"}}}))
        self.serve({})
        command = [sys.executable, "-P", "-m", "toolsearchd", "--config", str(config)]
        command += ["--runtime-dir", str(self.runtime_dir), "--state-dir", str(self.root / "state")]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
        environ |= {"HOME": str(self.root), "PYTHONPATH": str(Path(toolsearchd.__file__).parent.parent)}
        with (self.root / "daemon.log").open("wb") as log:
            self._process = process = subprocess.Popen(
                command, env=environ, cwd=self.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

        def answers() -> bool | None:
            if process.poll() is not None:
                raise ToolsearchdError("INTERNAL", f"the daemon ended at once:\n{self.log_tail()}")
            try:
                self.control().close()
            except ToolsearchdError:
                return None
            return True

        wait_for("starting the daemon", answers)
