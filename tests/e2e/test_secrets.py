"""No value of env and headers, no credential of a command or a url is shown, whatever goes wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.wire import agent

# Prints all that it was given, where a careless server would, then goes or answers calls with errors of it.
TALKS = """
import json, os, sys
given = [*sys.argv[1:], *map(repr, sys.argv[1:]), *os.environ.values(), json.dumps(dict(os.environ))]
print("I was given", *given, file=sys.stderr, flush=True)
print("junk", *given, flush=True)
if "dies" in os.environ["MODE_OF_IT"]:
    sys.exit(3)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        answer["result"]["serverInfo"] = {"name": "talks " + os.environ["API_KEY"], "version": "1"}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "tell", "inputSchema": {"type": "object"}}]}
    else:
        answer["error"] = {"code": -32000, "message": "refused: " + " ".join(given), "data": given}
    print(json.dumps(answer), flush=True)
"""
# A web server that answers everything with 401 and the request's own url and headers in its text.
REFUSES = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        body = f"401 for {self.path} with {dict(self.headers)}".encode()
        self.send_response(401, "Unauthorized " + self.path)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("WWW-Authenticate", "Bearer " + self.path)
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


class Marked:
    """Gives secrets, each another; `found_in` names those that a text shows."""

    def __init__(self):
        self.given = {}

    def __call__(self, what):
        secret = f"S3cr3t-{len(self.given):03d}-{what}"
        self.given[what] = secret
        return secret

    def found_in(self, text):
        return [secret for secret in self.given.values() if secret in text]


@pytest.fixture
def refusing():
    process = subprocess.Popen([sys.executable, "-c", REFUSES], stdout=subprocess.PIPE)
    yield int(process.stdout.readline())
    process.kill()
    process.communicate()


def command(mark, kind, program=sys.executable, mode=""):
    return {
        "command": program,
        "args": [
            *("-c", TALKS, f"--token={mark(kind + 'flag')}", "--api-key", mark(kind + "word"), "--password"),
            *(mark(kind + "pass"), f"-p{mark(kind + 'p')}", f"ANY_NAME={mark(kind + 'assigned')}", "-H"),
            *(
                f"Authorization: Bearer {mark(kind + 'header')}",
                f"https://me:{mark(kind + 'user')}@h.example/",
            ),
            f"https://h.example/x?any={mark(kind + 'query')}#{mark(kind + 'fragment')}",
        ],
        "env": {
            "API_KEY": mark(kind + "env"),
            "PLAIN": mark(kind + "plain"),
            "LINES": f"{mark(kind + 'line')}\nsecond {mark(kind + 'line2')}",
            "QUOTED": f'a"b\\{mark(kind + "quoted")}',
            "MODE_OF_IT": mode or "stays on",
        },
    }


def remote(mark, kind, base):
    return {
        "type": "http",
        "url": f"{base}/mcp?token={mark(kind + 'query')}&{mark(kind + 'bare')}#{mark(kind + 'fragment')}",
        "headers": {
            "Authorization": f"Bearer {mark(kind + 'bearer')}",
            "X-Any-Thing": mark(kind + "header"),
        },
    }


def entries(mark, port):
    return {
        "talks": command(mark, "talks"),
        "dies": command(mark, "dies", mode="dies at once"),
        "missing": command(mark, "missing", program="/nowhere/at/all"),
        "no-cwd": command(mark, "cwd") | {"cwd": "/nowhere/at/all"},
        "unset": {"command": "x", "env": {"A": mark("unset") + "${NOT_SET_ANYWHERE}"}},
        "bad": {"command": "x", "args": [{"a": mark("badarg")}], "env": {"TOKEN": mark("badenv")}},
        "bad-env": {"command": "x", "env": [f"TOKEN={mark('listed')}"]},
        "bad-key": {"command": "x", "env": {f"TOKEN={mark('key')}": 1}},
        "bad-type": {"command": "x", "type": mark("type")},
        "refused": remote(mark, "refused", f"http://me:{mark('refuseduser')}@127.0.0.1:{port}"),
        "nobody": remote(mark, "nobody", "http://127.0.0.1:1"),
        "no-host": remote(mark, "nohost", "https://no-such-host.invalid"),
        "no-port": remote(mark, "noport", "http://127.0.0.1:99999999"),
        "scheme": remote(mark, "scheme", "htp://127.0.0.1"),
        "old": remote(mark, "old", f"http://127.0.0.1:{port}") | {"type": "sse"},
    }


def test_nothing_that_is_shown_holds_a_secret(tmp_path, refusing):
    mark = Marked()
    own = {
        "own": remote(mark, "own", f"http://127.0.0.1:{refusing}"),
        "mine": command(mark, "mine", "/nowhere"),
    }
    config = {
        "servers": own,
        "hooks": {"pre_call": [{"command": f"false --token {mark('hook')}", "match": {"tool": "no-such"}}]},
        "approval": {"default": "allow"},
    }
    env = {"NODE_API_TOKEN": mark("passed")}
    config["environment"] = {"pass": ["PATH", "NODE_API_TOKEN"]}
    with DaemonProcess(tmp_path, servers=entries(mark, refusing), config=config, env=env) as daemon:
        daemon.wait_servers("talks")
        failed = ("dies", "missing", "no-cwd", "refused", "nobody", "no-host", "scheme", "own", "mine", "old")

        def all_failed():
            states = {s["name"]: s for s in daemon.ctl("servers")[1]["servers"]}
            return all(states[name]["last_error"] for name in failed)

        wait_until(all_failed, what="every failure")
        shown = {}
        for verb in ("servers", "status", "doctor", "reload", "sessions", "listing"):
            words = [verb, "--origins"] if verb == "servers" else [verb]
            shown[verb] = json.dumps(daemon.ctl(*words)[1], ensure_ascii=False)
        with agent(daemon) as wire:
            calls = [{"name": "mcp__talks__tell", "arguments": {}}]
            told = wire.ask({"op": "call", "id": 1, "calls": calls})
            searched = wire.ask({"op": "search", "id": 2, "queries": ["tell me"]})
        shown["call"], shown["search"] = json.dumps(told), json.dumps(searched)
        daemon.write_servers({"broken": command(mark, "broken")})
        daemon.servers_file.write_text(daemon.servers_file.read_text()[:-30] + f'"{mark("cut")}')
        wait_until(lambda: "not JSON" in json.dumps(daemon.ctl("status")[1]), what="the broken file's error")
        shown["status later"] = json.dumps(daemon.ctl("status")[1])
    shown["log"] = daemon.log.read_text()
    for path in (daemon.state_dir).rglob("*"):
        if path.is_file():
            shown[f"state/{path.name}"] = path.read_bytes().decode("utf-8", "replace")
    shown["check"] = checked(daemon, mark)
    assert {where: mark.found_in(text) for where, text in shown.items() if mark.found_in(text)} == {}
    # What a person mends by is still there.
    assert "refused: --token=*** --api-key *** --password ***" in shown["call"]
    assert "API_KEY" in shown["servers"]
    assert "can't connect to 127.0.0.1:1: connection refused" in shown["servers"]
    assert "/nowhere/at/all" in shown["servers"]
    assert "answered 401" in shown["servers"]
    assert "127.0.0.1" in shown["check"]


def checked(daemon, mark):
    """What `--check-config` prints, of good and of broken files."""
    said = ""
    texts = [
        daemon.config_file.read_text(),
        f"servers: {{a: {{command: x, env: {{TOKEN: {mark('yamlenv')}}}, typo: {mark('typo')}}}}}\n",
        f"servers:\n  a: {{command: x, env: {{TOKEN: !{mark('tag')} x}}}}\n",
        f"servers:\n  a: {{command: x, env: {{TOKEN: *{mark('alias')} }}}}\n",
        f"servers:\n  a: {{command: x, env: {{TOKEN: !!int {mark('int')}}}}}\n",
        f'servers:\n  a: {{command: x, headers: "Authorization: Bearer {mark("text")}"}}\n',
        f'servers:\n  a: {{command: x, env: {{TOKEN: "{mark("open")}\n',
        f"tools: {{tool_search: {{listing: 'token={mark('listing')}'}}}}\n",
        f"servers: {{a: {{url: 'https://x/?k={mark('q')}', sharing: 'token={mark('sharing')}'}}}}\n",
    ]
    for text in texts:
        daemon.config_file.write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "toolsearchd", "--config", daemon.config_file, "--check-config"],
            env=daemon.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        said += done.stdout + done.stderr
    return said


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("claude-code", ".claude.json", lambda servers: json.dumps({"mcpServers": servers}, indent=2)),
        ("cursor", ".cursor/mcp.json", lambda servers: json.dumps({"mcpServers": servers}, indent=1)),
        ("codex", ".codex/config.toml", lambda servers: toml(servers)),
    ],
)
def test_a_dry_run_shows_the_difference_without_secrets(tmp_path, client, file, text):
    mark = Marked()
    servers = {"talks": command(mark, "talks"), "away": remote(mark, "away", "https://h.example")}
    servers["talks"]["env"]["SHORT"] = "zq9"
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text(servers))
    before = path.read_bytes()
    for verb in (["install", client], ["disclosure", client, "direct"]):
        for more in ([], ["--json"]):
            done = subprocess.run(
                [BIN / "toolsearchctl", "--runtime-dir", tmp_path / "none", *verb, "--dry-run", *more],
                env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            shown = done.stdout + done.stderr
            assert mark.found_in(shown) == []
            assert '"zq9"' not in shown
            if verb[0] == "install" and not more:
                assert done.returncode == 0, shown
                assert "API_KEY" in shown
    assert path.read_bytes() == before


def toml(servers):
    lines = []
    for name, entry in servers.items():
        lines.append(f"[mcp_servers.{name}]")
        headers = entry.pop("headers", None)
        env = entry.pop("env", None)
        lines += [f"{key} = {json.dumps(value)}" for key, value in entry.items() if key != "type"]
        for table, values in (("env", env), ("http_headers", headers)):
            if values:
                lines.append(f"[mcp_servers.{name}.{table}]")
                lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def test_a_file_of_every_client_format_that_can_not_be_read_shows_nothing_of_it(tmp_path):
    from toolsearchd.config.expand import ExpandContext
    from toolsearchd.config.sources import FORMATS

    mark = Marked()
    context = ExpandContext(environ={}, home=str(Path.home()))
    servers = {"a": command(mark, "a"), "b": remote(mark, "b", "https://h.example"), "c": mark("c")}
    servers["d"] = {"command": "x", "type": mark("type")}
    sections = ("mcpServers", "servers", "mcp_servers", "context_servers", "mcp")
    documents = [json.dumps({key: servers}) for key in sections]
    documents.append(json.dumps({"mcp": {"servers": servers}}))
    documents.append(toml({"a": command(mark, "ta"), "b": remote(mark, "tb", "https://h.example")}))
    checked = 0
    for format_ in FORMATS.values():
        for document in documents:
            broken = document[: len(document) // 2], document.replace(":", "=", 3), f"x{document}"
            for text in (document, *broken):
                for problem in format_.parse(text, "f", context).problems:
                    checked += 1
                    assert mark.found_in(f"{problem} {problem!r}") == []
    assert checked > 100
