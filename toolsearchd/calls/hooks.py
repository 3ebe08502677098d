"""Runs the person's commands around calls: before validation and approval, and behind the answer.

Owns nothing but the process of the moment. Each command has a bounded time and a bounded answer, a session of
its own, and is killed with all that it started. It sees the tool's real name. A hook that fails ends the call
where its `on_error` says closed, and is a line in the log where it says open.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import trio

from toolsearchd.calls.activity import Activity
from toolsearchd.catalog.model import Tool
from toolsearchd.config.secret_values import secrets_of_environment
from toolsearchd.config.settings import Hook, Settings
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.dispatch.hooks import HookAnswer, HookFault, HookKind, is_meant, read_answer
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.framing import ENCODING_ERRORS
from toolsearchd.system import children
from toolsearchd.system.marker import command_environment
from toolsearchd.values import representable

log = logging.getLogger(__name__)

_MAX_ANSWER = 8 * 1024 * 1024  # as a frame: what is rewritten has to fit one
_GRACE_S = 0.2  # for what is still in the pipe when the command has ended; its children may hold it open


class Hooks:
    def __init__(
        self, *, settings: Callable[[], Settings], activity: Activity, environ: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._activity = activity
        self._environ = dict(environ)
        self._secrets = secrets_of_environment(environ)  # what a hook gets, and may say

    async def run_pre(
        self, who: Mapping[str, Any], profiles: Sequence[str], tool: Tool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """The arguments to go on with; each hook is held against what those before it made of them. `who`:
        session, client, profile. `profiles`: all whose rules bind the session. Raises DENIED where a hook
        blocks, HOOK_FAILED where one fails that has to pass. Cancelled, it kills the command."""
        for hook in self._settings().hooks.pre_call:
            if not _is_meant(hook, profiles, tool, arguments):
                continue
            answer = await self._ask("pre_call", hook, who, tool, {"arguments": arguments})
            if answer.decision == "block":
                raise ToolsearchdError(
                    "DENIED", f"a hook blocks the call: {_told(answer)}; nothing was sent", reason="hook"
                )
            if answer.arguments is not None:
                arguments = answer.arguments
        return arguments

    async def run_post(
        self,
        who: Mapping[str, Any],
        profiles: Sequence[str],
        tool: Tool,
        arguments: dict[str, Any],
        outcome: dict[str, Any],
    ) -> dict[str, Any] | None:
        """What is told in place of the outcome, a `CallToolResult`; None: the outcome itself. `outcome`:
        `{response}` or `{error}`. Raises as `run_pre`, but the call was made."""
        told: dict[str, Any] | None = None
        for hook in self._settings().hooks.post_call:
            if not _is_meant(hook, profiles, tool, arguments):
                continue
            fields = {"arguments": arguments, **(outcome if told is None else {"response": told})}
            answer = await self._ask("post_call", hook, who, tool, fields)
            if answer.decision == "block":
                raise ToolsearchdError(
                    "DENIED",
                    f"the call was made, a hook keeps its result back: {_told(answer)}",
                    reason="hook",
                )
            told = told if answer.response is None else answer.response
        return told

    async def _ask(
        self, kind: HookKind, hook: Hook, who: Mapping[str, Any], tool: Tool, fields: dict[str, Any]
    ) -> HookAnswer:
        question = {
            "hook": kind,
            **who,
            "server": tool.server,
            "tool": tool.name,
            "name": tool.public_name,
            **fields,
        }
        started = trio.current_time()
        result, error = "failed", None
        try:
            answer = await self._answer(kind, hook, _written(kind, question))
            rewrote = answer.arguments is not None or answer.response is not None
            result = "blocked" if answer.decision == "block" else "rewrote" if rewrote else "ok"
        except (HookFault, OSError, ValueError) as fault:
            error, answer = fault, HookAnswer()
        self._activity.publish(
            "hook",
            session=who["session"],
            client=who["client"],
            tool=tool.public_name,
            hook=kind,
            command=_name_of(hook),
            ms=round((trio.current_time() - started) * 1000, 1),
            outcome=result,
        )
        if error is not None:
            why = self._secrets.masked(str(error))
            log.warning("the %s hook %s failed: %s", kind, _name_of(hook), why)
            if hook.on_error == "closed":
                made = (
                    "the call was made, its result is kept back"
                    if kind == "post_call"
                    else "nothing was sent"
                )
                raise ToolsearchdError(
                    "HOOK_FAILED", f"the {kind} hook {_name_of(hook)} failed ({why}); {made}"
                )
        return answer

    async def _answer(self, kind: HookKind, hook: Hook, question: bytes) -> HookAnswer:
        """Raises `HookFault` and OSError."""
        command = ["/bin/sh", "-c", hook.command] if isinstance(hook.command, str) else list(hook.command)
        process = await children.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environ | command_environment(),
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        said = {process.stdout: b"", process.stderr: b""}

        async def read(pipe: Any, ended: trio.CancelScope) -> None:
            while len(said[pipe]) <= _MAX_ANSWER and (chunk := await pipe.receive_some(65536)):
                said[pipe] += chunk
            if len(said[pipe]) > _MAX_ANSWER:
                ended.cancel()

        async def write() -> None:
            assert process.stdin is not None
            try:
                await process.stdin.send_all(question)
                await process.stdin.aclose()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # it does not want to know

        try:
            with trio.move_on_after(hook.timeout_s) as bound:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(write)
                    nursery.start_soon(read, process.stdout, nursery.cancel_scope)
                    nursery.start_soon(read, process.stderr, nursery.cancel_scope)
                    await process.wait()
                    nursery.cancel_scope.deadline = trio.current_time() + _GRACE_S
            if bound.cancelled_caught:
                raise HookFault(f"no answer within {hook.timeout_s:g} s")
            if max(map(len, said.values())) > _MAX_ANSWER:
                raise HookFault(f"it said more than {_MAX_ANSWER} bytes")
        finally:
            await _end(process)
        assert process.returncode is not None
        return read_answer(kind, process.returncode, said[process.stdout], said[process.stderr])


def _is_meant(hook: Hook, profiles: Sequence[str], tool: Tool, arguments: Mapping[str, Any]) -> bool:
    names = (tool.name, f"{tool.server}/{tool.name}", tool.public_name)
    return is_meant(hook, profiles=profiles, server=tool.server, names=names, arguments=arguments)


def _written(kind: HookKind, question: dict[str, Any]) -> bytes:
    """Raises INVALID_ARGUMENTS for what a model wrote. A result is told in its nearest form: it was given."""
    try:
        return msgspec.json.encode(question)
    except ENCODING_ERRORS as error:
        if kind == "post_call":
            return msgspec.json.encode(representable(question))
        raise ToolsearchdError(
            "INVALID_ARGUMENTS", f"the arguments have no JSON form, nothing was sent: {error}"
        ) from error


async def _end(process: trio.Process) -> None:
    """Nothing of it stays, and no pipe."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass  # all of it has ended
    with trio.CancelScope(shield=True), trio.move_on_after(2):
        await process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            await pipe.aclose()


def _name_of(hook: Hook) -> str:
    words = hook.command.split() if isinstance(hook.command, str) else hook.command
    return plain_line(os.path.basename(words[0]))[:64] if words else ""


def _told(answer: HookAnswer) -> str:
    return plain_line(answer.reason) or "no reason given"
