"""A server's messages through the gate, without holding up the loop: what is long is cleaned in a thread, and
what has to be told at once is bounded before.
"""

from __future__ import annotations

from typing import Any

import msgspec
import trio

from toolsearchd.disclosure.gate import clean_message
from toolsearchd.protocol.framing import ENCODING_ERRORS
from toolsearchd.values import representable

_INLINE_BYTES = 100_000  # cleaned within some milliseconds, whatever hides in them
_TOLD_BYTES = 64 * 1024  # of what comes beside an answer: a log message's or an error's data


async def wait_clean(message: dict[str, Any]) -> dict[str, Any]:
    """The clean message. Cancelled, nothing is left."""
    cleaned: dict[str, Any]
    if _size(message) <= _INLINE_BYTES:
        cleaned = clean_message(message)
    else:
        cleaned = await trio.to_thread.run_sync(clean_message, message, abandon_on_cancel=True)
    return cleaned


def clean_at_once(message: Any) -> Any:
    """The clean message; in one that is long, a note for each part that is."""
    if _size(message) <= _TOLD_BYTES:
        return clean_message(message)
    if not isinstance(message, dict):
        return _left_out(message)
    share = _TOLD_BYTES // (len(message) + 1)
    short = {key[:share]: item if _size(item) <= share else _left_out(item) for key, item in message.items()}
    return clean_message(short if _size(short) <= _TOLD_BYTES else {})


def _left_out(value: Any) -> str:
    return f"[toolsearchd: {_size(value)} bytes are left out]"


def _size(value: Any) -> int:
    """As JSON, of its nearest form where it has none itself."""
    try:
        return len(msgspec.json.encode(value))
    except ENCODING_ERRORS:
        return len(msgspec.json.encode(representable(value)))
