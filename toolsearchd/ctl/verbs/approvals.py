"""`approvals [--watch]`: what waits for an answer; at a terminal a key answers it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, print_json_line, say
from toolsearchd.ctl.prompts import permit_line, prompt_text
from toolsearchd.protocol.events import ApprovalRequested, Event
from toolsearchd.records import Open

HELP = "calls that wait for an approval, with their exact arguments"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("approval", nargs="?", metavar="ID", help="one, with all of its arguments")
    parser.add_argument("--watch", action="store_true", help="go on with what comes; keys answer")


def run(args: Namespace) -> int:
    if args.watch:
        return _watch(args)
    with control(args) as daemon:
        reply = daemon.approvals(args.approval)
    if args.json:
        print_json(reply)
        return 0
    for prompt in reply["approvals"]:
        print(prompt_text(prompt) + "\n")
    if not reply["approvals"]:
        say("nothing waits for an approval")
    for permit in reply["standing"] if args.approval is None else ():
        say(permit_line(permit))
    return 0


def _watch(args: Namespace) -> int:
    """Keys where a person is at a terminal; else a line or a text per event."""
    with control(args, timeout_s=None) as daemon:
        reply = daemon.approvals(watch=True)
        if sys.stdin.isatty() and sys.stdout.isatty() and not args.json:
            from toolsearchd.ctl.answering import answer_by_keys

            return answer_by_keys(daemon, reply["approvals"])
        for prompt in reply["approvals"]:
            _tell(args, ApprovalRequested(**prompt.members()))
        for event in daemon.events():
            _tell(args, event)
    return 0


def _tell(args: Namespace, event: Event | Open) -> None:
    if args.json:
        print_json_line(event)
    elif isinstance(event, ApprovalRequested):
        print(prompt_text(event) + "\n", flush=True)
    else:
        say(f"{event['approval']}: {event['state']}")
        sys.stdout.flush()
