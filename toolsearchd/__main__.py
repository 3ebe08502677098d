"""`toolsearchd`: the daemon in the foreground, or a check of its configuration."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
from pathlib import Path
from typing import Any

from toolsearchd import __version__
from toolsearchd.errors import ToolsearchdError
from toolsearchd.system.stderr_writer import StderrWriter

LEVELS = ("debug", "info", "warning", "error")
EXIT_BAD_CONFIG = 2
EXIT_ALREADY_RUNNING = 75  # EX_TEMPFAIL: systemd and scripts may tell it from a crash


def main(argv: list[str] | None = None) -> None:
    args = _parse(argv)
    # Threads of the algebra library would wait for each other longer than a product of ours takes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    writer = None
    if not args.check_config:
        writer = StderrWriter()
        writer.start()
    _log_to_stderr()
    logging.getLogger("toolsearchd").setLevel(args.log_level.upper())
    logging.captureWarnings(True)
    import toolsearchd.places as places

    config_file = Path(args.config).absolute() if args.config else places.config_file()
    state_dir = Path(args.state_dir) if args.state_dir else places.state_dir()
    if args.config and _was_never_there(config_file, state_dir):
        print(
            f"toolsearchd: --config: there is no file {config_file}; write it (`{{}}` is enough), or leave "
            "the option out",
            file=sys.stderr,
        )
        raise SystemExit(EXIT_BAD_CONFIG)
    if args.check_config:
        raise SystemExit(_check_config(config_file, state_dir))
    from toolsearchd.system import marker

    marker.shed()
    gc.disable()  # next to nothing that a start makes is garbage; `Heap.started` turns it on again
    # NumPy first, with few frames on the stack: CPython keeps frames in chunks of 16 KiB, and a loop at the
    # edge of one, as in NumPy's own imports when `app` comes to them, maps and unmaps memory at every call.
    import numpy  # noqa: F401
    import trio

    from toolsearchd.daemon.app import Daemon, Places
    from toolsearchd.system.children import become_subreaper

    found = Places(
        config_file=config_file,
        runtime_dir=Path(args.runtime_dir) if args.runtime_dir else places.runtime_dir(),
        state_dir=state_dir,
    )
    os.umask(0o077)
    if not become_subreaper():
        logging.getLogger("toolsearchd").warning(
            "the kernel refuses PR_SET_CHILD_SUBREAPER: what a server leaves behind may outlive the daemon"
        )
    try:
        trio.run(lambda: Daemon(found, dict(os.environ), writer).run(), strict_exception_groups=True)
    except* ToolsearchdError as group:
        error = group.exceptions[0]
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        assert isinstance(error, ToolsearchdError)
        print(f"toolsearchd: {error.message}", file=sys.stderr)
        raise SystemExit(
            EXIT_ALREADY_RUNNING if error.code == "ALREADY_RUNNING" else EXIT_BAD_CONFIG
        ) from None


def _log_to_stderr() -> None:
    """A record is a line that shows what is in it: names of servers and clients are other people's texts."""
    from toolsearchd.disclosure.sanitise import clean_result, visible

    class Line(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:
            return visible(super().formatMessage(record))

        def formatException(self, ei: Any) -> str:
            return clean_result(super().formatException(ei))

        def formatStack(self, stack_info: str) -> str:
            return clean_result(super().formatStack(stack_info))

    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(Line("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[to_stderr])


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="toolsearchd", description="One daemon for all your agents' MCP servers."
    )
    parser.add_argument("--config", metavar="FILE", help="default: $XDG_CONFIG_HOME/toolsearchd/config.yaml")
    parser.add_argument(
        "--runtime-dir", metavar="DIR", help="where the sockets are; default: $XDG_RUNTIME_DIR/toolsearchd"
    )
    parser.add_argument("--state-dir", metavar="DIR", help="default: $XDG_STATE_HOME/toolsearchd")
    parser.add_argument(
        "--log-level", default="info", choices=LEVELS, metavar="LEVEL", help=", ".join(LEVELS)
    )
    parser.add_argument(
        "--check-config",
        action="store_true",
        help="print what a start would have in force, and each problem; exit status 2 where one is an error",
    )
    parser.add_argument("--version", action="version", version=f"toolsearchd {__version__}")
    return parser.parse_args(argv)


def _was_never_there(config_file: Path, state_dir: Path) -> bool:
    """Where it was there once, or that it is gone is accepted, the daemon knows what to do."""
    from toolsearchd.watching.remembered import ConfigMemory

    try:
        config_file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return not ConfigMemory(state_dir, config_file, keeps=False).word
    except OSError:
        pass  # it may be there: reading it says what is wrong
    return False


def _check_config(config_file: Path, state_dir: Path) -> int:
    """Prints the effective config (stdout) and the problems (stderr); 2 where one is an error."""
    from toolsearchd.dialects.registry import OPTIONS
    from toolsearchd.disclosure.sanitise import clean_line, clean_result
    from toolsearchd.watching.config_check import check_config

    text, problems = check_config(config_file, state_dir, OPTIONS)
    print(clean_result(text), end="")
    for problem in problems:
        print(clean_line(str(problem)), file=sys.stderr)
    return EXIT_BAD_CONFIG if any(problem.level == "error" for problem in problems) else 0


if __name__ == "__main__":
    main()
