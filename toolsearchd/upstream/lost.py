"""What became of a call whose connection went away before the answer came."""

from __future__ import annotations

from typing import Any

from toolsearchd.errors import Code, ToolsearchdError

PERHAPS = ": it may have happened"


class LostError(ToolsearchdError):
    """INDETERMINATE or, where the server itself refused the request, SERVER_UNAVAILABLE: nothing was carried
    out, and the same request may be sent once more, after `wait_s` seconds where it names some."""

    def __init__(self, code: Code, message: str, *, wait_s: float | None = None, **fields: Any) -> None:
        uncertain = {"outcome_uncertain": True} if code == "INDETERMINATE" else {}
        super().__init__(code, message, **uncertain, **fields)
        self.wait_s = wait_s

    @property
    def is_refusal(self) -> bool:
        return self.code == "SERVER_UNAVAILABLE"
