"""A prompt and a standing permit as people and programs read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from toolsearchd.disclosure.gate import clean_told
from toolsearchd.disclosure.sanitise import clipped, visible
from toolsearchd.dispatch.prompt import Prompt, StandingPermit
from toolsearchd.protocol.control_replies import ShownPermit
from toolsearchd.protocol.events import Digests, ShownPrompt

_SHOWN_BYTES = 64 * 1024  # of arguments in an event or a list; more is fetched by the approval's id
_NOTICE_CHARS = 160  # of arguments in a notification


def shown_prompt(
    prompt: Prompt, *, pid: int, pending: int, whole: bool, fits: bool = True, **for_whom: Any
) -> ShownPrompt:
    """Its arguments are left out where they are long, or do not fit into a list beside the others, and not
    asked for by the approval's id (`whole`). `for_whom`: what only this reader is told of it."""
    question = prompt.question
    size = len(question.arguments)
    is_shown = whole or (fits and size <= _SHOWN_BYTES)
    shown = ShownPrompt(
        approval=prompt.id,
        session=question.binding.session,
        client=question.client,
        profile=question.profile,
        server=question.binding.server,
        tool=question.public_name,
        arguments=visible(question.arguments.decode()) if is_shown else None,
        arguments_bytes=size,
        rule=question.rule,
        asked_at=_stamp(prompt.asked.wall),
        expires_at=_stamp(prompt.expires_wall),
        digests=Digests(
            server=question.binding.server_digest,
            tool=question.binding.tool_digest,
            arguments=question.binding.arguments_digest,
        ),
        pid=pid,
        pending=pending,
        **for_whom,
    )
    return msgspec.convert(clean_told(shown.as_map()), ShownPrompt)


def shown_permit(permit: StandingPermit) -> ShownPermit:
    return ShownPermit(
        approval=permit.id,
        scope="session" if permit.session else "always",
        session=permit.session or None,
        server=permit.server,
        tool=permit.public_name,
        tool_digest=permit.tool_digest,
        given_at=_stamp(permit.given_at),
    )


def notice(prompt: Prompt) -> str:
    """For the desktop: what would be sent, and the commands that answer."""
    question = prompt.question
    beginning = question.arguments[: 4 * _NOTICE_CHARS].decode("utf-8", "replace")
    sent = clipped(visible(beginning), _NOTICE_CHARS)
    return (
        f"{question.client}: {question.public_name} {sent}\n"
        f"toolsearchctl approve {prompt.id} --code {prompt.code}\ntoolsearchctl deny {prompt.id}"
    )


def _stamp(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
