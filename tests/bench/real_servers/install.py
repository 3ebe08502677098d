"""One installation per published server, kept while its pin stays the same."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.bench.peers.venvs import VENVS, environment, made_once, run
from tests.servers.node import NODE, NPM


def entry_of(server: dict[str, Any], folder: Path = VENVS) -> dict[str, Any]:
    """An `mcpServers` entry for a row of `servers.json`. Raises NotInstalledError."""
    args = server.get("args", [])
    if "pypi" in server:
        home = environment(f"pypi-{server['name']}", [server["pypi"]], folder)
        command = [str(home / "bin" / server["run"])]
    else:
        command = [str(NODE), _script(_package(server["npm"], folder / f"npm-{server['name']}"), server)]
    return {"command": command[0], "args": [*command[1:], *args], "env": server.get("env", {})}


def _package(pin: str, home: Path) -> Path:
    """The folder of the installed package."""

    def install(home: Path) -> None:
        home.mkdir()
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error")
        run(
            "env",
            f"PATH={NODE.parent}:{os.environ['PATH']}",
            NODE,
            NPM,
            "install",
            "--prefix",
            home,
            *quiet,
            pin,
        )

    return made_once(home, pin, install) / "node_modules" / pin.rpartition("@")[0]


def _script(package: Path, server: dict[str, Any]) -> str:
    programs = json.loads((package / "package.json").read_text("utf-8"))["bin"]
    if isinstance(programs, str):
        return str(package / programs)
    return str(package / programs[server.get("run") or next(iter(programs))])
