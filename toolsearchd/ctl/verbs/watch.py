"""`watch`: what agents do, as it happens, with the real tools' names."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import coloured, print_json, say

HELP = "live activity, until interrupted"


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    with control(args, timeout_s=None) as daemon:
        daemon.request("watch")
        for event in daemon.events():
            fields = {key: value for key, value in event.items() if key != "op"}
            if args.json:
                print_json(fields)
            else:
                _show(fields)
    return 0


def _show(event: dict[str, Any]) -> None:
    head = f"{event.pop('client', '')} {event.pop('session', '')} {event.pop('step', '')}"
    outcome = event.pop("outcome", None)
    words = [f"{key}={value}" for key, value in event.items()]
    if outcome:
        words.append(coloured(outcome, "ok" if outcome == "ok" else "error") if outcome == "ok" else outcome)
    say(f"{head}: {' '.join(words)}")
