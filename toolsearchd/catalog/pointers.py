"""Where a JSON pointer leads (RFC 6901), in a schema as a server wrote it. Pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote


def value_at(root: Any, pointer: str) -> Any:
    """What the pointer, percent-decoded and without its first `/`, leads to; None where that is nothing."""
    value = root
    for part in unquote(pointer).split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(value):
            value = value[int(key[:9])]
        else:
            return None
    return value
