"""`doctor`: everything odd, with the mend."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import coloured, print_json, say

HELP = "everything odd, with the mend"


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.request("doctor")
    if args.json:
        print_json(reply)
        return 0
    for finding in reply["findings"]:
        print(coloured(finding["level"]), end=" ")
        say(f"{finding['about']}: {finding['message']}\n    {finding['mend']}")
    if not reply["findings"]:
        say("nothing odd")
    return 0
