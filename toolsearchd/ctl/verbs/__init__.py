"""What can be asked? A verb a file; each has `HELP`, `arguments(parser)` and `run(args) -> exit status`."""

from __future__ import annotations

VERBS = (
    "status",
    "servers",
    "restart",
    "search",
    "explain",
    "describe",
    "call",
    "listing",
    "tokens",
    "sessions",
    "stop",
    "approvals",
    "approve",
    "deny",
    "watch",
    "journal",
    "reload",
    "doctor",
    "eval",
    "install",
    "uninstall",
    "disclosure",
    "schema",
    "mcp",
    "demo",
)
"""Modules of this package, in the order of the help text."""
