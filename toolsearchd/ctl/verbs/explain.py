"""`explain QUERY`: every number behind an answer; with `--tool`, why that tool is or is not offered."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from toolsearchd.ctl.connect import agent
from toolsearchd.ctl.output import print_json, say, table
from toolsearchd.protocol.replies import ExplainReply

HELP = "why a search finds what it finds"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="as it was searched for")
    parser.add_argument("--tool", metavar="NAME", help="why this tool was or was not offered")
    parser.add_argument("--profile", metavar="P", help="as a client of this profile sees it")


def run(args: Namespace) -> int:
    with agent(args) as session:
        reply = session.explain(args.query, args.tool)
    if args.json:
        print_json(reply)
    else:
        _show(reply)
    return 0


def _show(reply: ExplainReply) -> None:
    gate = reply["gate"]
    table(
        ("WORD", "STEMS", "DF", "IDF", ""),
        (
            [
                term["word"],
                ", ".join(stem["stem"] for stem in term["stems"]),
                term["df"],
                f"{term['idf']:.2f}",
                "unknown" if not term["known"] else "gate" if gate and gate["word"] == term["word"] else "",
            ]
            for term in reply["terms"]
        ),
    )
    coverage = reply["coverage"]
    say(
        f"\ncoverage: {coverage['best']:.2f} of the query by its best tool, "
        f"{coverage['needed']:.2f} makes a match"
    )
    if reply["values"]:
        say(f"given as values, not looked for: {', '.join(reply['values'])}")
    if reply["absent_product"]:
        say(f"the query names {reply['absent_product']}, which no granted tool carries")
    if stage := reply["second_stage"]:
        say(f"a match has p >= {stage['match']:.2f}, the best of what is offered p >= {stage['near']:.2f}")
    say()
    table(
        ("", "TOOL", "SCORE", "P", "BY WORD"),
        (
            [
                "match"
                if one["tool"] in reply["matches"]
                else "near"
                if one["tool"] in reply["near"]
                else "",
                one["tool"],
                f"{one['score']:.2f}",
                f"{one['p']:.2f}" if "p" in one else "-",
                ", ".join(f"{word['word']} {word['score']:.2f}" for word in one["words"]),
            ]
            for one in reply["candidates"]
        ),
    )
    if reply["verdict"]:
        say(f"\n{reply['verdict']['key']}: {reply['verdict']['text']}")
