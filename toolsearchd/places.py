"""Where things are: runtime directory, config file, state directory. Standard library only.

A variable that is empty or holds no absolute path counts as unset (XDG Base Directory Specification).
"""

from __future__ import annotations

import os
from pathlib import Path

NAME = "toolsearchd"


def runtime_dir() -> Path:
    """`$XDG_RUNTIME_DIR/toolsearchd`, else below /run/user, else a folder of the user's in the temp dir."""
    given = _absolute("XDG_RUNTIME_DIR")
    if given is not None:
        return given / NAME
    run = Path("/run/user") / str(os.getuid())
    if os.access(run, os.W_OK):
        return run / NAME
    import tempfile  # takes a megabyte: only where it is needed, the relay runs in every agent

    return Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}"


def config_file() -> Path:
    """`$XDG_CONFIG_HOME/toolsearchd/config.yaml`."""
    return _home_dir("XDG_CONFIG_HOME", ".config") / NAME / "config.yaml"


def state_dir() -> Path:
    """`$XDG_STATE_HOME/toolsearchd`."""
    return _home_dir("XDG_STATE_HOME", ".local/state") / NAME


def _home_dir(variable: str, below_home: str) -> Path:
    return _absolute(variable) or (_absolute("HOME") or _home_of_user()) / below_home


def _absolute(variable: str) -> Path | None:
    given = os.environ.get(variable, "")
    return Path(given) if os.path.isabs(given) else None


def _home_of_user() -> Path:
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container's user without an entry
        return Path("/")
