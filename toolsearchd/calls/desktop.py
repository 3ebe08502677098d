"""Desktop notifications of pending approvals, through notify-send where that is on PATH.

Owns a task and one process at a time. Receives texts; those that come while one is shown are shown as one.
Nothing depends on it: what can't be shown is a line in the log, once.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Mapping

import trio

from toolsearchd.system import children
from toolsearchd.system.guard import guarded
from toolsearchd.system.marker import command_environment
from toolsearchd.system.signal import Signal

log = logging.getLogger(__name__)

_PROGRAM = "notify-send"
_PATIENCE_S = 5.0
_SHOWN = 3  # texts in one notification
_MAX_CHARS = 400  # of one: a notification is a few lines


class Desktop:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._waiting: list[str] = []
        self._news = Signal()
        self._complained = False

    def show(self, text: str) -> None:
        """Never waits. Call it with text that is safe to show."""
        self._waiting.append(text)
        self._news.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            await self._news.wait_and_clear()
            texts, self._waiting = self._waiting, []
            shown = [text[:_MAX_CHARS] for text in texts[:_SHOWN]]
            if len(texts) > _SHOWN:
                shown.append(f"and {len(texts) - _SHOWN} more: toolsearchctl approvals")
            with guarded("showing a notification"):
                await self._notify("\n\n".join(shown))

    async def _notify(self, text: str) -> None:
        program = shutil.which(_PROGRAM, path=self._environ.get("PATH"))
        if program is None:
            self._complain("it is not on PATH")
            return
        import html  # mostly nothing is ever shown

        command = [program, "--app-name=toolsearchd", "--urgency=critical", "--"]
        command += ["An agent's call waits for your approval", html.escape(text, quote=False)]
        try:
            with trio.fail_after(_PATIENCE_S):
                done = await children.run_process(
                    command,
                    env=self._environ | command_environment(),
                    stdin=subprocess.DEVNULL,
                    capture_stdout=True,
                    capture_stderr=True,
                    check=False,
                )
        except (OSError, trio.TooSlowError) as error:
            self._complain(str(error) or f"it did not end within {_PATIENCE_S:g} s")
            return
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[:200]
            self._complain(said or f"it ended with status {done.returncode}")

    def _complain(self, why: str) -> None:
        """Once: each approval without a notification would say the same again."""
        if not self._complained:
            log.warning(
                "%s shows no notification (%s): approvals are asked for on the control socket", _PROGRAM, why
            )
        self._complained = True
