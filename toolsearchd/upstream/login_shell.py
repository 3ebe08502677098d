"""The person's environment, asked of their login shell: a service manager's own is bare, finds no npx or uvx
and knows no proxy."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from collections.abc import Mapping

import trio

from toolsearchd.system import children
from toolsearchd.system.marker import command_environment

log = logging.getLogger(__name__)

_PATIENCE_S = 5.0  # a login shell with version managers in it takes one or two
_BARE = frozenset(
    f"{root}/{name}" for root in ("", "/usr", "/usr/local") for name in ("bin", "sbin", "games")
) | {"/snap/bin", ""}
_MARK = b"\x1etoolsearchd-environment\x1e"  # what the shell's own start-up prints is not taken for the answer


def is_bare(path: str) -> bool:
    """Does this PATH hold system directories only?"""
    return all(directory.rstrip("/") in _BARE for directory in path.split(":"))


async def login_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """As the login shell sets it; empty where it can't be had. Takes 5 s at most.

    Reads up to its own mark and not to the end of file, for what the shell's start-up left in the background
    may hold the pipe open.
    """
    shell = environ.get("SHELL") or "/bin/sh"
    mark = _MARK.decode()
    try:
        process = await children.open_process(
            [shell, "-lc", f'printf %s "{mark}"; env -0; printf %s "{mark}"'],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ) | command_environment(),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        log.warning("the login shell %s can't be asked for its environment: %s", shell, error)
        return {}
    said = b""
    try:
        assert process.stdout is not None
        with trio.move_on_after(_PATIENCE_S):
            while said.count(_MARK) < 2 and (chunk := await process.stdout.receive_some(65536)):
                said = (said + chunk)[-(1 << 20) :]
    finally:
        with trio.CancelScope(shield=True):
            assert process.stdout is not None
            await process.stdout.aclose()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                pass  # ended by itself
            with trio.move_on_after(2):
                await process.wait()
    parts = said.split(_MARK)
    variables = parts[1].decode("utf-8", "surrogateescape").split("\0") if len(parts) == 3 else []
    return {name: value for name, equals, value in (one.partition("=") for one in variables) if equals}
