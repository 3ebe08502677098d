"""`disclosure CLIENT progressive|direct`: the bridge and a listing, or every tool with its schema."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from toolsearchd.config.install.plan import plan_disclosure
from toolsearchd.ctl import installation
from toolsearchd.ctl.documents import DisclosureDocument
from toolsearchd.ctl.installation import Installation, outcome, say_difference
from toolsearchd.ctl.output import print_json, say

HELP = "what a client is shown: the bridge, or every tool"


def arguments(parser: ArgumentParser) -> None:
    installation.arguments(parser)
    parser.add_argument("mode", choices=("progressive", "direct"))


def run(args: Namespace) -> int:
    here = Installation(args, os.environ)
    with here.locked(dry_run=args.dry_run):
        found = here.found()
        plan = plan_disclosure(here.client, found, args.mode)
        if not args.dry_run:
            here.install(found, plan)
    if args.json:
        fields = outcome(here, found, plan, args)
        print_json(DisclosureDocument(**fields, disclosure=args.mode, door=plan.door))
        return 0
    if args.dry_run:
        say_difference(here.client, found, plan)
        return 0
    changed = "" if plan.text != found.text else " already"
    say(f"{here.client.title}, {found.file}: {args.mode}{changed}; in force when the client starts again")
    return 0
