"""`status`: the daemon at a glance."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import control
from toolsearchd.ctl.output import coloured, duration, megabytes, print_json, say, table

HELP = "version, uptime, servers, tools, sessions and why each got its tier"

_SHOWN = 20  # of calls without an end: a screen


def arguments(parser: ArgumentParser) -> None:
    """None of its own."""


def run(args: Namespace) -> int:
    with control(args) as daemon:
        reply = daemon.status()
    if args.json:
        print_json(reply)
        return 0
    say(
        f"toolsearchd {reply['version']}, pid {reply['pid']}, up {duration(reply['uptime_s'])}, "
        f"{megabytes(reply['memory_bytes'])}, generation {reply['generation']}"
    )
    servers = ", ".join(f"{count} {state}" for state, count in sorted(reply["servers"].items()))
    stale = f", {reply['stale_tools']} of them as last listed" if reply["stale_tools"] else ""
    say(f"servers: {servers or 'none configured'}; tools: {reply['tools']}{stale}")
    for problem in reply["problems"]:
        print(coloured("problem: ", "warning"), end="")
        say(problem)
    if (more := len(reply["unanswered"]) - _SHOWN) > 0:
        say(f"{more} more: toolsearchctl journal --step unanswered --limit 0")
    for call in reply["unanswered"][-_SHOWN:]:
        print(coloured("unanswered: ", "warning"), end="")
        how = "sent" if call["sent"] else "approved, perhaps sent"
        when = f"{how} at {call['sent_at']} by an earlier daemon"
        say(f"{call['tool']} of {call['client']}, {when}; its end is not known")
    if reply["sessions"]:
        say()
        table(
            ("SESSION", "CLIENT", "PROFILE", "DIALECT", "TIER", "WHY"),
            (
                [s["session"], s["client"], s["profile"], s["dialect"], s["tier"], s["why"]]
                for s in reply["sessions"]
            ),
        )
    return 0
