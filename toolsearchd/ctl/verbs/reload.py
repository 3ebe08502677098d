"""`reload`: read the configs again now; exit status 1 where what one of them says is not in force."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, say

HELP = "read all configs again"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--accept-missing",
        action="store_true",
        help="configs that are missing or empty are meant so: what they said ends",
    )


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.reload(accept_missing=args.accept_missing)
    status = 1 if reply["failed"] else 0
    if args.json:
        print_json(reply)
        return status
    for path in reply["accepted"]:
        say(f"accepted as meant: {path} is missing or empty")
    say(f"changed: {', '.join(reply['changed']) or 'nothing'}")
    for message in reply["needs_restart"]:
        say(f"not yet: {message}")
    for problem in reply["problems"]:
        say(f"problem: {problem}")
    return status
