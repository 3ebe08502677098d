"""`listing`: exactly what a model would be given."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import agent
from toolsearchd.ctl.counts import count
from toolsearchd.ctl.output import print_json, say

HELP = "the tools and the listing that a model is shown"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--context", type=count(1), metavar="N", help="the model's context length in tokens")
    parser.add_argument("--profile", metavar="P", help="as a client of this profile sees it")
    parser.add_argument("--dialect", metavar="D", help="as a client of this dialect sees it")


def run(args: Namespace) -> int:
    with agent(args, dialect=args.dialect, context_length=args.context) as session:
        reply = session.assemble(context_length=args.context)
    if args.json:
        print_json(reply)
        return 0
    for tool in reply["tools"]:
        function = tool["function"]
        say(f"{function['name']}: {function['description']}")
        say(json.dumps(function["parameters"], ensure_ascii=False))
        say()
    say(
        f"tier {reply['tier']}, listing {reply['listing_form']}: {reply['listing_tokens']} of "
        f"{reply['budget_tokens']} tokens; {reply['deferred_count']} tools behind the bridge; "
        f"version {reply['version']}"
    )
    return 0
