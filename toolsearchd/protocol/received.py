"""What a client receives: whose reply a frame is, and what stands in it, decoded. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from toolsearchd.errors import ToolsearchdError, known_code
from toolsearchd.protocol.events import AGENT_EVENTS, CONTROL_EVENTS, Event
from toolsearchd.protocol.replies import OF_A_DIALECT, OwnWords, Stamped
from toolsearchd.protocol.requests import RequestId
from toolsearchd.records import Open, WireRecord

ReplyT = TypeVar("ReplyT", bound=WireRecord)

_EVENTS = {str(kind.__struct_config__.tag): kind for kind in (*AGENT_EVENTS, *CONTROL_EVENTS)}
_AROUND = ("op", "id", "code", "message", "generation", "listing_stale")  # what the daemon puts there itself


class _Envelope(msgspec.Struct):
    op: str
    id: RequestId | None = None


class Received:
    """One frame's payload; `op` and `id` (None for an event) are read. Raises BAD_MESSAGE."""

    def __init__(self, payload: bytes) -> None:
        envelope = _decoded(payload, _Envelope)
        self.op: str = envelope.op
        self.id: RequestId | None = envelope.id
        self._payload = payload

    def reply(self, kind: type[ReplyT]) -> ReplyT:
        """A result's fields. Raises what an error frame carries, BAD_MESSAGE for another kind."""
        self.raise_if_error()
        found: ReplyT = _decoded(self._payload, kind)
        return found

    def found(self, kind: type[ReplyT]) -> ReplyT | OwnWords:
        """As `reply`, of what a dialect may tell in words of its own."""
        self.raise_if_error()
        fields = self._map()
        if all(field.name in fields for field in msgspec.structs.fields(kind) if field.required):
            return self.reply(kind)
        return OwnWords(fields=_inside(fields), **self.reply(Stamped).members())

    def result(self, op: str, kinds: dict[str, type[WireRecord]]) -> WireRecord:
        """The reply to an operation. Raises as `reply`."""
        self.raise_if_error()
        return self.found(kinds[op]) if op in OF_A_DIALECT else self.reply(kinds[op])

    def event(self) -> Event | Open:
        """`Open` for one of a later version, and for the error that ends a connection. Raises BAD_MESSAGE."""
        kind = _EVENTS.get(self.op)
        if kind is None:
            return Open(fields=self._map())
        found: Event = _decoded(self._payload, kind)
        return found

    def raise_if_error(self) -> None:
        if self.op == "error":
            fields = self._map()
            code = fields.get("code")
            raise ToolsearchdError(known_code(code), fields.get("message", str(code)), **_inside(fields))

    def _map(self) -> dict[str, Any]:
        found: dict[str, Any] = _decoded(self._payload, dict[str, Any])
        return found


def _inside(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in _AROUND}


def _decoded(payload: bytes, kind: Any) -> Any:
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ToolsearchdError("BAD_MESSAGE", f"the daemon speaks otherwise: {error}") from error
