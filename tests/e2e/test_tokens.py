"""`toolsearchctl tokens`: what servers and tools cost, what a view saves, what is not known."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo
from toolsearchd.client import Client
from toolsearchd.disclosure.tokens import count_tokens

ENCODINGS = ["o200k_base", "cl100k_base"]
HUGE = {"name": "huge", "description": "words " * 60_000, "inputSchema": {"type": "object"}}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("tokens")
    many = root / "many.json"
    properties = {
        name: {"type": "string", "description": f"The {name}"} for name in ("title", "body", "zone")
    }
    schema = {"type": "object", "properties": properties}
    many.write_text(
        json.dumps(
            [
                {"name": f"zone_{n}", "description": f"Change zone {n}.", "inputSchema": schema}
                for n in range(40)
            ]
        )
    )
    huge = root / "huge.json"
    huge.write_text(json.dumps([HUGE]))
    servers = {
        "many": zoo("steady", "--tools-from", many),
        "steady": zoo("steady", "echo"),
        "huge": zoo("steady", "--tools-from", huge),
        "absent": {"command": "/nonexistent/server"},
    }
    profiles = {
        "known": {"servers": ["many", "steady"], "context_length": 100_000},
        "small": {"servers": ["steady"]},
        "huge": {"servers": ["huge"]},
        "shown": {"servers": ["steady"], "enabled": "off"},
        "pinned": {"servers": ["many"], "pins": ["zone_7"]},
    }
    config = {"tools": {"tool_search": {"enabled": "on"}}, "profiles": profiles}
    with DaemonProcess(root, servers=servers, config=config) as daemon:
        daemon.wait_servers("many", "steady", "huge")
        daemon.wait_servers("absent", state="failed")
        yield daemon


def tokens(daemon, *words):
    status, report = daemon.ctl("tokens", *words)
    assert status == 0, report
    assert report["encodings"] == ENCODINGS
    return report


def people(daemon, *words, status=0):
    done = subprocess.run(
        [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "tokens", *words],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def cost(encoding, tools):
    return sum(
        count_tokens(encoding, [json.dumps(t, ensure_ascii=False, separators=(",", ":")) for t in tools])
    )


def given(daemon, **hello):
    with Client(client="an-agent", runtime_dir=daemon.runtime_dir, timeout_s=60, **hello) as agent:
        return agent.assemble()["tools"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_figures_are_those_of_what_a_model_is_given(daemon, encoding):
    report = tokens(daemon, "--profile", "known")
    totals = report["totals"][encoding]
    schemas = given(daemon, profile="known", disclosure="direct")
    assert len(schemas) == 41
    assert totals["eager"] == cost(encoding, schemas)
    assert totals["view"] == cost(encoding, given(daemon, profile="known", encoding=encoding))
    assert totals["bridge"] == cost(encoding, given(daemon, profile="known", listing="separate"))
    assert totals["listing"] == totals["view"] - totals["bridge"]
    assert totals["saved"] == totals["eager"] - totals["view"] > 0
    by_name = {tool["name"]: tool["tokens"][encoding] for s in report["servers"] for tool in s["tools"]}
    assert by_name == {tool["function"]["name"]: cost(encoding, [tool]) for tool in schemas}
    for server in report["servers"]:
        assert server["tokens"][encoding] == sum(tool["tokens"][encoding] for tool in server["tools"])
    assert (report["unknown"], report["at_least"], report["estimated"]) == ([], False, [])
    assert (report["profile"], report["context_length"]) == ("known", 100_000)


def test_unknown_is_not_nothing(daemon):
    report = tokens(daemon)
    (absent,) = (server for server in report["servers"] if server["name"] == "absent")
    assert (absent["tokens"], absent["tool_count"]) == (None, None)
    assert report["unknown"] == ["absent"]
    assert report["at_least"] is True
    (line,) = (line for line in people(daemon).splitlines() if line.startswith("absent"))
    assert line.split()[:4] == ["absent", "unknown", "unknown", "unknown"]
    assert "can't be started" in line


def test_what_is_too_long_is_counted_up_to_a_bound(daemon):
    report = tokens(daemon, "--profile", "huge")
    (server,) = report["servers"]
    assert server["at_least"] is server["tools"][0]["at_least"] is True
    assert 20_000 < server["tokens"]["o200k_base"] < 60_000
    assert "≥ " in people(daemon, "--profile", "huge")


def test_where_the_bridge_is_not_worth_it(daemon):
    totals = tokens(daemon, "--profile", "small")["totals"]["o200k_base"]
    assert totals["saved"] == totals["eager"] - totals["view"] < 0
    told = people(daemon, "--profile", "small")
    assert f"not worth it: the view costs {-totals['saved']} tokens more" in told
    assert "enabled: fit" in told


def test_shown_directly_nothing_is_saved(daemon):
    totals = tokens(daemon, "--profile", "shown")["totals"]["o200k_base"]
    assert (totals["tier"], totals["saved"], totals["listing"]) == (0, 0, 0)
    assert 0 < totals["bridge"] < 600
    assert "every schema is shown" in people(daemon, "--profile", "shown")


def test_pins_cost_their_schemas(daemon):
    report = tokens(daemon, "--profile", "pinned")
    (server,) = report["servers"]
    one = next(tool for tool in server["tools"] if tool["name"].endswith("zone_7"))
    totals = report["totals"]["o200k_base"]
    assert totals["pinned"] == one["tokens"]["o200k_base"]
    assert totals["view"] == totals["bridge"] + totals["listing"] + totals["pinned"]
    assert "pinned tools" in people(daemon, "--profile", "pinned")


def test_a_terminal_shows_a_bar_for_each_server(daemon):
    command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "tokens", "--profile", "known"]
    ours, theirs = pty.openpty()
    env = daemon.env | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "100", "NO_COLOR": "1"}
    with subprocess.Popen(command, env=env, stdout=theirs, stdin=subprocess.DEVNULL) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # a terminal's end, once nobody holds its other side
                break
    os.close(ours)
    assert process.returncode == 0
    bars = {line.split()[0]: line.count("█") for line in shown.decode().splitlines() if "█" in line}
    assert bars["many"] > bars["steady"] >= 1
    assert "█" not in people(daemon, "--profile", "known")


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture(daemon, tmp_path, ending, begins):
    pytest.importorskip("matplotlib")
    file = tmp_path / f"tokens.{ending}"
    people(daemon, "--plot", str(file))
    assert file.read_bytes().startswith(begins)
    assert file.stat().st_size > 5000


def test_a_picture_that_can_not_be_written(daemon, tmp_path):
    pytest.importorskip("matplotlib")
    assert "BAD_ARGUMENTS" in people(daemon, "--plot", str(tmp_path / "a.nothing"), status=1)
    assert "No such file" in people(daemon, "--plot", str(tmp_path / "no" / "a.png"), status=1)


def test_without_matplotlib_the_extra_is_named(daemon, tmp_path):
    """Before anything is asked of the daemon."""
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'matplotlib' else find(name, *a)\n"
        "from toolsearchd.ctl.__main__ import main; main(sys.argv[1:])"
    )
    words = ["--json", "--runtime-dir", daemon.runtime_dir, "tokens", "--plot", tmp_path / "a.png"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "MISSING_EXTRA"
    assert "toolsearchd[plot]" in done.stderr


def test_the_daemon_loads_no_vocabulary_and_keeps_its_counts(daemon):
    tokens(daemon, "--profile", "known")
    maps = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    assert "tiktoken" not in maps
    kept = daemon.state_dir / "tokens"
    wait_until(lambda: len(list(kept.glob("*.counts"))) == 2, what="both encodings on the disk")
