"""A virtual environment per peer, made once and kept while its requirements stay the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench.peers.registry import Peer

VENVS = Path(__file__).parents[1] / ".venvs"
INSTALL_S = 600


class NotInstalledError(Exception):
    """The peer can't be had here; the text says why."""


def python_for(peer: Peer, folder: Path = VENVS) -> Path:
    """The interpreter that has what the peer needs. Raises NotInstalledError."""
    if not peer.requirements:
        return Path(sys.executable)
    return environment(peer.name, peer.requirements, folder) / "bin" / "python"


def environment(name: str, requirements: Sequence[str], folder: Path = VENVS) -> Path:
    """The virtual environment that holds `requirements`. Raises NotInstalledError."""

    def install(home: Path) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", home)  # this interpreter's pip does it, sooner
        pip = (
            sys.executable,
            "-m",
            "pip",
            "--python",
            home / "bin" / "python",
            "--disable-pip-version-check",
        )
        run(*pip, "install", "-q", *requirements)

    return made_once(folder / name, "\n".join((sys.version, *requirements)), install)


def made_once(home: Path, wanted: str, install: Callable[[Path], None]) -> Path:
    """`home`, installed anew unless it was for this very text."""
    stamp = home / "installed"
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        shutil.rmtree(home, ignore_errors=True)
        home.parent.mkdir(parents=True, exist_ok=True)
        install(home)
        stamp.write_text(wanted, "utf-8")
    return home


def run(*command: object) -> None:
    """To its end, or NotInstalledError with the line that says why."""
    try:
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=INSTALL_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(str(error)) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
        raise NotInstalledError(next((line for line in said if "ERROR" in line.upper()), said[-1]))
