"""Lines of a client that are no JSON-RPC as they stand: what can be made of them."""

from __future__ import annotations

import json


def mend(line: bytes) -> bytes | None:
    """The line with what is no Unicode replaced, or None where it is no JSON object even so.

    Clients cut texts in the middle of a surrogate pair and send its half: the standard decoder takes it,
    stricter ones refuse the whole message.
    """
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")


def id_in(line: bytes) -> int | str | None:
    """The request id that an unusable message bears, so that its sender can be told which one failed."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None
