"""`call NAME [ARGS_JSON]`: run one tool."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from toolsearchd.ctl.connect import agent
from toolsearchd.ctl.output import print_json, say
from toolsearchd.errors import ToolsearchdError

HELP = "run a tool with arguments as JSON"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("arguments", nargs="?", default="{}", metavar="ARGS_JSON")
    parser.add_argument("--profile", metavar="P")


def run(args: Namespace) -> int:
    try:
        given = json.loads(args.arguments)
    except ValueError as error:
        raise ToolsearchdError("BAD_ARGUMENTS", f"ARGS_JSON is not JSON: {error}") from None
    with agent(args) as session:
        # A person may write the name in any form: describing it tells the exact one.
        shown = list(session.describe([args.name])["tools"])
        name = shown[0] if len(shown) == 1 else args.name
        reply = session.call([{"name": name, "arguments": given}])
    if args.json:
        print_json(reply)
    else:
        for slot in reply["results"]:
            _show(slot)
    return 1 if reply["error_count"] else 0


def _show(slot: dict[str, Any]) -> None:
    error = slot.get("error")
    if error:
        print(f"toolsearchctl: {error['code']}: ", end="", file=sys.stderr)
        print(error["message"].replace("\x1b", ""), file=sys.stderr)
        for near in error.get("near", ()):
            print(f"  near: {near}", file=sys.stderr)
        return
    response = slot["response"]
    for block in response.get("content", ()):
        if block.get("type") == "text":
            say(block.get("text", ""))
        else:
            say(f"[{block.get('type')}: {block.get('mimeType', 'no type given')}]")
    if not response.get("content") and "structuredContent" in response:
        say(json.dumps(response["structuredContent"], indent=2, ensure_ascii=False))
