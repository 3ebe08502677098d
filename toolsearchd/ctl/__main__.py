"""`toolsearchctl`: the person's side. Nothing is imported before it is needed: `mcp` runs in every agent."""

from __future__ import annotations

import importlib
import io
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from toolsearchd import __version__
from toolsearchd.ctl.verbs import VERBS

if TYPE_CHECKING:
    import argparse

EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_NO_DAEMON, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
_TAKES = "--runtime-dir"  # the option before the verb that has a value


def main(argv: list[str] | None = None) -> None:
    words = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        # A locale without the character shows "?" in its place; that is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away: nothing more to say, not even by the interpreter
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = EXIT_OK
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    raise SystemExit(status)


def _run(words: list[str]) -> int:
    plain = _plain_relay(words)
    if plain is not None:
        return int(_module("mcp").run(plain))
    args = _parser(_verb_of(words)).parse_args(words)
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


def _plain_relay(words: list[str]) -> Any:
    """`[--runtime-dir DIR] mcp [--client C] [--profile P] [--disclosure D]` without argparse, which alone is
    a megabyte in every agent. What is not quite that is left to argparse."""
    directory, rest = (words[1], words[2:]) if words[:1] == [_TAKES] and len(words) > 1 else (None, words)
    given = dict(zip(rest[1::2], rest[2::2], strict=False))
    client, profile, disclosure = (
        given.pop(name, None) for name in ("--client", "--profile", "--disclosure")
    )
    if rest[:1] != ["mcp"] or len(rest) % 2 == 0 or given:
        return None
    if disclosure not in (None, "progressive", "direct"):
        return None
    return SimpleNamespace(runtime_dir=directory, client=client, profile=profile, disclosure=disclosure)


def _verb_of(words: list[str]) -> str | None:
    """The first word that is one, and not what an option before it takes."""
    return next(
        (
            word
            for before, word in zip(["", *words], words, strict=False)
            if word in VERBS and before != _TAKES
        ),
        None,
    )


def _report(error: Any, *, as_json: bool) -> int:
    from toolsearchd.ctl.documents import Failed
    from toolsearchd.ctl.output import complain, print_json

    if as_json:
        print_json(Failed(error=error.as_fields()))
    complain(f"{error.code}: {error.message}")
    if error.code != "NO_DAEMON":
        return EXIT_ERROR
    if "pid" in error.fields:  # there is one, which says nothing: the message has the mend
        return EXIT_NO_DAEMON
    print(
        "run `toolsearchd`; where its units are installed (`make install-units`), `systemctl --user start "
        "toolsearchd.socket toolsearchd-control.socket`",
        file=sys.stderr,
    )
    return EXIT_NO_DAEMON


def _module(verb: str) -> Any:
    return importlib.import_module(f"toolsearchd.ctl.verbs.{verb}")


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    """With the arguments of the wanted verb only: the other verbs' modules stay unloaded."""
    import argparse

    parser = argparse.ArgumentParser(prog="toolsearchctl", description="Ask the toolsearchd daemon.")
    parser.add_argument(_TAKES, metavar="DIR", help="where the daemon's sockets are")
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
