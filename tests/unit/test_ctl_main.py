"""The command line: exit statuses, where options may stand, and what is loaded for it."""

import json
import os
import subprocess
import sys

import pytest

from toolsearchd.ctl.__main__ import _parser, _verb_of, main
from toolsearchd.ctl.verbs import VERBS

CTL = [sys.executable, "-W", "error", "-m", "toolsearchd.ctl"]


def run(*words, **more):
    return subprocess.run(
        [*CTL, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **more
    )


def exit_status(*words):
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    return caught.value.code


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_its_help(verb, capsys):
    assert exit_status(verb, "--help") == 0
    assert f"toolsearchctl {verb}" in capsys.readouterr().out


def test_without_a_verb_the_verbs_are_told(capsys):
    assert exit_status() == 2
    told = capsys.readouterr().out
    assert all(verb in told for verb in VERBS)


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("search",),
        ("restart",),
        ("call", "name", "{not json"),
        ("search", "x", "--limit", "many"),
        ("journal", "--limit", "-1"),
        ("status", "--unknown"),
    ],
)
def test_wrong_usage_is_2(words, capsys):
    assert exit_status(*words) == 2
    assert "usage: toolsearchctl" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["servers"],
        ["sessions"],
        ["stop"],
        ["watch"],
        ["reload"],
        ["doctor"],
        ["restart", "x"],
        ["search", "x"],
        ["describe", "x"],
        ["call", "x"],
        ["listing"],
    ],
)
def test_no_daemon_is_3_with_the_way_to_start_one(words, tmp_path, capsys):
    assert exit_status("--runtime-dir", str(tmp_path), *words) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert "NO_DAEMON" in said.err
    assert "toolsearchd.socket" in said.err
    assert str(tmp_path) in said.err


@pytest.mark.parametrize("words", [["--json", "status"], ["status", "--json"]])
def test_json_before_or_after_the_verb(words, tmp_path, capsys):
    assert exit_status("--runtime-dir", str(tmp_path), *words) == 3
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "NO_DAEMON"


def test_a_directory_named_like_a_verb_is_no_verb():
    assert _verb_of(["--runtime-dir", "mcp", "status"]) == "status"
    assert _verb_of(["--json", "call", "search"]) == "call"
    assert _verb_of(["--runtime-dir=status"]) is None
    args = _parser("call").parse_args(["--runtime-dir", "mcp", "call", "search", '{"a": 1}'])
    assert (args.runtime_dir, args.name, args.arguments) == ("mcp", "search", {"a": 1})


def test_the_schema_needs_no_daemon():
    done = run("schema")
    assert done.returncode == 0
    schema = json.loads(done.stdout)
    assert {"agent", "control"} <= schema.keys()
    assert "Hello" in schema["$defs"]


def test_a_reader_that_went_away_is_no_fault():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*CTL, "schema"], stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_locale_without_the_character_is_no_fault(tmp_path):
    env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("--runtime-dir", str(tmp_path / "…"), "status", env=env)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (["--version"], {"trio", "numpy", "tiktoken", "mcp"}),
        (["mcp", "--help"], {"trio", "msgspec", "numpy", "tempfile", "asyncio", "subprocess"}),
        (["status"], {"trio", "numpy", "tiktoken", "mcp", "pyroaring", "yaml", "toolsearchd.ctl.verbs.demo"}),
    ],
)
def test_a_verb_loads_only_what_it_needs(words, absent, tmp_path):
    code = (
        "import sys\n"
        "from toolsearchd.ctl.__main__ import main\n"
        "try: main(sys.argv[1:])\n"
        f"finally: sys.stderr.write(' '.join({absent!r} & sys.modules.keys()) + '.')"
    )
    command = [sys.executable, "-c", code, "--runtime-dir", str(tmp_path), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1] == ".", done.stderr
