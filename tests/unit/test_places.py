"""Where things are, in ordinary and in odd environments."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from toolsearchd import places


@pytest.fixture
def environ(monkeypatch):
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


def test_the_variables_say_where(environ):
    environ("XDG_RUNTIME_DIR", "/run/me")
    environ("XDG_CONFIG_HOME", "/etc/me")
    environ("XDG_STATE_HOME", "/var/me")
    assert places.runtime_dir() == Path("/run/me/toolsearchd")
    assert places.config_file() == Path("/etc/me/toolsearchd/config.yaml")
    assert places.state_dir() == Path("/var/me/toolsearchd")


def test_below_home_without_them(environ):
    environ("HOME", "/home/me")
    assert places.config_file() == Path("/home/me/.config/toolsearchd/config.yaml")
    assert places.state_dir() == Path("/home/me/.local/state/toolsearchd")


@pytest.mark.parametrize("odd", ["", "relative/place", "~"])
def test_what_is_no_absolute_path_counts_as_unset(environ, odd):
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        environ(name, odd)
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert places.config_file() == home / ".config/toolsearchd/config.yaml"
    assert places.runtime_dir().is_absolute()


def test_without_a_runtime_directory_it_is_one_of_the_users_own(environ, tmp_path):
    code = (
        "import os; os.access = lambda *_: False\nfrom toolsearchd import places; print(places.runtime_dir())"
    )
    env = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True)
    assert done.stdout.strip() == f"{tmp_path}/toolsearchd-{os.getuid()}", done.stderr
