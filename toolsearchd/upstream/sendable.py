"""What can be sent to a server as a message. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from toolsearchd.catalog.definition import json_depth
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.framing import ENCODING_ERRORS

_SENT_DEPTH = 240  # the SDK's encoder gives up at 255 levels, a message's own included


def check_sendable(value: Any) -> None:
    """Raises INVALID_ARGUMENTS for what would not become a message: the writer has one for all, and must not
    fail under a single request."""
    try:
        depth = json_depth(msgspec.json.encode(value), _SENT_DEPTH)
    except ENCODING_ERRORS as error:
        raise ToolsearchdError(
            "INVALID_ARGUMENTS", f"the arguments have no JSON form, nothing was sent: {error}"
        ) from error
    if depth > _SENT_DEPTH:
        raise ToolsearchdError(
            "INVALID_ARGUMENTS", f"nested deeper than {_SENT_DEPTH} levels; nothing was sent"
        )
