"""Runs the person's commands around calls: before validation and approval, and behind the answer.

Owns nothing but the process of the moment. Each command has a bounded time and a bounded answer, a session of
its own, and is killed with all that it started. It sees the tool's real name. A hook that fails ends the call
where its `on_error` says closed, and is a line in the log where it says open.
"""

from __future__ import annotations

import logging
import os
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
from toolsearchd.system.commands import CommandFault, ask
from toolsearchd.system.marker import command_environment
from toolsearchd.values import representable

log = logging.getLogger(__name__)

_MAX_ANSWER = 8 * 1024 * 1024  # as a frame: what is rewritten has to fit one


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
        except (HookFault, CommandFault, OSError, ValueError) as fault:
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
        """Raises `HookFault`, `CommandFault` and OSError."""
        answer = await ask(
            hook.command,
            question,
            env=self._environ | command_environment(),
            timeout_s=hook.timeout_s,
            most=_MAX_ANSWER,
        )
        return read_answer(kind, *answer)


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


def _name_of(hook: Hook) -> str:
    words = hook.command.split() if isinstance(hook.command, str) else hook.command
    return plain_line(os.path.basename(words[0]))[:64] if words else ""


def _told(answer: HookAnswer) -> str:
    return plain_line(answer.reason) or "no reason given"
