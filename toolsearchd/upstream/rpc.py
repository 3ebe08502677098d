"""JSON-RPC with one server as its client sees it: what was asked, who waits, what a message comes to. Pure.

Lines are made and messages are taken here; what carries them (`stdio`) waits. A request is open until its
answer, or until it is given up: whoever asked is told once, by `done`, in the step in which its answer is
taken. A late answer to what was given up answers nothing. Nothing here grows with what a server sends: it
holds what was asked, and of what was given up the last few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from toolsearchd.errors import RpcError
from toolsearchd.limits import Limits
from toolsearchd.upstream.answers import GIVEN_UP, put_in_shape
from toolsearchd.upstream.lines import Lost, Message
from toolsearchd.upstream.progress import ProgressGate
from toolsearchd.upstream.unusable import error_answer
from toolsearchd.values import find_fault, representable

CONNECTION_CLOSED = -32_000
CLOSED_WORDS = "Connection closed"
_GIVEN_UP_KEPT = 1024  # their answers come late, if at all
_PROGRESS = "notifications/progress"
_CANCELLED = "notifications/cancelled"

Result = dict[str, Any]
Done = Callable[[Result | None, RpcError | None], None]
OnProgress = Callable[[float, float | None, str | None], None]

_encode = msgspec.json.Encoder().encode


class Asked(NamedTuple):
    """The server wants an answer."""

    request_id: int | str
    method: str
    params: Mapping[str, Any]


class Withdrawn(NamedTuple):
    """The server waits no longer for an answer to what it asked."""

    request_id: int | str


class Told(NamedTuple):
    """A notification."""

    method: str
    params: Mapping[str, Any]


class _Open(NamedTuple):
    done: Done
    on_progress: OnProgress | None


class RpcClient:
    """Of one connection. Nothing is asked any more once it has `ended`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._last_id = 0
        self._open: dict[int | str, _Open] = {}
        self._methods: dict[int | str, str] = {}  # of what is open, and `GIVEN_UP`
        self._progress = ProgressGate(limits.progress_per_s)
        self.ended = False
        self.junk = 0  # messages that were none of JSON-RPC, or answered nothing

    @property
    def open_requests(self) -> int:
        return len(self._open)

    def ask(
        self, method: str, params: Mapping[str, Any], done: Done, on_progress: OnProgress | None = None
    ) -> tuple[int, bytes]:
        """The request's id and its line. `done` is called once, with the result or the error; never from
        here. Raises the encoder's errors, and then nothing was asked."""
        number = self._last_id + 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        if on_progress is not None:
            meta = params.get("_meta")
            own = meta if isinstance(meta, dict) else {}
            message["params"] = {**params, "_meta": {**own, "progressToken": number}}
        elif params:
            message["params"] = params
        line = line_of(message)
        self._last_id = number
        self._open[number] = _Open(done, on_progress)
        self._methods[number] = method
        return number, line

    def give_up(self, number: int, reason: str) -> bytes:
        """The line that tells the server so; empty where nothing is open under the number. `done` is not
        called any more."""
        if self._open.pop(number, None) is None:
            return b""
        self._progress.forget(number)
        del self._methods[number]
        self._methods[number] = GIVEN_UP  # the newest stand last
        late = len(self._methods) - len(self._open) - _GIVEN_UP_KEPT
        for old in [at for at, method in self._methods.items() if method == GIVEN_UP][: max(0, late)]:
            del self._methods[old]
        return notification(_CANCELLED, {"requestId": number, "reason": reason})

    def take(self, item: Message | Lost, now: float) -> Asked | Told | Withdrawn | None:
        """What is to be done for a message beside what was done here. `now`: seconds, of any clock."""
        if isinstance(item, Lost):
            answer = self._lost(item)
            if answer is not None:
                self._answer(answer)
            return None
        fields = item.fields
        if "method" in fields:
            return self._take_method(fields, now)
        shaped = put_in_shape(fields, self._methods)
        if shaped is None:
            self.junk += 1
        else:
            self._answer(shaped)
        return None

    def end(self) -> None:
        """Nothing more comes: whoever waits is told."""
        self.ended = True
        waiting, self._open = self._open, {}
        self._methods.clear()
        for one in waiting.values():
            one.done(None, RpcError(CONNECTION_CLOSED, CLOSED_WORDS))

    def _answer(self, answer: dict[str, Any]) -> None:
        number = answer["id"]
        self._methods.pop(number, None)
        self._progress.forget(number)
        found = self._open.pop(number, None)
        if found is None:
            return  # it was given up
        error = answer.get("error")
        if error is None:
            found.done(answer["result"], None)
        else:
            found.done(None, RpcError(error["code"], error["message"], error.get("data")))

    def _lost(self, item: Lost) -> dict[str, Any] | None:
        """The error that stands for an answer that can't be used."""
        if item.request_id is not None:
            meant = [known for known in self._methods if str(known) == str(item.request_id)]
        else:
            meant = list(self._open)
        # Without an id the line answers something, and nothing else is open.
        return error_answer(meant[0], item.reason, self._limits) if len(meant) == 1 else None

    def _take_method(self, fields: dict[str, Any], now: float) -> Asked | Told | Withdrawn | None:
        if fields.get("method") == _PROGRESS:
            if self._progress.admits(fields, now):
                self._report(fields["params"])
            return None
        if find_fault(fields) is not None:
            if find_fault(fields.get("id")) is not None:
                self.junk += 1  # no answer can bear such an id
                return None
            fields = representable(fields)
        method, params = fields["method"], fields.get("params")
        if not isinstance(method, str) or not isinstance(params, dict | None):
            self.junk += 1
            return None
        params = params or {}
        if "id" in fields:
            number = fields["id"]
            if isinstance(number, bool) or not isinstance(number, int | str):
                self.junk += 1
                return None
            return Asked(number, method, params)
        if method == _CANCELLED:
            number = params.get("requestId")
            return Withdrawn(number) if isinstance(number, int | str) else None
        return Told(method, params)

    def _report(self, params: dict[str, Any]) -> None:
        found = self._open.get(params["progressToken"])
        progress, total, words = params.get("progress"), params.get("total"), params.get("message")
        if found is None or found.on_progress is None or not _is_number(progress):
            return
        found.on_progress(
            float(progress),  # type: ignore[arg-type]
            float(total) if _is_number(total) else None,  # type: ignore[arg-type]
            words if isinstance(words, str) else None,
        )


def line_of(message: dict[str, Any]) -> bytes:
    return _encode(message) + b"\n"


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    return line_of({"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params}))


def result_line(request_id: int | str, result: Mapping[str, Any]) -> bytes:
    return line_of({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_line(request_id: int | str, error: RpcError) -> bytes:
    said = {"code": error.code, "message": error.message}
    said |= {} if error.data is None else {"data": error.data}
    return line_of({"jsonrpc": "2.0", "id": request_id, "error": said})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
