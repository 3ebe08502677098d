"""`call NAME [ARGS_JSON]`: run one tool."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from toolsearchd.ctl.connect import agent
from toolsearchd.ctl.output import complain, print_json, say
from toolsearchd.protocol.events import ApprovalRequested, Event
from toolsearchd.protocol.replies import Slot
from toolsearchd.records import Open

HELP = "run a tool with arguments as JSON"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the tool, by any form of its name")
    parser.add_argument(
        "arguments", nargs="?", type=_json, default={}, metavar="ARGS_JSON", help="a JSON map; default: {}"
    )
    parser.add_argument("--profile", metavar="P", help="as a client of this profile sees it")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"not JSON: {error}") from None


def run(args: Namespace) -> int:
    with agent(args) as session:
        # A person may write the name in any form: describing it tells the exact one.
        shown = list(session.describe([args.name]).get("tools", ()))
        name = shown[0] if len(shown) == 1 else args.name
        session.on_event = _hint
        session.subscribe(["approval_requested"])
        reply = session.call([{"name": name, "arguments": args.arguments}])
    if args.json:
        print_json(reply)
    else:
        for slot in reply["results"]:
            _show(slot)
    return 1 if reply["error_count"] else 0


def _hint(event: Event | Open) -> None:
    """Why nothing seems to happen, and what makes it go on."""
    if isinstance(event, ApprovalRequested):
        approval = event.approval
        complain(
            f"waiting for an approval ({event.rule}): `toolsearchctl approve {approval}` or "
            f"`deny {approval}` in another terminal"
        )


def _show(slot: Slot) -> None:
    error = slot.get("error")
    if error:
        complain(f"{error['code']}: {error['message']}")
        for near in error.get("near", ()):
            complain(f"near: {near}")
        return
    response = slot["response"]
    for block in response.get("content", ()):
        if block.get("type") == "text":
            say(block.get("text", ""))
        else:
            say(f"[{block.get('type')}: {block.get('mimeType', 'no type given')}]")
    if not response.get("content") and "structuredContent" in response:
        say(json.dumps(response["structuredContent"], indent=2, ensure_ascii=False))
