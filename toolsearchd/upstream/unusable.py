"""The answer that stands for a line which answers a request and can't be used. Pure."""

from __future__ import annotations

from typing import Any

from toolsearchd.limits import Limits
from toolsearchd.upstream.answers import BAD_LINE_CODE, TOO_LARGE_CODE
from toolsearchd.upstream.lines import depth_bound


def error_answer(request_id: int | str, reason: str, limits: Limits) -> dict[str, Any]:
    errors = {
        "too large": (TOO_LARGE_CODE, f"the answer is longer than {limits.line_bytes} bytes"),
        "too deep": (BAD_LINE_CODE, f"the answer nests deeper than {depth_bound(limits)} levels"),
    }
    code, message = errors.get(reason, (BAD_LINE_CODE, "the answer is not usable JSON"))
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
