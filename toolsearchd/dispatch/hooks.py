"""What a hook is for, what it is told and what it answered. Pure: running it is somebody else's work.

A hook reads one JSON map from stdin, answers with one on stdout, or with nothing:

    pre_call   {decision: "allow" | "block", reason?, arguments?}    arguments: in place of the given ones
    post_call  {decision: "allow" | "block", reason?, response?}     response: told in place of the server's

Status 0 is an answer; 2 blocks, with stderr as the reason; anything else is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from toolsearchd.config.settings import Hook
from toolsearchd.dispatch.policy import arguments_match
from toolsearchd.globs import matches_glob

HookKind = Literal["pre_call", "post_call"]

_BLOCKS = 2  # the exit status that agents' own hooks use for it
_REASON_CHARS = 1000


class HookAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    decision: Literal["allow", "block"] = "allow"
    reason: str = ""
    arguments: dict[str, Any] | None = None  # of a pre_call
    response: dict[str, Any] | None = None  # of a post_call


class HookFault(Exception):
    """The hook did not do its work; in words for its author."""


def is_meant(
    hook: Hook, *, profiles: Sequence[str], server: str, names: tuple[str, ...], arguments: Mapping[str, Any]
) -> bool:
    """`profiles`: all whose rules bind the session, so that asking for another one escapes no hook. `names`:
    the tool's own, `server/tool` and the public one."""
    match = hook.match
    if match is None:
        return True
    if match.profile is not None and not any(matches_glob(name, match.profile) for name in profiles):
        return False
    if match.server is not None and not matches_glob(server, match.server):
        return False
    if match.tool is not None and not any(matches_glob(name, match.tool) for name in names):
        return False
    return arguments_match(arguments, match.arguments)


def read_answer(kind: HookKind, status: int, stdout: bytes, stderr: bytes) -> HookAnswer:
    """Raises `HookFault`."""
    said = stderr.strip()[: 4 * _REASON_CHARS].decode("utf-8", "replace").strip()[:_REASON_CHARS]
    if status == _BLOCKS:
        return HookAnswer("block", said or "no reason given")
    if status != 0:
        raise HookFault(f"it ended with status {status}" + (f": {said}" if said else ""))
    if not stdout.strip():
        return HookAnswer()
    try:
        answer = msgspec.json.decode(stdout, type=HookAnswer)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise HookFault(f"its answer is not what a {kind} hook may say: {error}") from error
    if (answer.response if kind == "pre_call" else answer.arguments) is not None:
        field = "arguments" if kind == "pre_call" else "response"
        raise HookFault(f"a {kind} hook may give `{field}` and no other rewriting")
    if kind == "post_call" and answer.response is not None and not _is_result(answer.response):
        raise HookFault("`response` is not a tool's result: expected `content`, a list of blocks")
    try:
        msgspec.msgpack.encode((answer.arguments, answer.response))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise HookFault(f"what it gives can't be passed on: {error}") from error
    return answer


def _is_result(response: dict[str, Any]) -> bool:
    content = response.get("content")
    return isinstance(content, list) and all(isinstance(block, dict) for block in content)
