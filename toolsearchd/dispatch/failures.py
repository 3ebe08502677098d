"""Calls that failed before in a session, the same one or of the same tool: who repeats one is told. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from toolsearchd.dispatch.entry import Outcome
from toolsearchd.dispatch.shapes import RequestedCall

TOLD_FROM = 3  # the first one may be bad luck, the second a try
_REMEMBERED = 256  # calls of a session
_OWN = frozenset(("TOOL_ERROR", "SERVER_ERROR"))  # the tool's
_UNHEARD = frozenset(("INTERRUPTED", "INDETERMINATE"))  # says nothing of the call


class Failures:
    """Identical: the same name and the same arguments, as they were asked for."""

    def __init__(self) -> None:
        self._times: OrderedDict[int, int] = OrderedDict()
        self._in_a_row: OrderedDict[str, int] = OrderedDict()  # by tool, its own errors

    def judged(self, request: RequestedCall, outcome: Outcome) -> Outcome:
        """Takes note of the outcome; from the third failure on it says that it is one more: of the same call,
        or of the same tool in a row, whatever its arguments."""
        code = outcome.error["code"] if outcome.error is not None else ""
        if code in _UNHEARD:
            return outcome
        try:
            key = _key(request)
        except RecursionError:
            return outcome
        times, in_a_row = self._times.pop(key, 0) + 1, self._in_a_row.pop(request.name, 0)
        if outcome.error is None:
            return outcome
        _keep(self._times, key, times)
        if code in _OWN:
            in_a_row += 1
        if in_a_row:
            _keep(self._in_a_row, request.name, in_a_row)
        if times >= TOLD_FROM:
            return replace(outcome, error=_told(outcome.error, times, "this same call has failed", _SAME))
        if code in _OWN and in_a_row >= TOLD_FROM:
            return replace(outcome, error=_told(outcome.error, in_a_row, "this tool has failed", _TOOL))
        return outcome


_SAME = "do not send it again as it is; change the arguments, use another tool, or say what is in the way"
_TOOL = "read its description and what it says; use another tool, or say what is in the way"


def _told(error: Mapping[str, Any], times: int, what: str, advice: str) -> dict[str, Any]:
    words = f"{what} {times} times in this session: {advice}"
    return {**error, "message": f"{error['message']} ({words})", "repeat": times}


def _keep(counts: OrderedDict[Any, int], key: Any, count: int) -> None:
    counts[key] = count
    while len(counts) > _REMEMBERED:
        counts.popitem(last=False)


def _key(request: RequestedCall) -> int:
    arguments = request.arguments
    try:
        return hash((request.name, msgspec.msgpack.encode(arguments, order="deterministic")))
    except (ValueError, TypeError, OverflowError):  # no JSON: a model's repetition is the same all the same
        return hash((request.name, repr(arguments)))
