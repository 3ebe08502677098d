"""Thins progress notifications before they cost anything. Pure: time comes in as a number."""

from __future__ import annotations

from typing import Any

_BURST = 4  # let through at once: a short call's few reports pass whole
_NUMBERS = ("progress", "total")
_MOST = 2**63


class ProgressGate:
    """Lets a few through and then so many a second for each token, and drops the rest; a call's last word is
    its answer."""

    def __init__(self, per_s: float) -> None:
        self._pause_s = 1 / per_s
        self._next: dict[int | str, float] = {}  # when the one that follows a full burst may pass

    def admits(self, fields: dict[str, Any], now: float) -> bool:
        """False for a progress notification that comes too soon, or whose token is none."""
        if fields.get("method") != "notifications/progress":
            return True
        params = fields.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        if not isinstance(token, int | str) or not isinstance(params, dict):
            return False
        if any(isinstance(number := params.get(key), int) and abs(number) > _MOST for key in _NUMBERS):
            return False  # the SDK reads both as floats, and all that the server answers with them
        due = max(self._next.get(token, 0.0), now - (_BURST - 1) * self._pause_s)
        if now < due:
            return False
        if len(self._next) >= 1024:  # tokens nobody asked with: a server can invent any number
            self._next.clear()
        self._next[token] = due + self._pause_s
        return True

    def forget(self, token: int | str) -> None:
        """Its call was answered."""
        self._next.pop(token, None)
