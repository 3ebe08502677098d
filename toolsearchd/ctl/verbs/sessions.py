"""`sessions`: who is connected."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import duration, print_json, say, table

HELP = "the connected agents"


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.sessions()
    if args.json:
        print_json(reply)
    elif not reply["sessions"]:
        say("no agent is connected")
    else:
        table(
            ("SESSION", "CLIENT", "PID", "PROFILE", "DIALECT", "OPEN", "SEARCHES", "CALLS", "UP", "IN"),
            (
                [
                    s["session"],
                    s["client"],
                    s["pid"],
                    s["profile"],
                    s["dialect"],
                    s["open"],
                    s["searches"],
                    s["calls"],
                    duration(s["uptime_s"]),
                    s["cwd"],
                ]
                for s in reply["sessions"]
            ),
        )
    return 0
