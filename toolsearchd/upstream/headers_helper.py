"""A command of a remote server's entry that prints its headers: asked at each connect."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from toolsearchd.config.model import ServerSpec
from toolsearchd.system.commands import CommandFault, ask
from toolsearchd.upstream.process import mark_of

_TIMEOUT_S = 10.0
_MOST_BYTES = 65_536


async def with_headers(spec: ServerSpec, environment: Mapping[str, str]) -> ServerSpec:
    """The spec with what the helper prints, a JSON object of texts, over its own headers. Raises
    `CommandFault`, in whose words nothing of its output stands: a trace of what it runs shows the token."""
    if not spec.headers_helper:
        return spec
    try:
        answer = await ask(
            spec.headers_helper,
            b"",
            env=environment,
            timeout_s=_TIMEOUT_S,
            most=_MOST_BYTES,
            mark=mark_of(spec),
        )
    except (CommandFault, OSError) as error:
        raise CommandFault(f"its headersHelper failed: {error}") from error
    if answer.returncode:
        raise CommandFault(
            f"its headersHelper exited with status {answer.returncode}; a terminal shows what it says to that"
        )
    try:
        headers = msgspec.json.decode(answer.out, type=dict[str, str])
    except ValueError as error:
        raise CommandFault("its headersHelper printed no JSON object of texts") from error
    if any(sign in text for pair in headers.items() for text in pair for sign in "\r\n\0"):
        raise CommandFault("its headersHelper printed a header with a line break")
    return msgspec.structs.replace(spec, headers={**spec.headers, **headers})
