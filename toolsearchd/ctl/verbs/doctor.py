"""`doctor`: everything odd, with the mend; `--fix` does what can do no harm."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any

from toolsearchd.client import ControlClient
from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import coloured, print_json, say
from toolsearchd.disclosure.sanitise import plain_line

HELP = "everything odd, with the mend; status 1 where something needs a person"
_MOST_HARD = 20  # of the tools that are hard to find: a screen or two
_SETTLE_S = 20.0  # for what was started again


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="show what can be mended without harm, ask, do it")
    parser.add_argument("--yes", action="store_true", help="with --fix: do not ask")


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.doctor()
        if args.fix and _fix(daemon, reply["findings"], is_agreed=args.yes):
            reply = daemon.doctor()
    if args.json:
        print_json(reply)
    else:
        _show(reply["findings"])
    return 1 if any(_needs_a_person(finding) for finding in reply["findings"]) else 0


def _needs_a_person(finding: Any) -> bool:
    """Tools that are hard to find, and what is only told, are no trouble."""
    return bool(finding["level"] != "info" and finding.get("kind") != "hard-to-find")


def _show(findings: list[Any]) -> None:
    hard = [finding for finding in findings if finding.get("kind") == "hard-to-find"]
    others = [finding for finding in findings if finding.get("kind") != "hard-to-find"]
    for finding in (*others, *hard[:_MOST_HARD]):
        print(coloured(finding["level"]), end=" ")
        say(f"{plain_line(_line(finding['about'], finding['message']))}\n    {finding['mend']}")
    if len(hard) > _MOST_HARD:
        say(f"… and {len(hard) - _MOST_HARD} more that are hard to find; --json has them all")
    if not findings:
        say("nothing odd")


def _fix(daemon: ControlClient, findings: Iterable[Any], *, is_agreed: bool) -> bool:
    """Was anything done? What it would do is shown on stderr, so that --json stays a document."""
    servers = list(dict.fromkeys(finding["fix"][1] for finding in findings if finding.get("fix")))
    if not servers:
        print("nothing that can be mended without a person", file=sys.stderr)
        return False
    for name in servers:
        print(f"would run: toolsearchctl restart {plain_line(name)}", file=sys.stderr)
    if not is_agreed:
        if not sys.stdin.isatty():
            print("not done: `--yes` agrees to it", file=sys.stderr)
            return False
        print("Do it? [y/N] ", end="", flush=True, file=sys.stderr)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return False
    for name in servers:
        daemon.restart(name)
    ends = time.monotonic() + _SETTLE_S
    while time.monotonic() < ends and any(_is_starting(daemon, name) for name in servers):
        time.sleep(0.2)
    return True


def _is_starting(daemon: ControlClient, name: str) -> bool:
    return any(server["state"] == "starting" for server in daemon.servers(name)["servers"])


def _line(about: str, message: str) -> str:
    """What it is about once: some messages name the place themselves."""
    is_said = message.startswith((f"{about}:", f"{about} ")) or f": {about}: " in message
    return message if is_said else f"{about}: {message}"
