"""`install` and `uninstall` on real files: whole at every moment, put back when they fail, and left alone
where they are somebody else's."""

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.installing import TEXTS
from tests.unit.interrupted import Killed, Steps
from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.sources.base import Homes
from toolsearchd.ctl import client_lock, file_changes
from toolsearchd.ctl.__main__ import main
from toolsearchd.ctl.file_changes import Change, apply
from toolsearchd.errors import ToolsearchdError

MOST_STEPS = 200


class Home:
    """A user's home without a daemon."""

    def __init__(self, root, monkeypatch, capsys):
        self.root = root
        self.folder = root / ".config/toolsearchd/clients"
        self._capsys = capsys
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(root))

    def place(self, name, data=None):
        """The client's config at its place, with `data` or as it looks in life."""
        path = Path(CLIENTS[name].format.paths(Homes(str(self.root), f"{self.root}/.config"))[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(TEXTS[name] if data is None else data)
        return path

    def words(self, *words):
        return ["--runtime-dir", str(self.root / "run"), "--json", *map(str, words)]

    def ctl(self, *words):
        """(exit status, document)."""
        with pytest.raises(SystemExit) as caught:
            main(self.words(*words))
        out = self._capsys.readouterr().out
        return caught.value.code, json.loads(out)

    def files(self):
        """Every file and folder but for the daemon's own empty one, with its bytes and mode."""
        own = self.folder.parent
        return {
            str(path.relative_to(self.root)): (
                None if path.is_dir() else path.read_bytes(),
                stat.S_IMODE(path.lstat().st_mode),
            )
            for path in self.root.rglob("*")
            if path not in (own, own.parent)
        }


@pytest.fixture
def killed(home):
    with Killed() as killed:
        yield killed


@pytest.fixture
def home(tmp_path, monkeypatch, capsys):
    root = tmp_path / "home"
    root.mkdir()
    return Home(root, monkeypatch, capsys)


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_there_and_back(home, name):
    path = home.place(name)
    os.chmod(path, 0o644)
    before = home.files()
    assert home.ctl("install", name, "--dry-run")[1]["changed"] is True
    assert home.files() == before
    status, done = home.ctl("install", name)
    assert (status, done["file"], done["changed"]) == (0, str(path), True)
    assert done["door"]["args"][-3:] == ["mcp", "--client", name]
    assert os.access(done["door"]["command"], os.X_OK)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    for kept in (done["moved_file"], done["backup"]):
        assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    assert home.ctl("install", name)[1]["changed"] is False
    status, back = home.ctl("uninstall", name)
    assert (status, back["identical"], back["restored"]) == (0, True, done["moved"])
    assert home.files() == before


def test_killed_at_any_step_the_old_or_the_new_file_is_there_whole(home, killed):
    """And whatever is done then brings the servers back."""
    path = home.place("codex")
    old = TEXTS["codex"]
    home.ctl("install", "codex")
    new = path.read_bytes()
    installed = home.root / "installed"
    shutil.copytree(home.folder, installed)
    seen = {"install": [], "uninstall": []}
    for verb, start in (("install", old), ("uninstall", new)):
        for at in range(1, MOST_STEPS):
            shutil.rmtree(home.folder, ignore_errors=True)
            if verb == "uninstall":
                shutil.copytree(installed, home.folder)
            path.write_bytes(start)
            status = killed.run(at, *home.words(verb, "codex"))
            if status == 0:
                break
            assert status == -signal.SIGKILL
            left = path.read_bytes()
            assert left in (old, new)
            seen[verb].append(left == new)
            # Every server stands somewhere: the client has it, or the daemon.
            kept = home.folder / "codex.toml"
            assert left == old or b"mcp-server-time" in kept.read_bytes()
            if at % 2:
                assert home.ctl("install", "codex")[0] == 0
                assert path.read_bytes() == new
            status, document = home.ctl("uninstall", "codex")
            assert status == 0 or document["error"]["code"] == "NOT_INSTALLED"
            assert path.read_bytes() == old
            assert not home.folder.exists()
            assert list(path.parent.iterdir()) == [path]
        else:
            raise AssertionError("it never came to its end")
    assert len(seen["install"]) > 20
    assert len(seen["uninstall"]) > 8
    assert set(seen["install"]) == set(seen["uninstall"]) == {True, False}


@pytest.mark.parametrize("verb", ["install", "uninstall", "reinstall", "disclosure"])
def test_a_failure_at_any_step_leaves_all_as_it_was(home, monkeypatch, verb):
    path = home.place("vscode")
    words = ["install", "vscode"] if verb == "reinstall" else [verb, "vscode"]
    if verb == "disclosure":
        words.append("direct")
    if verb != "install":
        home.ctl("install", "vscode")
    if verb == "reinstall":  # one comes, one goes back
        path.write_bytes(path.read_bytes().replace(b'"github"', b'"new": {"command": "x"}, "github"'))
        words += ["--keep", "time"]
    before = home.files()
    shutil.copytree(home.root, home.root.with_name("before"))

    def fail():
        raise OSError(errno.ENOSPC, "No space left on device")

    failed, harmless = 0, 0
    for at in range(1, MOST_STEPS):
        steps = Steps(at, fail)
        with monkeypatch.context() as patched:
            steps.patch(patched.setattr)
            status, document = home.ctl(*words)
        if steps.count < at:
            break
        if status:
            failed += 1
            assert document["error"]["code"] == "WRITE_FAILED"
            assert "No space left on device" in document["error"]["message"]
            assert home.files() == before
        else:  # nothing to sweep, a folder that is there already, an empty one that stays
            harmless += 1
            shutil.rmtree(home.root)
            shutil.copytree(home.root.with_name("before"), home.root)
    assert status == 0
    assert failed > 5
    assert harmless <= 7


def test_a_file_written_by_somebody_else_meanwhile_is_theirs(home, monkeypatch):
    path = home.place("cursor")
    theirs = b'{"mcpServers": {"mine": {"command": "new"}}}'
    plain = os.fsync

    def fsync(fd):
        if ".mcp.json.toolsearchd-new" in os.readlink(f"/proc/self/fd/{fd}"):
            path.write_bytes(theirs)
        return plain(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    status, document = home.ctl("install", "cursor")
    assert (status, document["error"]["code"]) == (1, "CONFIG_CHANGED")
    assert path.read_bytes() == theirs
    assert list(path.parent.iterdir()) == [path]
    assert not home.folder.exists()


def test_claude_codes_own_lock_is_waited_for(home, monkeypatch):
    path = home.place("claude-code")
    lock = path.with_name(".claude.json.lock")
    lock.mkdir()
    command = [sys.executable, "-m", "toolsearchd.ctl", *home.words("install", "claude-code")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as waiting:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(2)
        theirs = path.read_bytes().replace(b'"numStartups": 214', b'"numStartups": 215')
        path.write_bytes(theirs)
        lock.rmdir()
        assert json.loads(waiting.communicate(timeout=60)[0])["changed"] is True
    assert b'"numStartups": 215' in path.read_bytes()
    assert not lock.exists()
    lock.mkdir()
    monkeypatch.setattr(client_lock, "_WAIT_S", 0.1)
    status, document = home.ctl("uninstall", "claude-code")
    assert (status, document["error"]["code"]) == (1, "CONFIG_CHANGED")
    os.utime(lock, (0, 0))  # left behind
    assert home.ctl("uninstall", "claude-code")[0] == 0
    assert path.read_bytes() == theirs
    assert not lock.exists()


def test_through_a_link_the_file_behind_it_is_changed(home):
    path = home.place("hermes")
    behind = home.root / "dotfiles/hermes.yaml"
    behind.parent.mkdir()
    path.rename(behind)
    path.symlink_to("../dotfiles/hermes.yaml")
    assert home.ctl("install", "hermes")[0] == 0
    assert os.readlink(path) == "../dotfiles/hermes.yaml"
    assert b"toolsearchctl" in behind.read_bytes()
    assert home.ctl("uninstall", "hermes")[1]["identical"] is True
    assert behind.read_bytes() == TEXTS["hermes"]
    assert path.is_symlink()


def test_a_file_that_is_read_only_is_meant_so(home):
    path = home.place("cursor")
    os.chmod(path, 0o444)
    before = home.files()
    status, document = home.ctl("install", "cursor")
    assert (status, document["error"]["code"]) == (1, "WRITE_FAILED")
    assert "read-only (mode 0444)" in document["error"]["message"]
    assert home.files() == before


def test_what_is_no_file_is_not_read(home):
    path = home.place("cursor")
    path.unlink()
    os.mkfifo(path)
    status, document = home.ctl("install", "cursor")
    assert (status, document["error"]["code"]) == (1, "BAD_CONFIG")
    path.unlink()
    path.symlink_to(path)
    status, document = home.ctl("install", "cursor")
    assert (status, document["error"]["code"]) == (1, "BAD_CONFIG")


def test_a_client_without_a_config_gets_one_and_loses_it_again(home):
    path = home.place("vscode")
    path.unlink()
    before = home.files()
    assert home.ctl("install", "vscode")[0] == 0
    assert list(json.loads(path.read_bytes())["servers"]) == ["toolsearchd"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert home.ctl("uninstall", "vscode")[1]["identical"] is True
    assert home.files() == before


def test_a_client_that_is_not_there(home):
    status, document = home.ctl("install", "codex")
    assert (status, document["error"]["code"]) == (1, "NO_CLIENT")
    with pytest.raises(SystemExit) as caught:
        main(["install", "emacs"])
    assert caught.value.code == 2


def test_where_a_client_keeps_its_config(home, monkeypatch, tmp_path):
    elsewhere = tmp_path / "codex-home"
    elsewhere.mkdir()
    (elsewhere / "config.toml").write_bytes(TEXTS["codex"])
    monkeypatch.setenv("CODEX_HOME", str(elsewhere))
    assert home.ctl("install", "codex", "--dry-run")[1]["file"] == str(elsewhere / "config.toml")
    insiders = home.root / ".config/Code - Insiders/User/mcp.json"
    insiders.parent.mkdir(parents=True)
    insiders.write_bytes(TEXTS["vscode"])
    assert home.ctl("install", "vscode", "--dry-run")[1]["file"] == str(insiders)


def test_a_named_file_is_remembered_and_a_projects_is_refused(home, tmp_path):
    named = tmp_path / "portable/mcp.json"
    named.parent.mkdir()
    named.write_bytes(TEXTS["cursor"])
    home.place("cursor")
    assert home.ctl("install", "cursor", "--file", named)[1]["file"] == str(named)
    status, document = home.ctl("install", "cursor", "--file", home.place("cursor"))
    assert (status, document["error"]["code"]) == (1, "BAD_ARGUMENTS")
    assert f"installed with {named}" in document["error"]["message"]
    assert home.ctl("uninstall", "cursor")[1]["file"] == str(named)
    assert named.read_bytes() == TEXTS["cursor"]
    project = tmp_path / "shop/.cursor/mcp.json"
    project.parent.mkdir(parents=True)
    project.write_bytes(TEXTS["cursor"])
    status, document = home.ctl("install", "cursor", "--file", project)
    assert (status, document["error"]["code"]) == (1, "BAD_ARGUMENTS")


def test_a_record_that_makes_no_sense_is_said_with_the_backups_place(home):
    home.place("cursor")
    home.ctl("install", "cursor")
    (home.folder / "cursor.record").write_text("{")
    status, document = home.ctl("uninstall", "cursor")
    assert (status, document["error"]["code"]) == (1, "BAD_CONFIG")
    assert str(home.folder / "cursor.original") in document["error"]["message"]


def test_one_after_the_other(home):
    """Two at once: the second sees what the first has done."""
    path = home.place("cursor")
    command = [sys.executable, "-m", "toolsearchd.ctl", *home.words("install", "cursor")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    done = [json.loads(process.communicate(timeout=60)[0]) for process in both]
    assert sorted(one["changed"] for one in done) == [False, False, False, True]
    home.ctl("uninstall", "cursor")
    assert path.read_bytes() == TEXTS["cursor"]


def test_what_can_not_be_put_back_is_named(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"old")
    plain = os.rename
    renamed = []

    def rename(*args):
        renamed.append(args)
        if len(renamed) > 1:
            raise OSError(errno.EIO, "Input/output error")
        plain(*args)

    monkeypatch.setattr(file_changes.os, "rename", rename)
    with pytest.raises(ToolsearchdError) as caught:
        apply([Change(first, b"old", b"new"), Change(second, None, b"new")])
    assert f"not put back as it was: {first}" in caught.value.message
