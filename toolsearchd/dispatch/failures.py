"""Calls of a session that failed before in the same words: who repeats one is told so. Pure."""

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
_UNHEARD = frozenset(("INTERRUPTED", "INDETERMINATE"))  # says nothing of the call


class Failures:
    """Identical: the same name and the same arguments, as they were asked for."""

    def __init__(self) -> None:
        self._times: OrderedDict[int, int] = OrderedDict()

    def judged(self, request: RequestedCall, outcome: Outcome) -> Outcome:
        """Takes note of the outcome; from the third failure on it says that it is one more."""
        code = outcome.error["code"] if outcome.error is not None else ""
        if code in _UNHEARD:
            return outcome
        try:
            key = _key(request)
        except RecursionError:
            return outcome
        times = self._times.pop(key, 0) + 1
        if outcome.error is None:
            return outcome
        self._times[key] = times
        while len(self._times) > _REMEMBERED:
            self._times.popitem(last=False)
        return outcome if times < TOLD_FROM else replace(outcome, error=_told(outcome.error, times))


def _told(error: Mapping[str, Any], times: int) -> dict[str, Any]:
    advice = (
        f"this same call has failed {times} times in this session: "
        "do not send it again as it is; change the arguments, use another tool, or say what is in the way"
    )
    return {**error, "message": f"{error['message']} ({advice})", "repeat": times}


def _key(request: RequestedCall) -> int:
    arguments = request.arguments
    try:
        return hash((request.name, msgspec.msgpack.encode(arguments, order="deterministic")))
    except (ValueError, TypeError, OverflowError):  # no JSON: a model's repetition is the same all the same
        return hash((request.name, repr(arguments)))
