"""`demo`: a first run with nothing configured."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

HELP = "a private daemon with sample servers: listing, search, describe, call, stop"


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    from toolsearchd.ctl.demo import run_demo

    return run_demo(as_json=args.json)
