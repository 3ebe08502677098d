"""`servers [NAME]`: each server's state; with a name, its last words too."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import duration, print_json, say, table
from toolsearchd.protocol.control_replies import ServerStatus

HELP = "state, transport, pid, tools, last error, stderr tail, next retry"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="one, with its last words")
    parser.add_argument("--origins", action="store_true", help="the config entries each server comes from")


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.servers(args.name, origins=args.origins)
    if args.json:
        print_json(reply)
        return 0
    servers = reply["servers"]
    table(
        ("NAME", "STATE", "TRANSPORT", "PID", "TOOLS", "REASON"),
        ([s["name"], s["state"], s["transport"], s["pid"] or "-", s["tools"], _reason(s)] for s in servers),
    )
    for server in servers:
        if mend := server.get("mend"):
            say(f"{server['name']}: {mend}")
    for server in servers if args.origins else ():
        for origin in server["origins"]:
            moved = f", moved to {origin['kept_in']}" if origin["kept_in"] else ""
            say(f"{server['name']}: {origin['file']} ({origin['format']}, entry {origin['entry']}{moved})")
    if args.name:
        (server,) = servers
        if left_out := server.get("left_out"):
            say("\ntools that are left out:")
            for line in left_out:
                say(f"  {line}")
        if server["last_error"]:
            say(f"\nlast error: {server['last_error']}")
        if server["first_junk"]:
            say(f"\nstdout, the first of {server['junk_lines']} lines that are no MCP:")
            say(f"  {server['first_junk']}")
        if server["stderr_tail"]:
            say("\nstderr, its last lines:")
            for line in server["stderr_tail"]:
                say(f"  {line}")
    return 0


def _reason(server: ServerStatus) -> str:
    parts = [server.reason] if server.reason else []
    if server.breaker_open_s:
        parts.append(f"left alone for {duration(server.breaker_open_s)}: its last calls failed")
    if server.stale:
        parts.append("its tools are as last listed")
    if server.next_retry_s is not None:
        parts.append(f"next try in {duration(server.next_retry_s)}")
    return "; ".join(parts)
