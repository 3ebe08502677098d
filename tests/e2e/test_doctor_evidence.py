"""`doctor` on servers that failed each in its own way; `--fix` starts again what a person has mended."""

import json
import subprocess
import sys

import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import HERE, zoo


def python(code):
    return {"command": sys.executable, "args": ["-c", code]}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("evidence")
    mended = root / "mended.py"
    servers = {
        "module": python("import no_such_module_here"),
        "status": python("import sys; sys.exit(127)"),
        "variable": python("import sys; sys.exit('Error: BRAVE_API_KEY is not set')"),
        "talks": zoo("misbehaving", "noisy"),
        "mendable": {"command": sys.executable, "args": ["-I", str(mended)]},
    }
    with DaemonProcess(root, servers=servers) as daemon:
        daemon.mended = mended
        daemon.wait_servers("module", "status", "variable", "mendable", state="failed")
        yield daemon


def kinds(daemon, about):
    reply = daemon.ctl("doctor")[1]
    return {one.get("kind"): one for one in reply["findings"] if one["about"] == about}


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("module", "missing-module", "no_such_module_here"),
        ("status", "missing-command", "PATH"),
        ("variable", "missing-variable", "BRAVE_API_KEY"),
        ("mendable", "missing-file", "mended.py"),
    ],
)
def test_each_failure_has_its_own_words_and_mend(daemon, name, kind, shown):
    def both():  # between two tries it is starting, and nothing is said
        found = kinds(daemon, name)
        return kind in found and "failed" in found and found

    found = wait_until(both, what=f"{kind} of {name}")
    assert shown in found[kind]["message"]
    assert found[kind]["mend"]
    assert found["failed"]["fix"] == ["restart", name]


def test_what_is_not_there_around_the_daemon_is_only_told(daemon):
    found = {one.get("kind"): one["level"] for one in daemon.ctl("doctor")[1]["findings"]}
    assert found.get("units-missing") == "info"


def test_fix_shows_first_and_does_it_when_agreed(daemon):
    doctor = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "--json", "doctor", "--fix"]

    def fix(*more):
        return subprocess.run(
            [*doctor, *more],
            env=daemon.env,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )

    shown = fix()
    assert "would run: toolsearchctl restart mendable" in shown.stderr
    assert "not done" in shown.stderr
    assert shown.returncode == 1
    daemon.mended.write_text((HERE / "steady.py").read_text())
    done = fix("--yes")
    assert "mendable" not in {one["about"] for one in json.loads(done.stdout)["findings"]}
    assert daemon.server("mendable")["state"] == "ready"


def test_with_no_server_it_says_where_it_looked(tmp_path):
    with DaemonProcess(tmp_path, config={"sources": "auto"}) as daemon:
        (finding,) = kinds(daemon, "servers").values()
        assert finding["kind"] == "no-server"
        assert str(tmp_path / ".cursor" / "mcp.json") in finding["message"]


def test_a_server_that_its_client_starts_too_is_told_with_the_verb_that_moves_it(tmp_path):
    (tmp_path / ".cursor").mkdir()
    entry = {"mcpServers": {"steady": zoo("steady")}}
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps(entry))
    with DaemonProcess(tmp_path, config={"sources": "auto"}) as daemon:
        daemon.wait_servers("steady")
        finding = kinds(daemon, "cursor")["run-twice"]
        assert "steady" in finding["message"]
        assert "install cursor" in finding["mend"]
        assert daemon.ctl("install", "cursor")[0] == 0
        wait_until(lambda: "run-twice" not in kinds(daemon, "cursor"), what="it moved")


def test_a_command_that_only_the_login_shell_finds(tmp_path):
    tools = tmp_path / "mytools"
    tools.mkdir()
    (tools / "only-here").write_text("#!/bin/sh\n")
    (tools / "only-here").chmod(0o755)
    (tmp_path / ".profile").write_text(f"PATH=$PATH:{tools}\nexport PATH\n")
    servers = {"hidden": {"command": "only-here"}}
    env = {"SHELL": "/bin/sh", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    with DaemonProcess(tmp_path, servers=servers, env=env) as daemon:
        daemon.wait_servers("hidden", state="failed")
        finding = kinds(daemon, "hidden")["only-login-shell"]
        assert str(tools / "only-here") in finding["message"]
