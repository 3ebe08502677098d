"""`toolsearchctl demo`: what a first user sees, and that nothing of it is left."""

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.daemon import BIN, processes_with, wait_until

MARK = "TOOLSEARCH_DEMO_TEST_MARK"


@pytest.fixture
def home():
    """Environment of a user without any config; processes of the demo are known by the mark in theirs."""
    with tempfile.TemporaryDirectory(prefix="ts", dir="/tmp") as root:  # short enough to be used as it is
        places = [Path(root, "tmp"), Path(root, "home")]
        for place in places:
            place.mkdir()
        env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        yield env | {"TMPDIR": str(places[0]), "HOME": str(places[1]), MARK: root}
        assert [list(place.iterdir()) for place in places] == [[], []]
        assert processes_with(root) == []


def start(env, *words):
    return subprocess.Popen(
        [BIN / "toolsearchctl", "demo", *words],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_the_demo_shows_each_step(home):
    demo = start(home)
    out, err = demo.communicate(timeout=120)
    assert (demo.returncode, err) == (0, "")
    for shown in (
        "notes     ready",
        "all 17 schemas",
        "plain schemas serve\nbetter",
        "match  mcp__units__convert_length",
        '"from_unit"',
        '{"value": 42.1648128, "unit": "km"}',
        "1 running call told to cancel",
        "INDETERMINATE: ",
        "all 317 schemas",
        "toolsearchd --check-config",
        '{"mcpServers": {"toolsearchd": {"command": "toolsearchctl", "args": ["mcp"]}}}',
    ):
        assert shown in out
    assert "\x1b" not in out


def test_the_demo_as_one_document(home):
    demo = start(home, "--json")
    out, err = demo.communicate(timeout=120)
    assert (demo.returncode, err) == (0, "")
    found = json.loads(out)
    assert {server["state"] for server in found["servers"]} == {"ready"}
    few, many = found["cost"], found["large_catalog"]
    assert (few["tools"], many["tools"]) == (17, 317)
    assert many["eager_tokens"] > 10 * few["eager_tokens"]
    assert many["bridge_tokens"] < many["eager_tokens"] / 5
    assert found["call"]["success_count"] == 1
    assert found["stop"]["reply"]["results"][0]["error"]["code"] == "INDETERMINATE"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_nothing(home, number):
    demo = start(home)
    seen = [demo.stdout.readline() for _ in range(6)]  # the servers are up
    assert any("ready" in line for line in seen)
    demo.send_signal(number)
    demo.communicate(timeout=60)
    assert demo.returncode == 130
    wait_until(lambda: processes_with(home[MARK]) == [], what="no process left")
