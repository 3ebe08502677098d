"""How many tokens may a listing take?"""

from __future__ import annotations

UNKNOWN_CONTEXT_TOKENS = 10_000  # the percentage leg where the context length is not known (the reference's)


def listing_budget(listing_max_tokens: int, threshold_pct: float, context_length: int | None) -> int:
    """Tokens: the smaller of the cap and the percentage of the context."""
    if context_length is None or context_length <= 0:
        # A percentage of nothing known: the reference's fixed leg, and still no listing at 0 percent.
        leg = UNKNOWN_CONTEXT_TOKENS if threshold_pct > 0 else 0
    else:
        leg = int(context_length * threshold_pct / 100)
    return max(0, min(listing_max_tokens, leg))
