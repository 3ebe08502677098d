"""`uninstall CLIENT`: the client's config as it was before `install`, with what was edited since."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from toolsearchd.config.install.plan import plan_uninstall
from toolsearchd.ctl import installation
from toolsearchd.ctl.documents import UninstallDocument
from toolsearchd.ctl.installation import Installation, outcome, say_difference
from toolsearchd.ctl.output import print_json, say

HELP = "take the daemon out of a client's config"


def arguments(parser: ArgumentParser) -> None:
    installation.arguments(parser)


def run(args: Namespace) -> int:
    here = Installation(args, os.environ)
    with here.locked(dry_run=args.dry_run):
        found = here.found()
        plan = plan_uninstall(here.client, found)
        if not args.dry_run:
            here.uninstall(found, plan)
            here.tell_removed(args)
    identical = plan.text == found.original
    if args.json:
        fields = outcome(here, found, plan, args)
        print_json(UninstallDocument(**fields, restored=list(plan.names), identical=identical))
        return 0
    if args.dry_run:
        say_difference(here.client, found, plan)
        return 0
    state = "byte for byte as before" if identical else "its servers are back, other edits are kept"
    say(f"{here.client.title}, {found.file}: {state}")
    return 0
