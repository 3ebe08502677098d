"""`describe NAME…`: a tool's whole definition."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import agent
from toolsearchd.ctl.output import print_json, say

HELP = "schemas of tools, by any form of their names"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="tools, by any form of their names")
    parser.add_argument("--profile", metavar="P", help="as a client of this profile sees it")


def run(args: Namespace) -> int:
    with agent(args) as session:
        reply = session.describe(args.names)
    if args.json or "tools" not in reply:  # some dialects have replies of their own shape
        print_json(reply)
    else:
        for name, tool in reply["tools"].items():
            schema = json.dumps(tool["parameters"], indent=2, ensure_ascii=False)
            say(f"{name}\n{tool['description']}\n{schema}\n")
        for name in reply.get("not_found", ()):
            near = ", ".join(reply.get("near", {}).get(name, ()))
            say(f"not found: {name}" + (f"; near: {near}" if near else ""))
    return 1 if reply.get("not_found") or reply.get("errors") else 0
