"""A virtual environment per peer, made once and kept while its requirements stay the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
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
    home = folder / peer.name
    python, stamp = home / "bin" / "python", home / "installed"
    wanted = "\n".join((sys.version, *peer.requirements))
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return python
    shutil.rmtree(home, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "venv", "--without-pip", home)  # this interpreter's pip does it, sooner
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    _run(*pip, "install", "-q", *peer.requirements)
    stamp.write_text(wanted, "utf-8")
    return python


def _run(*command: object) -> None:
    try:
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=INSTALL_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(str(error)) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
        raise NotInstalledError(next((line for line in said if "ERROR" in line.upper()), said[-1]))
