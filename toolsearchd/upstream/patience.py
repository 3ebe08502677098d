"""How long an answer is waited for: a server that says that it is at work is not given up."""

from __future__ import annotations

import trio


class Patience:
    """`timeout_s` from the last sign of life; in all `most_s` (`timeout_s`, if that is longer). Wait in
    `scope`, which begins now."""

    def __init__(self, timeout_s: float, most_s: float) -> None:
        self._timeout_s = timeout_s
        self._most_s = max(timeout_s, most_s)
        self._began = trio.current_time()
        self._extended = False
        self.scope = trio.move_on_after(timeout_s)

    def extend(self) -> None:
        """There was a sign of life."""
        self._extended = True
        self.scope.deadline = min(trio.current_time() + self._timeout_s, self._began + self._most_s)

    @property
    def spent(self) -> str:
        """What was waited, once that is over, in words."""
        if not self._extended:
            return f"within {self._timeout_s:g} s"
        if self.scope.deadline >= self._began + self._most_s:
            return f"within {self._most_s:g} s, whatever progress it reported"
        return f"within {self._timeout_s:g} s of its last progress"
