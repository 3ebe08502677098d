"""Values as MessagePack and JSON can carry them. Pure.

What a model, a server or an agent gives may hold what an encoder refuses: an integer past 64 bits, half of a
surrogate pair, a key of an odd kind, nesting without end. A frame that holds such a value is sent all the
same, with the value in the nearest form: what is lost is that value, never the frame.
"""

from __future__ import annotations

from typing import Any

import msgspec

ENCODING_ERRORS = (ValueError, TypeError, OverflowError, RecursionError)
"""What msgspec's encoders raise for such a value."""

_LEAST, _MOST = -(2**63), 2**64 - 1  # MessagePack's integers
_DEPTH = 128  # as deep as a schema may be; the encoders recurse, and give up at 1,000
_DIGITS = 4300  # Python writes no longer number out
_WORDS = 200  # of a value that has no form but its words


def is_carried(value: Any) -> bool:
    """Can it stand in a frame as it is?"""
    try:
        msgspec.msgpack.encode(value)
    except ENCODING_ERRORS:
        return False
    return True


def plain(value: Any, depth: int = _DEPTH) -> Any:
    """The nearest value that can be carried: digits as text, U+FFFD for half a surrogate pair, text for any
    key, words for a kind that has no form there, `…` for what nests deeper than `depth`.

    What is of JSON's kinds and can be carried is returned equal.
    """
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | float | bytes | bytearray):
        return value
    if isinstance(value, int):
        return value if _LEAST <= value <= _MOST else _digits(value)
    if isinstance(value, dict | list | tuple | set | frozenset):
        if not depth:
            return "…"
        if isinstance(value, dict):
            return {_key(key): plain(item, depth - 1) for key, item in value.items()}
        return [plain(item, depth - 1) for item in value]
    return value if _has_form(value) else _text(repr(value)[:_WORDS])


def _has_form(value: Any) -> bool:
    """In both encodings: a time has one, an extension of MessagePack does not."""
    try:
        msgspec.json.encode(value)
    except ENCODING_ERRORS:
        return False
    return is_carried(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return _text(key)
    if isinstance(key, bytes):
        return key.decode("utf-8", "replace")
    if isinstance(key, int):
        return _digits(key)
    return _text(repr(key)[:_WORDS])


def _text(text: str) -> str:
    """A whole pair stays one character; a half becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _digits(number: int) -> str:
    bits = number.bit_length()
    return str(number) if bits < 3 * _DIGITS else f"an integer of {bits} bits"
