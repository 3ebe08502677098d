"""`approve ID [--session|--always]`: let a call pass that waits for an approval."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, say

HELP = "let a call pass that waits for an approval"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("approval", metavar="ID", help="as `toolsearchctl approvals` names it")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--session", dest="scope", action="store_const", const="session", help="this tool, in this session"
    )
    scope.add_argument(
        "--always",
        dest="scope",
        action="store_const",
        const="always",
        help="this tool, until it or its server's entry changes",
    )
    parser.add_argument(
        "--code",
        metavar="CODE",
        help="where it is asked for: what the notification, or a terminal of another login, shows",
    )


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.approve(args.approval, args.scope or "once", args.code)
    if args.json:
        print_json(reply)
    else:
        say(f"{reply['approval']}: {reply['tool']} is {reply['state']}")
    return 0
