"""`install CLIENT`: the client's servers behind the daemon, and one entry in their place."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import Any

from toolsearchd.config.install.plan import plan_install
from toolsearchd.ctl import installation
from toolsearchd.ctl.connect import unknown_profile
from toolsearchd.ctl.documents import DoorEntry, InstallDocument, KeptServer
from toolsearchd.ctl.installation import Installation, door, outcome, say_difference
from toolsearchd.ctl.output import print_json, say
from toolsearchd.errors import ToolsearchdError

HELP = "put the daemon into a client's config, in place of its servers"


def arguments(parser: ArgumentParser) -> None:
    installation.arguments(parser)
    parser.add_argument("--profile", metavar="P", help="the profile that the client asks for")
    parser.add_argument(
        "--keep", metavar="NAME", action="append", default=[], help="a server that stays with the client"
    )
    parser.add_argument(
        "--move", metavar="NAME", action="append", default=[], help="a server that moves though it may not"
    )


def run(args: Namespace) -> int:
    here = Installation(args, os.environ)
    if args.profile is not None and args.profile not in here.profiles():
        raise ToolsearchdError("BAD_ARGUMENTS", f"--profile: {unknown_profile(args.profile)}")
    with here.locked(dry_run=args.dry_run):
        found = here.found()
        plan = plan_install(here.client, found, door(args, args.profile), keep=args.keep, move=args.move)
        if not args.dry_run:
            here.install(found, plan)
    if args.json:
        print_json(
            InstallDocument(
                **outcome(here, found, plan, args),
                moved=list(plan.names),
                kept=[KeptServer(name=name, reason=why) for name, why in plan.kept.items()],
                door=DoorEntry(name=plan.door, **_started(plan.entry)),
                moved_file=str(here.moved),
                backup=str(here.original),
                variables=list(plan.variables),
                notes=list(plan.notes),
            )
        )
        return 0
    if args.dry_run:
        say_difference(here.client, found, plan)
    changed = plan.text != found.text
    state = ("to be installed" if args.dry_run else "installed") if changed else "as it was"
    say(f"{here.client.title}, {found.file}: {state}")
    say(f"  behind the daemon: {', '.join(plan.names) or 'nothing'} ({here.moved})")
    for name, why in plan.kept.items():
        say(f"  stays: {name}: {why}")
    if plan.variables:
        say(f"  the daemon must know the variables in {', '.join(plan.variables)}: see environment.file")
    for note in plan.notes:
        say(f"  {note}")
    if args.dry_run:
        return 0
    say(f"restart {here.client.title}; `toolsearchctl uninstall {here.client.name}` takes it back")
    return 0


def _started(entry: Any) -> dict[str, Any]:
    return {key: entry[key] for key in ("command", "args") if key in entry}
