"""What became of a call whose connection went away before the answer came."""

from __future__ import annotations

from toolsearchd.errors import Code, ToolsearchdError

PERHAPS = ": it may have happened"


class LostError(ToolsearchdError):
    """INDETERMINATE or, where the server itself refused the request, SERVER_UNAVAILABLE."""

    def __init__(self, code: Code, message: str) -> None:
        uncertain = {"outcome_uncertain": True} if code == "INDETERMINATE" else {}
        super().__init__(code, message, **uncertain)
