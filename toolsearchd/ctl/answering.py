"""`approvals --watch` at a terminal: the oldest prompt is shown, a key answers it."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toolsearchd.client import ControlClient
from toolsearchd.ctl.output import complain, say
from toolsearchd.ctl.prompts import prompt_text
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.events import ApprovalEnded, ApprovalRequested, Event, ShownPrompt
from toolsearchd.records import Open

_KEYS = "[a] approve  [s] for this session  [A] always  [d] deny  [n] next  [q] quit"
_TOO_SOON_S = 0.4  # a key this soon after a prompt came was meant for the one before it
_SCOPES = {"a": "once", "s": "session", "A": "always"}


def answer_by_keys(daemon: ControlClient, pending: list[ShownPrompt]) -> int:
    """Until `q` or the end of input. Raises NO_DAEMON at the connection's end."""
    print(f"waiting for calls that need an approval; {_KEYS}")
    answering = _Answering(daemon, pending)
    with _single_keys():
        answering.show()
        while True:
            for event in daemon.come_events():
                answering.take(event)
            ready, _, _ = select.select([daemon, sys.stdin], [], [])
            if daemon in ready:
                daemon.read_some()
            elif sys.stdin in ready:
                key = os.read(sys.stdin.fileno(), 1).decode("ascii", "replace")
                if key in ("q", "", "\x04"):
                    return 0
                answering.press(key)


class _Answering:
    """The prompts that wait, oldest first; the first is the one on the screen."""

    def __init__(self, daemon: ControlClient, pending: list[ShownPrompt]) -> None:
        self._daemon = daemon
        self._pending = {prompt.approval: prompt for prompt in pending}
        self._shown_at = 0.0

    def show(self) -> None:
        first = next(iter(self._pending.values()), None)
        if first is not None:
            self._shown_at = time.monotonic()
            print(f"\a\n{prompt_text(first)}\n{_KEYS}", flush=True)

    def take(self, event: Event | Open) -> None:
        if isinstance(event, ApprovalRequested):
            self._pending[event.approval] = event
            if len(self._pending) == 1:
                self.show()
            else:
                say(f"{len(self._pending)} calls wait")
        elif isinstance(event, ApprovalEnded) and event.approval in self._pending:
            was_shown = next(iter(self._pending)) == event.approval
            say(f"{event.approval}: {event.state}")
            del self._pending[event.approval]
            if was_shown:
                self.show()

    def press(self, key: str) -> None:
        if not self._pending or time.monotonic() - self._shown_at < _TOO_SOON_S:
            return
        approval, prompt = next(iter(self._pending.items()))
        if key == "n":
            self._pending[approval] = self._pending.pop(approval)
            self.show()
        elif key == "d":
            self._ask("deny", approval=approval)
        elif key in _SCOPES:
            code = _typed_code() if prompt.needs_code else None
            self._ask("approve", approval=approval, scope=_SCOPES[key], code=code)

    def _ask(self, op: str, **fields: Any) -> None:
        """What came of it arrives as an event too, which takes the prompt away."""
        try:
            self._daemon.request(op, **fields)
        except ToolsearchdError as error:
            if error.code == "NO_DAEMON":
                raise
            complain(f"{error.code}: {error.message}")


def _typed_code() -> str:
    sys.stdout.write("the code that the notification shows: ")
    sys.stdout.flush()
    with _whole_lines():
        return sys.stdin.readline().strip()


@contextmanager
def _single_keys() -> Iterator[None]:
    """Keys come at once and are not shown; Ctrl-C still ends the program."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


@contextmanager
def _whole_lines() -> Iterator[None]:
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    lines = termios.tcgetattr(fd)
    lines[3] |= termios.ICANON | termios.ECHO
    termios.tcsetattr(fd, termios.TCSADRAIN, lines)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
