"""The editors on layouts that people have: what an edit leaves where it was."""

import json
import time

import pytest

from tests.unit.installing import found, install, servers
from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.install.plan import plan_uninstall

DOOR_YAML = (
    "  toolsearchd:\n    command: /opt/bin/toolsearchctl\n    args:\n"
    "    - mcp\n    - --client\n    - hermes\n"
)
DOOR_TOML = (
    '[mcp_servers.toolsearchd]\ncommand = "/opt/bin/toolsearchctl"\nargs = ["mcp", "--client", "codex"]\n'
)
OPENCLAW_LINE = '{"command": "/opt/bin/toolsearchctl", "args": ["mcp", "--client", "openclaw"]}'
DOOR_LINE = '{"command": "/opt/bin/toolsearchctl", "args": ["mcp", "--client", "cursor"]}'


def edited_since(name, plan):
    """What comes back after an edit, here of a blank line at the end."""
    return plan_uninstall(CLIENTS[name], found(plan, text=plan.text + b"\n")).text.decode()


@pytest.mark.parametrize(
    ("name", "text", "installed"),
    [
        ("hermes", "mcp_servers:\nz: 1\n", f"mcp_servers:\n{DOOR_YAML}z: 1\n"),
        ("hermes", "mcp_servers: {}  # none\nz: 1\n", f"mcp_servers:  # none\n{DOOR_YAML}z: 1\n"),
        ("hermes", "z: 1", f"z: 1\nmcp_servers:\n{DOOR_YAML}"),
        (
            "hermes",
            "mcp_servers: {a: {command: x}, s: {url: 'https://s.example/mcp'}}\n",
            "mcp_servers: {toolsearchd: {command: /opt/bin/toolsearchctl, args: [mcp, --client, hermes]}, "
            "s: {url: 'https://s.example/mcp'}}\n",
        ),
        (
            "hermes",
            "mcp_servers:\n  a:\n    command: x\n    # of a\n# of b\n  b: {command: y}\n\n# of z\nz: 1\n",
            f"mcp_servers:\n{DOOR_YAML}\n# of z\nz: 1\n",
        ),
        ("codex", "", DOOR_TOML),
        ("codex", "# mine\n", f"# mine\n\n{DOOR_TOML}"),
        ("codex", 'mcp_servers.a.command = "x"\nz = 1\n', f"z = 1\n\n{DOOR_TOML}"),
        (
            "codex",
            '[mcp_servers]\na.command = "x"\ns = {url = "https://s.example/mcp"} # stays\n[tui]\n',
            f'[mcp_servers]\ns = {{url = "https://s.example/mcp"}} # stays\n\n{DOOR_TOML}[tui]\n',
        ),
        (
            "codex",
            '["mcp_servers" . a]\ncommand = "x"\n[[list]]\nx = 1\n[mcp_servers.b]\ncommand = "y"\n',
            f"{DOOR_TOML}[[list]]\nx = 1\n",
        ),
        ("cursor", '{"mcpServers": null}', f'{{"mcpServers": {{"toolsearchd": {DOOR_LINE}}}}}'),
        ("cursor", '{"x": 1}', f'{{"x": 1, "mcpServers": {{"toolsearchd": {DOOR_LINE}}}}}'),
        (
            "cursor",
            '{"mcpServers": {"a": {"command": "x"}, "s": {"url": "https://s.example/mcp"}}}',
            f'{{"mcpServers": {{"toolsearchd": {DOOR_LINE}, "s": {{"url": "https://s.example/mcp"}}}}}}',
        ),
        ("openclaw", "{mcp: {}}", f'{{mcp: {{"servers": {{"toolsearchd": {OPENCLAW_LINE}}}}}}}'),
    ],
)  # fmt: skip
def test_where_the_daemons_entry_stands(name, text, installed):
    plan = install(name, text.encode())
    assert plan.text.decode() == installed
    assert plan_uninstall(CLIENTS[name], found(plan)).text == text.encode()
    assert servers(name, edited_since(name, plan).encode()) == servers(name, text.encode())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vscode", "{\n  // none yet\n}"),
        ("vscode", '{\n  "servers": {\n    // none yet\n  }\n}'),
        ("vscode", '{\n  "servers": {\n    // of a\n    "a": {"command": "x"}, // with it\n  }, // end\n}'),
        ("vscode", '{"servers": {"a": {"command": "x"} /* with it */\n}}'),
        ("vscode", '{"servers": {"s": {"url": "https://s.example/mcp"}, // of s\n"a": {"command": "x"}}}'),
        ("vscode", '{"servers": {"a": {"command": "x"}, // of a\n"s": {"url": "https://s.example/mcp"}}}'),
        ("cursor", '{\n  "x": 1\n}'),
        ("hermes", "mcp_servers:\n  # of a\n  a:\n    command: x # y\n\n# apart\nz: 1"),
        ("codex", '# of a\n[mcp_servers.a]\ncommand = "x" # y\n\n# of z\n[z]\n'),
    ],
)
def test_comments_survive_an_edit_in_between(name, text):
    assert edited_since(name, install(name, text.encode())).rstrip("\n") == text.rstrip("\n")


def test_what_an_alias_stands_for_comes_along():
    text = """defaults: &d
  env: {A: "1"}
mcp_servers:
  time:
    <<: *d
    command: uvx
  plain:
    command: x   # as it was
"""
    plan = install("hermes", text.encode())
    assert servers("hermes", plan.moved)["time"] == {"env": {"A": "1"}, "command": "uvx"}
    back = edited_since("hermes", plan)
    assert servers("hermes", back.encode()) == servers("hermes", text.encode())
    assert "command: x   # as it was\n" in back


def test_a_key_that_stands_twice_counts_once_as_everywhere():
    twice = b'"mcpServers": {"b": {"command": "y"}, "b": {"command": "z"}}'
    text = b'{"mcpServers": {"a": {"command": "x"}}, %s}' % twice
    plan = install("cursor", text)
    assert servers("cursor", plan.moved) == {"b": {"command": "z"}}
    assert list(servers("cursor", plan.text)) == ["toolsearchd"]
    assert plan_uninstall(CLIENTS["cursor"], found(plan)).text == text


def test_a_long_history_costs_little():
    """Claude Code keeps everything in one file."""
    history = [{"display": 'x{}[]"//' * 20, "n": number} for number in range(60)]
    projects = {f"/p{number}": {"history": history} for number in range(300)}
    text = json.dumps({"projects": projects, "mcpServers": {"t": {"command": "x"}}}, indent=2).encode()
    begun = time.process_time()
    plan = install("claude-code", text)
    edited_since("claude-code", plan)
    assert time.process_time() - begun < 20  # 1 s; token by token it takes 17
