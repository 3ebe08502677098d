"""`approve ID [--session|--always]`: let a call pass that waits for an approval."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, say

HELP = "let a call pass that waits for an approval"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("approval", metavar="ID")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--session", dest="scope", action="store_const", const="session", help="this tool, in this session"
    )
    scope.add_argument(
        "--always", dest="scope", action="store_const", const="always", help="this tool, until it changes"
    )
    parser.add_argument("--code", metavar="CODE", help="what the notification shows, where it is asked for")


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.request("approve", approval=args.approval, scope=args.scope or "once", code=args.code)
    if args.json:
        print_json(reply)
    else:
        say(f"{reply['approval']}: {reply['tool']} is {reply['state']}")
    return 0
