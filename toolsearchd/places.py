"""Where things are: runtime directory, config file, state directory. Standard library only."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

NAME = "toolsearchd"


def runtime_dir() -> Path:
    """`$XDG_RUNTIME_DIR/toolsearchd`, else below /run/user, else a folder of the user's in the temp dir."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        return Path(given) / NAME
    run = Path("/run/user") / str(os.getuid())
    if os.access(run, os.W_OK):
        return run / NAME
    return Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}"


def config_file() -> Path:
    """`$XDG_CONFIG_HOME/toolsearchd/config.yaml`."""
    return _home_dir("XDG_CONFIG_HOME", ".config") / NAME / "config.yaml"


def state_dir() -> Path:
    """`$XDG_STATE_HOME/toolsearchd`."""
    return _home_dir("XDG_STATE_HOME", ".local/state") / NAME


def _home_dir(variable: str, below_home: str) -> Path:
    given = os.environ.get(variable)
    return Path(given) if given else Path("~").expanduser() / below_home
