"""`reload`: read the configs again now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import print_json, say

HELP = "read all configs again"


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.request("reload")
    if args.json:
        print_json(reply)
        return 0
    say(f"changed: {', '.join(reply['changed']) or 'nothing'}")
    for problem in reply["problems"]:
        say(f"problem: {problem}")
    return 0
