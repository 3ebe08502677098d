"""`mcp`: the MCP door on stdio, for a client's config. Imports the standard library only."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "the MCP door on stdio: put this into a client's config"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="P", help="the profile that the client asks for")
    parser.add_argument("--client", metavar="CLIENT", help="the client whose config starts this")
    parser.add_argument(
        "--disclosure", choices=("progressive", "direct"), help="direct: every tool, no bridge"
    )


def run(args: Namespace) -> int:
    from toolsearchd.ctl.relay import run_relay

    hello = {"profile": args.profile, "config_of": args.client, "disclosure": args.disclosure}
    return run_relay(args.runtime_dir, {key: value for key, value in hello.items() if value})
