"""`deny ID`: refuse a call that waits for an approval, or end a permit that stands."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, say

HELP = "refuse a call that waits, or end a permit that stands"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("approval", metavar="ID", help="as `toolsearchctl approvals` names it")


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.deny(args.approval)
    if args.json:
        print_json(reply)
    else:
        say(f"{reply['approval']}: {reply['tool']} is {reply['state']}")
    return 0
