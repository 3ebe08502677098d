"""Frames: a 4-byte big-endian length, then one MessagePack map. Bytes in, payloads out; never a socket.

A length of zero or over the limit is refused before anything is allocated for it. The limit may be raised
between frames (after `hello`).
"""

from __future__ import annotations

import struct

import msgspec

from toolsearchd.errors import ToolsearchdError

HEADER = struct.Struct(">I")
ENCODING_ERRORS = (ValueError, TypeError, OverflowError, RecursionError)
"""What msgspec's encoders raise for a value that has no form in their format."""
_encoder = msgspec.msgpack.Encoder()


def encode_frame(message: object) -> bytes:
    """One message as it goes on the wire. Raises one of ENCODING_ERRORS."""
    payload = _encoder.encode(message)
    return HEADER.pack(len(payload)) + payload


def is_serialisable(value: object) -> bool:
    """Can it stand in a frame as it is?"""
    try:
        _encoder.encode(value)
    except ENCODING_ERRORS:
        return False
    return True


class FrameDecoder:
    """Collects received bytes and hands out whole payloads.

    `max_bytes`: the largest payload accepted from now on. After an error the decoder is spent: the byte
    stream can't be resynchronised, so the connection has to close.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._buffer = bytearray()

    @property
    def buffered(self) -> int:
        """Bytes held that are not handed out yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def take_rest(self) -> bytes:
        """Everything received and not handed out: for a stream that goes on in another protocol."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    def next_payload(self) -> bytes | None:
        """The next whole payload, or None until more bytes came. Raises FRAME_TOO_LARGE."""
        buffer = self._buffer
        if len(buffer) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(buffer)
        if not 0 < size <= self.max_bytes:
            raise ToolsearchdError(
                "FRAME_TOO_LARGE",
                f"a frame of {size} bytes; between 1 and {self.max_bytes} are accepted here",
            )
        end = HEADER.size + size
        if len(buffer) < end:
            return None
        payload = bytes(buffer[HEADER.size : end])
        del buffer[:end]
        return payload
