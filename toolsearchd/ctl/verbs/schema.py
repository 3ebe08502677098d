"""`schema`: JSON Schema of all socket messages. Needs no daemon."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

HELP = "JSON Schema of the protocol's messages"


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(_args: Namespace) -> int:
    from toolsearchd.protocol.requests import json_schema

    print(json.dumps(json_schema(), indent=2))
    return 0
