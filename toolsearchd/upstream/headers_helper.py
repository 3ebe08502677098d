"""A command of a remote server's entry that prints its headers: asked at each connect."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.system.commands import CommandFault, ask

_TIMEOUT_S = 10.0
_MOST_BYTES = 65_536
_WORDS_CHARS = 200


async def with_headers(spec: ServerSpec, environment: Mapping[str, str]) -> ServerSpec:
    """The spec with what the helper prints, a JSON object of texts, over its own headers. Raises
    `CommandFault`, in whose words nothing of its output stands."""
    if not spec.headers_helper:
        return spec
    try:
        answer = await ask(spec.headers_helper, b"", env=environment, timeout_s=_TIMEOUT_S, most=_MOST_BYTES)
    except (CommandFault, OSError) as error:
        raise CommandFault(f"its headersHelper failed: {error}") from error
    if answer.returncode:
        said = plain_line(answer.err.decode("utf-8", "replace"))[:_WORDS_CHARS]
        words = f"its headersHelper exited with status {answer.returncode}"
        raise CommandFault(f"{words}: {said}" if said else words)
    try:
        headers = msgspec.json.decode(answer.out, type=dict[str, str])
    except ValueError as error:
        raise CommandFault("its headersHelper printed no JSON object of texts") from error
    if any(sign in text for pair in headers.items() for text in pair for sign in "\r\n\0"):
        raise CommandFault("its headersHelper printed a header with a line break")
    return msgspec.structs.replace(spec, headers={**spec.headers, **headers})
