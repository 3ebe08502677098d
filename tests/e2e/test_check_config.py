"""`--check-config`: the effective config on stdout, each problem on stderr, 0 or 2."""

import os
import subprocess
import sys

import yaml

from toolsearchd.config.settings import load_settings
from toolsearchd.dialects.registry import OPTIONS


def check_config(tmp_path, text):
    config = tmp_path / "config.yaml"
    config.write_text(text)
    return run(tmp_path, "--config", config, "--check-config")


def run(tmp_path, *options):
    return subprocess.run(
        [sys.executable, "-m", "toolsearchd", *options],
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
            "TOKEN": "hunter2",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_good_config_is_printed_as_it_is_in_force(tmp_path):
    text = 'tools: {tool_search: {enabled: "on", max_search_limit: 900}}\njournal: {max_bytes: 1MiB}'
    done = check_config(tmp_path, text)
    assert done.returncode == 0
    assert yaml.safe_load(done.stdout)["tools"]["tool_search"]["max_search_limit"] == 50
    assert "config.yaml:1:38: tools.tool_search.max_search_limit: warning: 900" in done.stderr
    assert "50 in force" in done.stderr
    again, problems = load_settings(done.stdout, "printed", OPTIONS)
    assert problems == []
    assert again == load_settings(text, "f", OPTIONS)[0]


def test_what_is_read_and_found_stands_first(tmp_path):
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}, "b\\n": {"command": "y"}}}')
    done = check_config(tmp_path, "sources: [{path: mcp.json, format: claude-code}]")
    assert done.returncode == 0
    config, source, servers, *rest = done.stdout.splitlines()
    assert config == f"# config {tmp_path / 'config.yaml'}"
    assert source == f"# source {tmp_path / 'mcp.json'} (claude-code): 2"
    assert servers == "# servers: a, b"
    assert not rest[0].startswith("#")


def test_an_error_is_said_with_its_place_and_the_nearest_key(tmp_path):
    done = check_config(tmp_path, "approval:\n  wait: 3\n")
    assert done.returncode == 2
    assert "config.yaml:2:3: approval.wait: error: unknown key, did you mean wait_s?" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "config.yaml"]


def test_problems_of_sources_count_and_never_hold_values(tmp_path):
    (tmp_path / "mcp.json").write_text(
        '{"mcpServers": {"a": {"command": "x", "env": {"A": "${TOKEN}${UNSET}"}},\n "b": {"command": 5}}}'
    )
    done = check_config(tmp_path, "sources: [{path: mcp.json, format: claude-code}]")
    assert done.returncode == 2
    assert "mcp.json:1:47: mcpServers.a.env.A: warning: a variable in it is not set" in done.stderr
    assert "mcp.json:2:8: mcpServers.b.command: error: expected a text" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert "hunter2" not in done.stdout + done.stderr


def test_a_named_file_that_was_never_there_is_an_error(tmp_path):
    config = tmp_path / "confg.yaml"
    for options in (("--check-config",), ("--runtime-dir", tmp_path / "run")):
        done = run(tmp_path, "--config", config, "--state-dir", tmp_path / "state", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"--config: there is no file {config}" in done.stderr
    assert list(tmp_path.iterdir()) == []
