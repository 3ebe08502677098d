"""Published MCP servers behind one daemon, each beside the SDK's client on a process of its own.

    python -m tests.bench.real_servers [--only NAME…]

`servers.json` names packages, pinned, with an entry and one call each that needs no account and no network of
its own. They are installed once under tests/bench/.venvs (no install scripts are run). A row per server: its
tools, how many of them stand behind the daemon, and how many of those with the same description, input schema
and output schema, byte for byte but for the time of the process's start; whether the call's result is equal;
milliseconds of that call. Ends with 1 where something differs.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import mcp
import trio

from tests.bench.peers.venvs import NotInstalledError
from tests.bench.real_servers.install import entry_of
from tests.daemon import BIN, DaemonProcess
from toolsearchd.catalog.naming import door_name

SERVERS = json.loads((Path(__file__).parent / "servers.json").read_text("utf-8"))
SHAPE = ("description", "inputSchema", "outputSchema")
START_S = 120
_STARTED = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")  # a default that is the time of the start


@dataclass(frozen=True)
class Answers:
    """What one server says to a client: tools by name, as JSON; the call's result; its milliseconds."""

    tools: dict[str, str]
    result: str
    call_ms: float


@contextlib.contextmanager
def surroundings(root: Path):
    """What the calls want: a repository, a folder with a file, a page on loopback. Gives the placeholders."""
    files, repository = root / "files", root / "repository"
    files.mkdir()
    (files / "hello.txt").write_text("hello from a file")
    git = ["git", "-C", str(repository), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(files)))
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    try:
        page = f"http://127.0.0.1:{pages.server_address[1]}/hello.txt"
        yield {"repository": str(repository), "files": str(files), "page": page}
    finally:
        pages.shutdown()


def filled(value, words):
    """`value` with `{word}` replaced in its texts."""
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace("{" + word + "}", text)
        return value
    if isinstance(value, list):
        return [filled(item, words) for item in value]
    return {key: filled(item, words) for key, item in value.items()} if isinstance(value, dict) else value


async def every_tool(client):
    found, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        if (cursor := page.next_cursor) is None:
            return found


def as_text(model, *, without=()):
    return json.dumps(
        {k: v for k, v in model.model_dump(mode="json", by_alias=True).items() if k not in without},
        ensure_ascii=False,
    )


def is_offered(tool):
    """Those that need the task augmentation are not."""
    execution = tool.model_dump(by_alias=True).get("execution") or {}
    return execution.get("taskSupport") != "required"


def shape_of(tool):
    whole = tool.model_dump(mode="json", by_alias=True)
    return _STARTED.sub("TIME", json.dumps([whole.get(key) for key in SHAPE], ensure_ascii=False))


async def ask(client, tools, name, arguments):
    began = time.perf_counter()
    try:
        said = as_text(await client.call_tool(name, arguments), without=("_meta",))
    except mcp.MCPError as error:  # the daemon gives a model its words in a result
        said = error.message
    return Answers(tools, said, (time.perf_counter() - began) * 1e3)


async def bare(entry, call, root):
    """A process of its own, the SDK's client; what it says on stderr is dropped."""
    quiet = ["-c", 'exec "$@" 2>/dev/null', "sh", entry["command"], *entry["args"]]
    server = mcp.StdioServerParameters(
        command="sh", args=quiet, env=os.environ | {"HOME": str(root)} | entry["env"], cwd=root
    )
    with trio.fail_after(START_S):
        async with mcp.Client(server, mode="legacy") as client:
            tools = {tool.name: shape_of(tool) for tool in await every_tool(client) if is_offered(tool)}
            return await ask(client, tools, *call)


async def behind(daemon, rows, alone):
    """All of them through one relay of one daemon, every tool shown."""
    relay = mcp.StdioServerParameters(
        command=str(BIN / "toolsearchctl"),
        args=["--runtime-dir", str(daemon.runtime_dir), "mcp"],
        env=daemon.env,
    )
    found = {}
    async with mcp.Client(relay, mode="legacy") as client:
        listed = {tool.name: shape_of(tool) for tool in await every_tool(client)}
        for name, (tool, arguments) in rows.items():
            names = {own: door_name(name, own) for own in alone[name].tools}
            tools = {own: listed[shown] for own, shown in names.items() if shown in listed}
            with trio.fail_after(START_S):
                found[name] = await ask(client, tools, door_name(name, tool), arguments)
    return found


def reason_of(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:200]


def installed(only):
    """The entries that can be had here by name, and why the others can't."""
    entries, missing = {}, {}
    for server in SERVERS:
        if not only or server["name"] in only:
            try:
                entries[server["name"]] = entry_of(server)
            except NotInstalledError as error:
                missing[server["name"]] = str(error)
    return entries, missing


def measure(root, entries, calls):
    """`(alone, through the daemon)` by server, one of them None where it gave nothing; reasons."""
    alone, reasons = {}, {}
    for name, entry in entries.items():
        try:
            alone[name] = trio.run(bare, entry, calls[name], root)
        except Exception as error:
            reasons[name] = reason_of(error)
    servers = {name: entries[name] for name in alone}
    config = {"tools": {"tool_search": {"enabled": "off"}}, "approval": {"default": "allow"}}
    with DaemonProcess(root, servers=servers, config=config) as daemon:
        daemon.wait_servers(*servers, within_s=START_S)
        through = trio.run(behind, daemon, {name: calls[name] for name in alone}, alone)
    return alone, through, reasons


def is_equal(alone, through):
    """An error of the protocol comes to the model as a result with the server's words in it."""
    return alone == through or (alone[:1] != "{" and json.dumps(alone)[1:-1] in through)


def report(alone, through, reasons):
    """Prints the table; whether all is equal."""
    print(f"{'':22} {'tools':>5} {'behind':>6} {'same':>5}  {'call':8} {'bare ms':>8} {'behind':>8}")
    equal = True
    for name, said in alone.items():
        other = through[name]
        same = sum(other.tools.get(tool) == shape for tool, shape in said.tools.items())
        call = "equal" if is_equal(said.result, other.result) else "differs"
        equal &= same == len(said.tools) and call == "equal"
        print(
            f"{name:22} {len(said.tools):5} {len(other.tools):6} {same:5}  {call:8} "
            f"{said.call_ms:8.1f} {other.call_ms:8.1f}"
        )
    total = sum(len(said.tools) for said in alone.values())
    print(f"{len(alone)} servers, {total} tools")
    for name, reason in reasons.items():
        print(f"not here: {name}: {reason}")
    return equal


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--verbose", action="store_true", help="print what differs")
    options = parser.parse_args()
    entries, reasons = installed(options.only)
    with tempfile.TemporaryDirectory() as folder, surroundings(Path(folder)) as words:
        entries = {name: filled(entry, words) for name, entry in entries.items()}
        calls = {s["name"]: filled(s["call"], words) for s in SERVERS if s["name"] in entries}
        alone, through, more = measure(Path(folder), entries, calls)
    if options.verbose:
        show_differences(alone, through)
    return 0 if report(alone, through, reasons | more) else 1


def show_differences(alone, through):
    for name, said in alone.items():
        other = through[name]
        for tool, shape in said.tools.items():
            if other.tools.get(tool) != shape:
                print(f"{name} {tool}\n  bare   {shape}\n  behind {other.tools.get(tool)}")
        if not is_equal(said.result, other.result):
            print(f"{name} call\n  bare   {said.result}\n  behind {other.result}")


if __name__ == "__main__":
    sys.exit(main())
