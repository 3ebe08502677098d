"""`stop [SESSION]`: stop one session's work, or everybody's."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, say

HELP = "stop the work of one session, or of all"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", metavar="SESSION", help="as `toolsearchctl sessions` names it")


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.stop(args.session)
    if args.json:
        print_json(reply)
    else:
        say(
            f"{reply['interrupted']} entries were not sent, {reply['running']} were running and are told to "
            f"cancel (they may have happened), in {reply['sessions']} sessions"
        )
    return 0
