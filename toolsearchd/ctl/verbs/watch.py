"""`watch`: what agents do, as it happens, with the real tools' names."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import coloured, print_json_line
from toolsearchd.disclosure.sanitise import plain_line

HELP = "live activity, until interrupted"


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    with control(args, timeout_s=None) as daemon:
        daemon.watch()
        for event in daemon.events():
            fields = {key: value for key, value in event.as_map().items() if key != "op"}
            if args.json:
                print_json_line(fields)
            else:
                print(_line(fields), flush=True)
    return 0


def _line(event: dict[str, Any]) -> str:
    head = f"{event.pop('client', '')} {event.pop('session', '')} {event.pop('step', '')}"
    outcome = event.pop("outcome", None)
    line = plain_line(f"{head}: {' '.join(f'{key}={value}' for key, value in event.items())}")
    if outcome:
        line += " " + coloured(plain_line(str(outcome)), "ok" if outcome == "ok" else "error")
    return line
