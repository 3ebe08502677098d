"""`doctor`: everything odd, with the mend."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import coloured, print_json, say
from toolsearchd.disclosure.sanitise import plain_line

HELP = "everything odd, with the mend"
_MOST_HARD = 20  # of the tools that are hard to find: a screen or two


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.doctor()
    if args.json:
        print_json(reply)
        return 0
    hard = [finding for finding in reply["findings"] if finding.get("kind") == "hard-to-find"]
    others = [finding for finding in reply["findings"] if finding.get("kind") != "hard-to-find"]
    for finding in (*others, *hard[:_MOST_HARD]):
        print(coloured(finding["level"]), end=" ")
        say(f"{plain_line(_line(finding['about'], finding['message']))}\n    {finding['mend']}")
    if len(hard) > _MOST_HARD:
        say(f"… and {len(hard) - _MOST_HARD} more that are hard to find; --json has them all")
    if not reply["findings"]:
        say("nothing odd")
    return 0


def _line(about: str, message: str) -> str:
    """What it is about once: some messages name the place themselves."""
    is_said = message.startswith((f"{about}:", f"{about} ")) or f": {about}: " in message
    return message if is_said else f"{about}: {message}"
