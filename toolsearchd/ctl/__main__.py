"""`toolsearchctl`: the person's side. Nothing is imported before it is needed: `mcp` runs in every agent."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from toolsearchd import __version__
from toolsearchd.ctl.verbs import VERBS

EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_NO_DAEMON = 0, 1, 2, 3


def main(argv: list[str] | None = None) -> None:
    words = sys.argv[1:] if argv is None else argv
    raise SystemExit(_run(words))


def _run(words: list[str]) -> int:
    verb = next((word for word in words if word in VERBS), None)
    args = _parser(verb).parse_args(words)
    if args.verb is None:
        _parser(None).print_help()
        return EXIT_USAGE
    args.json = args.json_before or getattr(args, "json_after", False)
    if args.verb == "mcp":  # no daemon-side module, no error table: the relay stays small
        return int(_module("mcp").run(args))
    from toolsearchd.errors import ToolsearchdError

    try:
        return int(_module(args.verb).run(args))
    except ToolsearchdError as error:
        return _report(error, as_json=args.json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: nothing more to say, not even by the interpreter
        return EXIT_OK


def _report(error: Any, *, as_json: bool) -> int:
    if as_json:
        from toolsearchd.ctl.output import print_json

        print_json({"error": error.as_fields()})
    print(f"toolsearchctl: {error.code}: {error.message}", file=sys.stderr)
    if error.code != "NO_DAEMON":
        return EXIT_ERROR
    print("start it with `systemctl --user start toolsearchd.socket`, or run `toolsearchd`", file=sys.stderr)
    return EXIT_NO_DAEMON


def _module(verb: str) -> Any:
    return importlib.import_module(f"toolsearchd.ctl.verbs.{verb}")


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    """With the arguments of the wanted verb only: the other verbs' modules stay unloaded."""
    parser = argparse.ArgumentParser(prog="toolsearchctl", description="Ask the toolsearchd daemon.")
    parser.add_argument("--runtime-dir", metavar="DIR", help="where the daemon's sockets are")
    parser.add_argument("--json", dest="json_before", action="store_true", help="one JSON document")
    parser.add_argument("--version", action="version", version=f"toolsearchctl {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    for verb in VERBS:
        module = _module(verb) if wanted in (verb, None) else None
        one = verbs.add_parser(verb, help=module.HELP if module else None)
        one.add_argument("--json", dest="json_after", action="store_true", help="one JSON document")
        if module is not None:
            module.arguments(one)
    return parser


if __name__ == "__main__":
    main()
