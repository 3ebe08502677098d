"""`tokens`: what each server and tool costs a model, and what the profile's view saves."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolsearchd.ctl.connect import agent, control
from toolsearchd.ctl.output import print_json, say, table
from toolsearchd.protocol.control_replies import TokensReply

HELP = "token cost per server and tool, with the bridge and without"

UNKNOWN = "unknown"
_LARGEST = 10  # tools that are named; --json has all
_TIMEOUT_S = 300.0  # a first count of a large catalog
_MOST_BAR = 40


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="P", help="as a client of this profile sees it")
    parser.add_argument("--plot", metavar="FILE", help="a picture of it (needs the extra `plot`)")


def run(args: Namespace) -> int:
    if args.plot:
        from toolsearchd.ctl import plot

        plot.require()
    with agent(args) as session, control(args, timeout_s=_TIMEOUT_S) as daemon:
        report = daemon.tokens(session.welcome.session)
    if args.plot:
        plot.draw(report, Path(args.plot))
    if args.json:
        print_json(report)
    else:
        _show(report)
    return 0


def _show(report: TokensReply) -> None:
    context = report["context_length"]
    say(
        f"profile {report['profile']}, dialect {report['dialect']}, context length "
        f"{f'{context:,}' if context else UNKNOWN}"
    )
    for encoding in report["estimated"]:
        say(f"{encoding} has no vocabulary here: its figures are estimates")
    say()
    _servers(report)
    say()
    _largest_tools(report)
    say()
    _totals(report)


def _servers(report: TokensReply) -> None:
    encodings = report["encodings"]
    rows: list[list[str]] = []
    servers = sorted(report["servers"], key=lambda server: (-largest(server["tokens"]), server["name"]))
    for server in servers:
        count = server["tool_count"]
        rows.append([server["name"], UNKNOWN if count is None else f"{count:,}", *_cells(server, encodings)])
    totals = {encoding: report["totals"][encoding]["eager"] for encoding in encodings}
    tools = sum(len(server["tools"]) for server in servers)
    rows.append(["all", f"{tools:,}", *_cells({"tokens": totals, "at_least": report.at_least}, encodings)])
    bars = [*bar_chart([largest(server["tokens"]) for server in servers]), ""]
    for row, server, bar in zip(rows, [*servers, {}], bars, strict=True):
        row.append(bar or server.get("reason", ""))
    table(["SERVER", "TOOLS", *encodings, ""], rows, right=range(1, 2 + len(encodings)))


def _largest_tools(report: TokensReply) -> None:
    encodings = report["encodings"]
    tools = [tool for server in report["servers"] for tool in server["tools"]]
    tools.sort(key=lambda tool: (-largest(tool["tokens"]), tool["name"]))
    rows = [[tool["name"], *_cells(tool, encodings)] for tool in tools[:_LARGEST]]
    table([f"LARGEST OF {len(tools):,} TOOLS", *encodings], rows, right=range(1, 1 + len(encodings)))


def _totals(report: TokensReply) -> None:
    encodings, totals = report["encodings"], report["totals"]
    shown = totals[encodings[0]]

    def row(name: str, key: str, *, least: bool = False) -> list[str]:
        tokens = {encoding: totals[encoding][key] for encoding in encodings}
        return [name, *_cells({"tokens": tokens, "at_least": least}, encodings)]

    rows = [row("all schemas", "eager", least=report["at_least"])]
    if shown["tier"]:
        rows += [row("bridge", "bridge"), row(f"listing ({shown['listing_form']})", "listing")]
        if any(totals[encoding]["pinned"] for encoding in encodings):
            rows.append(row("pinned tools", "pinned"))
        rows += [row("shown to the model", "view"), row("saved", "saved", least=report["at_least"])]
    table(["IN EVERY TURN", *encodings], rows, right=range(1, 1 + len(encodings)))
    say(f"\ntier {shown['tier']}: {shown['why']}")
    for encoding in encodings:
        say(verdict(encoding, totals[encoding], at_least=report["at_least"]))


def verdict(encoding: str, totals: dict[str, Any], *, at_least: bool) -> str:
    """Whether the bridge is worth it, in a line."""
    eager, view, saved = totals["eager"], totals["view"], totals["saved"]
    if not totals["tier"]:
        least = totals["bridge"]
        more = (
            f"; a bridge alone would cost {least:,}" if least < eager else f", less than a bridge ({least:,})"
        )
        return f"{encoding}: every schema is shown, {eager:,} tokens{more}"
    if saved > 0:
        return (
            f"{encoding}: saves {'at least ' if at_least else ''}{saved:,} tokens a turn, {saved / eager:.0%}"
        )
    if at_least:
        return (
            f"{encoding}: {view:,} tokens; whether that saves any is unknown while a server has not answered"
        )
    return (
        f"{encoding}: not worth it: the view costs {-saved:,} tokens more than all schemas would; "
        "`tools.tool_search.enabled: fit` shows tools directly while they are few"
    )


def largest(tokens: dict[str, int] | None) -> int:
    """The most that any encoding counts; unknown sorts last."""
    return max(tokens.values(), default=0) if tokens is not None else -1


def bar_chart(values: Sequence[int]) -> list[str]:
    """A bar for each value on a terminal, nothing elsewhere."""
    if not sys.stdout.isatty():
        return [""] * len(values)
    block = "█" if "utf" in (sys.stdout.encoding or "").lower() else "#"
    width = min(_MOST_BAR, max(10, shutil.get_terminal_size().columns - 60))
    most = max([*values, 1])
    return [block * max(round(value / most * width), value > 0) for value in values]


def _cells(line: dict[str, Any], encodings: Sequence[str]) -> list[str]:
    tokens = line["tokens"]
    if tokens is None:
        return [UNKNOWN for _ in encodings]
    return [f"{'≥ ' if line.get('at_least') else ''}{tokens[encoding]:,}" for encoding in encodings]
