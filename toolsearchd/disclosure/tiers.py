"""Which tools may hide, and whether a bridge stands before them: tier 0 no; 1, names listed; 2, without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from toolsearchd.disclosure.listing import Form

Tier = Literal[0, 1, 2]

FIT_UNKNOWN_CONTEXT_TOKENS = 20_000  # what all schemas may take where the context length is not known
THRESHOLD_UNKNOWN_CONTEXT_TOKENS = 20_000  # the same for a threshold (the reference of June 2026)


def no_bridge_because(
    enabled: Literal["auto", "on", "off", "fit"],
    *,
    deferrable: int,
    expected: bool,
    fit_tokens: int,
    eager_tokens: Callable[[], int | None],
    threshold_tokens: float = 0,
) -> str:
    """Why the tools are shown directly; empty: the bridge stands before them.

    `deferrable`: how many tools could hide; `expected`: more may come, since a granted source is not up yet.
    `eager_tokens`: what all their schemas cost, None where that can't be said; asked only under `fit`
    and, for `auto`, where there is a `threshold_tokens` to reach.
    """
    if enabled == "off":
        return "tool_search.enabled is off"
    if not deferrable:
        return "" if expected else "nothing can be deferred"
    if enabled == "fit":
        tokens = eager_tokens()
        if tokens is not None and tokens < fit_tokens:
            return f"all schemas take {tokens} tokens, less than {fit_tokens} (fit)"
    if enabled == "auto" and threshold_tokens:
        tokens = eager_tokens()
        if tokens is not None and tokens < threshold_tokens:
            return f"all schemas take {tokens} tokens, less than the threshold of {threshold_tokens:g}"
    return ""


def fit_tokens(fit_pct: float, context_length: int | None) -> int:
    """What all schemas must stay under for `fit` to show them."""
    if context_length is None or context_length <= 0:
        return FIT_UNKNOWN_CONTEXT_TOKENS
    return int(context_length * fit_pct / 100)


def threshold_tokens(threshold_pct: float, context_length: int | None) -> float:
    """From which weight of schemas on a bridge stands, in the dialects that ask for one."""
    if context_length is None or context_length <= 0:
        return THRESHOLD_UNKNOWN_CONTEXT_TOKENS
    return context_length * threshold_pct / 100


def tier_of(form: Form) -> Tier:
    """The tier of a view that has a bridge."""
    return 1 if form in ("full", "names", "mixed") else 2
