"""`restart NAME`: start one server anew, or now if it waits."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, say

HELP = "restart one server"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as `toolsearchctl servers` names it")


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.restart(args.name)
    if args.json:
        print_json(reply)
    else:
        say(f"{reply['restarted']} is starting again; `toolsearchctl servers {args.name}` shows how it goes")
    return 0
