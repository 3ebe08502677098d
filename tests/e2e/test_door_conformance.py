"""The official conformance scenarios against a server behind the door do no worse than against it alone."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.daemon import BIN, DaemonProcess
from tests.servers.node import script
from tests.servers.zoo import HERE, zoo

CONFORMANCE = script("@modelcontextprotocol/conformance", "dist/index.js")
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT.*")
BAD = ("FAILURE", "WARNING")
DIRECT = {"TOOLSEARCHD_TOOL_DISCLOSURE": "direct"}


@contextmanager
def bridged(*command, env=None):
    """The URL of a stdio server's HTTP front."""
    bridge = [sys.executable, "-I", HERE / "http_bridge.py", *command]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(bridge, env=env, **pipes) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.stdin.close()


def run(url, folder):
    """Scenario → {check: status}, of all scenarios."""
    subprocess.run(
        [*CONFORMANCE, "server", "--url", url, "--suite", "all", "-o", folder],
        capture_output=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    found = {}
    for path in folder.glob("**/checks.json"):
        checks = {}
        for check in json.loads(path.read_text()):
            status = checks.get(check["id"])
            if status not in BAD:
                checks[check["id"]] = check["status"]
        found[STAMP.sub("", path.parent.name)] = checks
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("conformance")
    entry = zoo("conformance")
    config = {"approval": {"default": "allow"}}
    with bridged(entry["command"], *entry["args"]) as url:
        alone = run(url, root / "alone")
    # A server's name of one letter: with a longer one the longest of the tools' names would be cut.
    with DaemonProcess(root, servers={"f": entry}, config=config) as daemon:
        daemon.wait_servers("f")
        door = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "mcp"]
        with bridged("--door", "f", *door, env=daemon.env | DIRECT) as url:
            behind = run(url, root / "behind")
    return alone, behind


def test_the_server_alone_passes_what_a_server_can(results):
    alone, _ = results
    assert len(alone) >= 30
    failed = {name for name, checks in alone.items() if set(checks.values()) & set(BAD)}
    assert failed <= {"server-server-sse-polling"}  # it is the HTTP front that never ends a stream early


def test_no_scenario_does_worse_behind_the_door(results):
    alone, behind = results
    assert alone.keys() == behind.keys()
    worse = {
        (scenario, check): (status, behind[scenario].get(check))
        for scenario, checks in alone.items()
        for check, status in checks.items()
        if status not in BAD and behind[scenario].get(check) != status
    }
    assert worse == {}
