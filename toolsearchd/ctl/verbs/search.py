"""`search QUERY…`: what an agent would find."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from toolsearchd.ctl.connect import agent
from toolsearchd.ctl.counts import count
from toolsearchd.ctl.output import print_json, say, table
from toolsearchd.disclosure.sanitise import short_description

HELP = "one query per argument, as an agent would see it"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "queries", nargs="+", metavar="QUERY", help="some keywords: service + action + object"
    )
    parser.add_argument("--limit", type=count(1), metavar="N", help="matches per query, at most")
    parser.add_argument("--profile", metavar="P", help="as a client of this profile sees it")
    parser.add_argument("--dialect", metavar="D", help="as a client of this dialect sees it")


def run(args: Namespace) -> int:
    with agent(args, dialect=args.dialect) as session:
        reply = session.search(args.queries, args.limit)
    if args.json or "results" not in reply:  # some dialects have replies of their own shape
        print_json(reply)
        return 0
    for group in reply["results"]:
        _show(group, reply["tools"])
    return 0


def _show(group: dict[str, Any], tools: dict[str, Any]) -> None:
    say(f"{group['query']}:")
    rows = [("match", name, short_description(tools[name]["description"])) for name in group["matches"]]
    rows += [("near", name, short_description(tools[name]["description"])) for name in group.get("near", ())]
    if rows:
        table(("", "TOOL", "DESCRIPTION"), rows)
    if group.get("unknown"):
        say(f"no tool has the word: {', '.join(group['unknown'])}")
    if group.get("hint"):
        say(group["hint"])
    for source in group.get("available_sources", ()):
        state = f", {source['state']}: {source['reason']}" if "state" in source else ""
        say(f"  {source['name']} ({source['tool_count']} tools{state})")
    if not rows and not group.get("hint"):
        say("nothing is found, and no server is there to be searched: `toolsearchctl status` says more")
    say()
