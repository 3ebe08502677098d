"""What became of a call whose connection went away before the answer came."""

from __future__ import annotations

from typing import Any

from toolsearchd.errors import Code, ToolsearchdError

PERHAPS = ": it may have happened"


class LostError(ToolsearchdError):
    """INDETERMINATE or, where the server itself refused the request, SERVER_UNAVAILABLE: nothing was carried
    out. One that only reads may be sent once more; `invites`: any may, for the server said as much, after
    `wait_s` seconds where it names some."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        invites: bool = False,
        wait_s: float | None = None,
        **fields: Any,
    ) -> None:
        uncertain = {"outcome_uncertain": True} if code == "INDETERMINATE" else {}
        super().__init__(code, message, **uncertain, **fields)
        self.invites = invites
        self.wait_s = wait_s or 0.0
